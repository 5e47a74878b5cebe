/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of its addresses a host shows to the others of a job. */
#pragma once
#include <netinet/in.h>

/*
 * `network`: an interface ("ib0") or a network ("10.1.0.0/16") whose address it is; NULL: that which the name `host`
 * has, as the other hosts see it, and where the name gives none of this host's, that of the first interface that is up
 * and no loopback. Prints its errors.
 */
int themis_tools_address_choose(const char *host, const char *network, struct in_addr *address);
