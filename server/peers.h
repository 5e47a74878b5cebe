/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other servers of the list. Every lambda, while there are jobs, a thread sends them this server's job table,
 * computes the allocation from the tables that it has received and gives the weights to the scheduler (the tables'
 * content: sched/lambda_exchange.h). A server that cannot be reached is tried again later and delays no other.
 */
#pragma once
#include <stddef.h>
#include "net/net.h"
#include "proto/proto.h"
#include "themis/status.h"

struct themis_server;

/* Sets server->peers up from the configuration; nothing is done for a single server, or if the servers are not listed.
 */
themis_status_t themis_server_peers_create(struct themis_server *server);
/* Starts the thread. */
themis_status_t themis_server_peers_start(struct themis_server *server);
/* Ends the thread and closes the connections; NULL peers are allowed. */
void themis_server_peers_destroy(struct themis_server *server);

/* The first job has come, or lambda has changed. With the server's lock. */
void themis_server_peers_kick(struct themis_server *server);
/* A table has arrived. THEMIS_UNSUPPORTED: this server knows no others. Without the lock. */
themis_status_t themis_server_peers_take(struct themis_server *server, const themis_proto_table_t *table);
/* Servers whose tables are known, this one included, and rounds of the exchange so far; unchanged for a single server.
 */
void themis_server_peers_progress(const struct themis_server *server, uint32_t *known, uint64_t *rounds);
/* The first known server that has shared by another policy than this one for some seconds: "server 1, HOST:PORT, shares
 * by POLICY". Returns 0, with an empty text, if there is none. With the server's lock. */
int themis_server_peers_differ(const struct themis_server *server, char *text, size_t size);
/* Sends HELLO, message `id` of the connection, for a session of this server with another one. */
themis_status_t themis_server_peers_hello(const struct themis_server *server, uint64_t session, uint64_t id,
                                          themis_net_conn_t *conn);
/* Since when this server cannot reach server `index`, in ns since 1970, as far as it has tried, which it does while
 * there are jobs; 0: it can, or does not know. Thread-safe. */
uint64_t themis_server_peers_lost(const struct themis_server *server, uint32_t index);
