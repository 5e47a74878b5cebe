/* SPDX-License-Identifier: BSD-3-Clause */
/* Who a client is: decided here and nowhere else. */
#ifndef THEMIS_SERVER_IDENTITY_H
#define THEMIS_SERVER_IDENTITY_H
#include "net/net.h"
#include "proto/proto.h"
#include "sched/job_table.h"

/* What a client's own word is taken for at most. */
typedef struct themis_server_identity_limits {
    uint32_t nodes, priority;
} themis_server_identity_limits_t;

/*
 * Job, user, group and size as they count, from what the client says and what the kernel knows of it. A peer that came
 * by the local socket has the uid and gid that the kernel says, whatever the hello claims. A peer on another host is
 * believed, until credentials travel with the hello. THEMIS_REFUSED: one on this host that did not come by the local
 * socket. Nodes and priority are believed up to the limits. A job without an id is one of its own per host and process.
 */
themis_status_t themis_server_identity_decide(const themis_net_conn_t *conn, const themis_proto_hello_t *hello,
                                              const themis_server_identity_limits_t *limits,
                                              themis_sched_job_identity_t *identity);
#endif
