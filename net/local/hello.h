/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How two processes of one host find each other. The server listens on an abstract socket whose name has a random
 * number that clients learn in WELCOME; a client that can reach it is on the same host (network namespace). The server
 * answers with the shared memory, and that is a connection of its own: it has nothing to do with the endpoint that
 * WELCOME came by, so nobody who stands between the two there can speak for the client here.
 *
 * The sender of WELCOME may name the socket of another server. So the client says which address it means, and a server
 * that does not listen there refuses it.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* What the client sends, and the server sends back. */
typedef struct themis_net_hello {
    uint64_t magic;   /* THEMIS_NET_MAGIC */
    uint32_t version; /* THEMIS_NET_WIRE */
    uint32_t address; /* IPv4 and port that the client means, as in sockaddr_in */
    uint16_t port;
    uint16_t unused[3];
} themis_net_hello_t;

/* The socket's name; returns the length of the address. */
socklen_t themis_net_hello_address(uint64_t cookie, struct sockaddr_un *address);
