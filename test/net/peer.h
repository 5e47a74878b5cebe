/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For the tests of net/: a server process that echoes messages, pulls from and pushes to what the client exposes, as a
 * client asks it to; and clients in the process of the test.
 */
#pragma once
#include <check.h>
#include "net/net.h"

typedef enum test_ask { ASK_ECHO, ASK_PULL, ASK_PUSH, ASK_CLOSE, ASK_NOTHING, ASK_WHO, ASK_FILE } test_ask_t;

/* A request; echoes carry bytes after it. The answer is the same struct; that to FILE has a descriptor of a file of
 * `length` bytes that follow from the seed. */
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
/* To be called first in main: does not return if the program was started in a role. `other`: all roles but serving. */
void test_peer_main(int count, char **words, test_role_fn other);

/* Ends it with the signal, waits, and sets pid to 0. Returns the CPU time it used, in ns. */
uint64_t test_peer_end(test_peer_t *peer, int signal);

/* Bytes that follow from a seed and their place, and a sum that tells order and content. */
void test_fill(unsigned char *bytes, uint64_t start, uint64_t length, uint64_t seed);
uint64_t test_sum(const unsigned char *bytes, uint64_t length);

typedef struct test_client {
    test_peer_t peer; /* pid 0: not its own */
    themis_net_t *net;
    themis_net_conn_t *conn;
    _Atomic unsigned got, closed;
    themis_status_t why;
    test_request_t answer; /* the last one */
    unsigned char *bytes;  /* the last message, if `keep` */
    size_t length;
    int keep;
    void (*on_message)(struct test_client *client, const void *bytes, size_t length); /* may be NULL */
    void *user;
} test_client_t;

themis_net_options_t test_options(int local_copy);

/* A client connected to a peer of its own. */
test_client_t *test_client_new(int local_copy);
test_client_t *test_client_new_with(const themis_net_options_t *options);
/* A client that has started to connect. */
test_client_t *test_client_start(const char *host, uint16_t port, int local_copy);
test_client_t *test_client_start_with(const char *host, uint16_t port, const themis_net_options_t *options);
/* Ends its peer, too. */
void test_client_free(test_client_t *client);

/* Makes progress until `got` messages have come in all. */
void test_client_await(test_client_t *client, unsigned got);
/* Sends the request, and replaces it by the answer, whose status is returned. */
themis_status_t test_client_ask(test_client_t *client, test_request_t *request);
/* Exposes `total` bytes in `count` pieces with gaps, moves [offset, offset + length) and compares everything. */
void test_client_move(test_client_t *client, int push, uint64_t total, size_t count, uint64_t offset, uint64_t length,
                      uint32_t local_pieces);

/* Each test is a case of its own, run with _i 0 and 1, so that CK_RUN_CASE can name it. */
#define TEST_CASE(suite, name) test_add_case(suite, name, #name)
void test_add_case(Suite *suite, const TTest *test, const char *name);
