/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's port. Who has connected is a stranger: a small struct that was there before, a few hundred bytes, and 5
 * s to show who it is. So many may be strangers at a time, of one host and of all. What proofs take, which may be an
 * answer of munged, is left to a thread, so that no stranger holds up those who are served.
 */
#pragma once
#include "net/handshake.h"
#include "net/transport.h"

/* Of all hosts, and of one. */
enum { THEMIS_NET_MAX_STRANGERS = 1024, THEMIS_NET_MAX_STRANGERS_OF_HOST = 256 };

/* Contract: listen of net/transport.h. */
themis_status_t themis_net_listening_begin(themis_net_t *net, const char *host, struct sockaddr_in *address);
/* No other thread may use the net. */
void themis_net_listening_end(themis_net_t *net);
/* The socket, or that of a stranger, is ready. Lock held. */
void themis_net_listening_on_event(themis_net_t *net, uint64_t what);
/* Takes in who has shown who it is; `thorough`: drops who has not in time. 1: has to be called again soon. Lock held.
 */
int themis_net_listening_progress(themis_net_t *net, int thorough);
/* Has a proof been looked at that the above has not taken in yet? Lock held. */
int themis_net_listening_is_due(const themis_net_t *net);

void themis_net_listening_address(const struct sockaddr_in *from, themis_net_handshake_address_t *to);
