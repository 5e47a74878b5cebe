/* SPDX-License-Identifier: BSD-3-Clause */
/* Who a client is: decided here and nowhere else. */
#pragma once
#include "net/net.h"
#include "proto/proto.h"
#include "sched/job_table.h"

/* Up to which a client's claims are believed. */
typedef struct themis_server_identity_limits {
    uint32_t nodes, priority;
} themis_server_identity_limits_t;

/*
 * A client's job, user, group and size, from its HELLO and its connection. A client that uses the local socket has the
 * uid and gid that the kernel reports, and one of another host those that it has proved, whatever the HELLO claims. One
 * that had to prove nothing (auth = none, transport = ucx) is believed. THEMIS_REFUSED: one on this host that proves
 * nothing and does not use the local socket. Nodes and priority are
 * believed up to the limits, with a warning. A process without a job id is a job of its own. `known` and `peer`: what
 * themis_net_conn_credentials says of the connection; it must not be asked with a lock held.
 */
themis_status_t themis_server_identity_decide(themis_status_t known, const themis_net_peer_credentials_t *peer,
                                              const themis_proto_hello_t *hello,
                                              const themis_server_identity_limits_t *limits,
                                              themis_sched_job_identity_t *identity);
