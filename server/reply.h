/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replies to requests. `body` is of the opcode's reply (NULL: an empty one); with a status below 0 it is not used, and
 * `text` says why (NULL: the status's own text). All functions without the lock.
 */
#pragma once
#include "server/request.h"

/* Sends the reply to where the client is now, and saves it if the session is to. If it does not fit into a message, a
 * reply that says so is sent instead. */
void themis_server_reply_send(themis_server_request_t *request, themis_status_t status, const void *body,
                              const char *text);
/* Encodes the reply of a success as it is sent. */
themis_status_t themis_server_reply_encode(const themis_proto_header_t *request, const void *body, void *out,
                                           size_t capacity, size_t *length);
/* Sends a reply that no session saves, with a file descriptor, which stays the caller's, to a client on this host. */
void themis_server_reply_send_descriptor(themis_server_request_t *request, const void *body, int fd);
/* Sends a reply that no session saves: to HELLO, and to messages that did not become a request. */
void themis_server_reply_send_unsaved(themis_net_conn_t *conn, const themis_proto_header_t *request,
                                      themis_status_t status, const void *body, const char *text);
