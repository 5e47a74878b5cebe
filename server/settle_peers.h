/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other servers, as the settler asks them: a batch of steps for each, which are sent to all of them before the
 * first answer is waited for. A server that cannot be reached, or does not answer, is left alone for two seconds. One
 * that has another list of servers is asked nothing, as it might be the home of other names.
 *
 * Threads: the settler's, but for the functions that say so.
 */
#pragma once
#include "net/net.h"
#include "proto/proto.h"
#include "server/settle_batch.h"
#include "themis/status.h"

struct themis_server;
typedef struct themis_server_settle_peers themis_server_settle_peers_t;

themis_status_t themis_server_settle_peers_create(struct themis_server *server, themis_server_settle_peers_t **peers);
void themis_server_settle_peers_destroy(themis_server_settle_peers_t *peers); /* NULL is allowed */

/* Adds a step for a server, this one included. Where it does not fit, all are done before. */
void themis_server_settle_peers_add(themis_server_settle_peers_t *peers, uint32_t index,
                                    themis_server_intent_entry_t *owner, const themis_proto_settle_step_t *step);
/* How long replies are waited for, ns. */
void themis_server_settle_peers_set_wait(themis_server_settle_peers_t *peers, uint64_t wait);
/* Has all steps done that were added, and tells their owners how they have ended. */
void themis_server_settle_peers_flush(themis_server_settle_peers_t *peers);

/* Any thread: nothing is sent or waited for any more. */
void themis_server_settle_peers_stop(themis_server_settle_peers_t *peers);
/* Any thread: a reply has come. Returns 0 if it is by no connection of these. */
int themis_server_settle_peers_answer(themis_server_settle_peers_t *peers, const themis_net_conn_t *conn,
                                      const themis_proto_header_t *header, const themis_proto_body_t *body);
/* Any thread: a connection was closed by its peer. */
void themis_server_settle_peers_closed(themis_server_settle_peers_t *peers, const themis_net_conn_t *conn);
