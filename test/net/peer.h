/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server process for the tests of net/: it echoes messages, pulls from and pushes to what the client exposes, as a
 * client asks it to. Tests talk to it from their own process.
 */
#ifndef TEST_NET_PEER_H
#define TEST_NET_PEER_H
#include "net/net.h"

typedef enum test_ask { ASK_ECHO, ASK_PULL, ASK_PUSH, ASK_CLOSE, ASK_NOTHING, ASK_WHO } test_ask_t;

/* A request; echoes carry bytes behind it. The answer is the same struct. */
typedef struct test_request {
    test_ask_t ask;
    themis_status_t status; /* answer: of the transfer; WHO: whether the kernel says who asks */
    uint64_t id;
    uint64_t offset, length; /* in what is exposed */
    uint64_t sum;            /* answer: of the pulled bytes, as test_sum counts; WHO: the user */
    uint64_t seed;           /* of the bytes to push */
    uint32_t pieces;         /* of local memory, 0 like 1 */
    unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES];
} test_request_t;

typedef struct test_peer {
    int pid;
    uint16_t port;
} test_peer_t;

/* Starts it in a new process. port 0: any. */
test_peer_t test_peer_start(const themis_net_options_t *options, uint16_t port);

/* Starts this program again in another role; waits until it has written two bytes (a port, say) to `out`. */
typedef void (*test_role_fn)(const themis_net_options_t *options, unsigned number, int out);
test_peer_t test_peer_spawn(const char *role, const themis_net_options_t *options, unsigned number);
/* To be called first thing in main: does not return if the program was started in a role. `other`: all but serving. */
void test_peer_main(int count, char **words, test_role_fn other);

/* Ends it with the signal and waits. Returns the CPU time it used, in ns. */
uint64_t test_peer_end(test_peer_t *peer, int signal);

/* Bytes that follow from a seed and their place, and a sum that tells order and content. */
void test_fill(unsigned char *bytes, uint64_t start, uint64_t length, uint64_t seed);
uint64_t test_sum(const unsigned char *bytes, uint64_t length);
#endif
