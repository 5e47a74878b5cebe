/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv4 addresses of servers and of this host. Both ask the system and may take a while: never with a lock held. */
#pragma once
#include <netinet/in.h>
#include "themis/status.h"

/* The address that `host` names, to listen at it (passive) or to connect to. NULL or "": all addresses of this host, or
 * loopback. THEMIS_UNREACHABLE: there is none. */
themis_status_t themis_net_address_resolve(const char *host, uint16_t port, int passive, struct sockaddr_in *address);

/* Is it an address of this host (network namespace)? Where that cannot be told, yes. */
int themis_net_address_is_own(const struct sockaddr_in *address);
