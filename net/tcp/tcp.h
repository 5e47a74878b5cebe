/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport between hosts that authenticates: sockets that do not block, in an event queue of their own, which is
 * one descriptor of the net's. A server has one port, and connects to nobody; what a stranger sends there reaches the
 * handshake (net/handshake.h) and nothing else.
 */
#pragma once
#include "net/conn.h"
#include "net/tcp/stream.h"

extern const themis_net_transport_t themis_net_tcp_transport;

/* What it keeps for a net. */
typedef struct themis_net_tcp {
    int epoll_fd;
    uint8_t *scratch; /* THEMIS_NET_STREAM_SCRATCH bytes */
    struct themis_net_listening *listening;
    themis_net_stream_t *lingering; /* of connections that are closed: what waits in them is still to be written */
} themis_net_tcp_t;

/* epoll_event.data.u64 of that queue; anything above is the key of a connection. */
enum { THEMIS_NET_TCP_LISTENER, THEMIS_NET_TCP_LINGERING, THEMIS_NET_TCP_STRANGERS, THEMIS_NET_TCP_KEYS = 4096 };

/* Adds a descriptor to the queue, changes what it is watched for, or takes it out: else the end of its peer would be
 * told again and again. Return as epoll_ctl. */
int themis_net_tcp_add(themis_net_tcp_t *tcp, int fd, uint32_t events, uint64_t what);
int themis_net_tcp_change(themis_net_tcp_t *tcp, int fd, uint32_t events, uint64_t what);
void themis_net_tcp_remove(themis_net_tcp_t *tcp, int fd);
/* Reads what a handshake wants, up to the end of a message; writes what it has for the peer, which fits into the buffer
 * of a socket by which little has gone. Return 0 if there is no reason to go on. */
int themis_net_tcp_handshake_read(int fd, themis_net_handshake_t *handshake);
int themis_net_tcp_handshake_write(int fd, themis_net_handshake_t *handshake);
/* Watches an open connection's socket for what it waits for. Lock held. */
void themis_net_tcp_watch(themis_net_conn_t *conn);
