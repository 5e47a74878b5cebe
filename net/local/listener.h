/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's side of what net/local/hello.h describes. A process that has connected and does not say hello is dropped
 * after a while, and only so many may be silent at a time, of one user and of all. Apart from opening and closing, this
 * belongs to the progressing thread.
 */
#pragma once
#include "net/net.h"
#include "net/silent.h"

/* Of all users, and of one. */
enum { THEMIS_NET_MAX_SILENT = 512, THEMIS_NET_MAX_SILENT_OF_USER = 128 };

typedef struct themis_net_listener {
    int fd;                /* -1: not listening */
    uint64_t accept_again; /* when accepting goes on; 0: it does */
    uint64_t warn_again;   /* when another warning of clients that want another server is due */
    themis_net_silents_t silents;
    themis_net_silent_t sockets[THEMIS_NET_MAX_SILENT];
} themis_net_listener_t;

void themis_net_listener_init(themis_net_listener_t *listener);
/* Makes the socket and sets net->cookie. Lock held. */
themis_status_t themis_net_listener_open(themis_net_t *net);
void themis_net_listener_close(themis_net_listener_t *listener);

/* The socket, or one that was accepted, is ready: accepts, or answers the hello. Lock not held. */
void themis_net_listener_on_event(themis_net_t *net, uint64_t what);
/* Drops those who do not speak in time. Returns 1 if it has to be called again soon. Lock held. */
int themis_net_listener_expire(themis_net_t *net);
