/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that settles the intents of this server (intents.h): it does the steps itself whose place is here, and asks
 * the other servers of the list for theirs. A server that cannot be reached is asked again, at most every half minute.
 */
#pragma once
#include "net/net.h"
#include "proto/proto.h"
#include "server/namespace.h"
#include "themis/status.h"

struct themis_server;

themis_status_t themis_server_settler_create(struct themis_server *server);
/* Starts the thread. */
themis_status_t themis_server_settler_start(struct themis_server *server);
/* Ends it. */
void themis_server_settler_stop(struct themis_server *server);
/* When no other thread takes messages any more: closes its connections. One that was not created is allowed. */
void themis_server_settler_destroy(struct themis_server *server);

/* A reply has come. Returns 0 if it is by no connection of the settler's. Without the server's lock. */
int themis_server_settler_answer(struct themis_server *server, const themis_net_conn_t *conn,
                                 const themis_proto_header_t *header, const themis_proto_body_t *body);
/* A connection was closed by its peer. Without the server's lock. */
void themis_server_settler_closed(struct themis_server *server, const themis_net_conn_t *conn);

/* The step for the old name of a RENAME has ended with entry->status, or will be asked for again. Returns 1 if the
 * rename was taken back, and the entry is gone; else entry->status tells whether the old name is, for good. */
int themis_server_settler_decide(themis_server_namespace_t *names, themis_server_intent_entry_t *entry);
