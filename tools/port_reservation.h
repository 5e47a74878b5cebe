/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports of this host that stay free for one server until it listens. */
#pragma once
#include <netinet/in.h>
#include <stdint.h>

/*
 * The kernel gives a port of the address `host` that nobody has, and gives it to nobody else as long as the returned
 * descriptor is open: neither to a socket that asks for any port nor to an outgoing connection. A server takes it over
 * while it is reserved, since servers listen with SO_REUSEADDR. -1 with errno; the descriptor is closed on exec.
 */
int themis_tools_port_reserve(struct in_addr host, uint16_t *port);
