/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The local sockets of servers that this process, or the one that it was forked from, has reached. UCX cannot be used
 * after a fork; so a child connects by these at once, without WELCOME. Thread-safe; holds no lock, as a child may be
 * forked at any time.
 */
#ifndef THEMIS_NET_KNOWN_H
#define THEMIS_NET_KNOWN_H
#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct themis_net_known {
    struct sockaddr_in address; /* of the server */
    uint64_t cookie;            /* in the name of its local socket */
    uid_t uid;                  /* of the server's process; whoever else has the name now is not the server */
} themis_net_known_t;

void themis_net_known_add(const themis_net_known_t *known);
/* The latest of the address. Returns 0 if there is none. */
int themis_net_known_find(const struct sockaddr_in *address, themis_net_known_t *known);
#endif
