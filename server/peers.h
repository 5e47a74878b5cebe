/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other servers of the list: every lambda, while there are jobs, a thread sends them this server's table, computes
 * the allocation from those it has got and gives the weights to the scheduler (exchange.h has the content). A server
 * that cannot be reached is tried again later and holds nobody up.
 */
#ifndef THEMIS_SERVER_PEERS_H
#define THEMIS_SERVER_PEERS_H
#include "proto/proto.h"
#include "server/report.h"
#include "themis/status.h"

struct themis_server;

/* Makes what is needed for `server->config`; nothing for a single server, or a list that is not known. */
themis_status_t themis_server_peers_create(struct themis_server *server);
/* Starts the thread. */
themis_status_t themis_server_peers_start(struct themis_server *server);
/* Ends the thread and closes the connections. */
void themis_server_peers_destroy(struct themis_server *server);

/* The first job has come, or lambda has changed. With the server's lock. */
void themis_server_peers_kick(struct themis_server *server);
/* A table has arrived. */
themis_status_t themis_server_peers_take(struct themis_server *server, const themis_proto_table_t *table);
/* Fills in `known` and `rounds`. */
void themis_server_peers_report(struct themis_server *server, themis_server_report_server_t *report);
#endif
