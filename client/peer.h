/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections to servers: made when a call wants them, greeted with HELLO, watched with heartbeats, made again when
 * lost. All of it happens in the thread that polls; nothing here has a thread of its own.
 */
#ifndef THEMIS_CLIENT_PEER_H
#define THEMIS_CLIENT_PEER_H
#include "client/session.h"

/* The handlers of the session's net; their argument is the session. */
extern const themis_net_handlers_t themis_client_peer_handlers;

/*
 * Goes on with connecting what calls wait for or is `wanted`, all such servers side by side, sends heartbeats, gives up
 * on servers that are gone too long. Called by the poller with the lock held; gives it up while it connects. Does not
 * wait for servers, but for the resolver of names, and up to 2 s for a server on this host that hangs just after it has
 * answered (net.h). Returns the ns after which it wants to be called again.
 */
uint64_t themis_client_peer_service(themis_t *session, uint64_t now);

/* With the lock held: tells the server anew what the settings say; nothing if it is not connected. */
void themis_client_peer_introduce(themis_client_peer_t *peer);

/* With the lock held: the connection is of no more use. The end of an attempt is seen by the next service. */
void themis_client_peer_lose(themis_client_peer_t *peer, themis_status_t why);

/* Sends a message, with the lock held; a failure makes the peer lost. */
themis_status_t themis_client_peer_send(themis_client_peer_t *peer, const void *bytes, size_t length);
#endif
