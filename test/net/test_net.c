/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and bulk data between two processes. Each case runs with local copies and without: _i is the option. */
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <ucs/debug/log_def.h>
#include "net/ucx/log_limit.h"
#include "test/lib/run.h"
#include "test/net/peer.h"
#include "util/clock.h"

#define SECOND THEMIS_NS_PER_S

TEST(echoes)
{
    static const size_t sizes[] = {0, 1, 8, 64, 1000, 4096, 8192, 65536, 100000, 1 << 20, 2 << 20};
    test_client_t *client = test_client_new(_i);
    unsigned char *bytes = malloc(2 << 20);

    client->keep = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        test_fill(bytes, 0, sizes[i], i);
        memset(bytes, 0, sizes[i] < sizeof(test_request_t) ? sizes[i] : sizeof(test_request_t)); /* ASK_ECHO */
        ck_assert_int_eq(themis_net_send(client->conn, bytes, sizes[i]), THEMIS_OK);
        test_client_await(client, (unsigned)i + 1);
        ck_assert_uint_eq(client->length, sizes[i]);
        ck_assert(memcmp(client->bytes, bytes, sizes[i]) == 0);
    }
    ck_assert_int_eq(themis_net_send(client->conn, bytes, (2 << 20) + 1), THEMIS_RANGE);
    free(bytes);
    test_client_free(client);
}

static void check_order(test_client_t *client, const void *bytes, size_t length)
{
    test_request_t request;

    memcpy(&request, bytes, sizeof request);
    ck_assert_uint_eq(request.id, client->got);
}

/* Small and large messages mixed come back in the order in which they were sent. */
TEST(order)
{
    test_client_t *client = test_client_new(_i);
    unsigned char *bytes = calloc(1, 1 << 20);

    client->on_message = check_order;
    for (unsigned i = 0; i < 2000; i++) {
        test_request_t request = {.ask = ASK_ECHO, .id = i};
        size_t length = i % 100 == 7 ? 1 << 20 : i % 10 == 3 ? 30000 : sizeof request;
        memcpy(bytes, &request, sizeof request);
        ck_assert_int_eq(themis_net_send(client->conn, bytes, length), THEMIS_OK);
        if (i % 50 == 0)
            themis_net_progress(client->net, 0);
        while (client->got + 200 < i)
            themis_net_progress(client->net, SECOND / 10);
    }
    test_client_await(client, 2000);
    free(bytes);
    test_client_free(client);
}

/* --- file descriptors ----------------------------------------------------------------------------------------------
 */

enum { FILES = 300, FILE_BYTES = 1000 };

static unsigned count_descriptors(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Every second one is taken, and has to be the one that belongs to the message. */
static void check_file(test_client_t *client, const void *bytes, size_t length)
{
    unsigned char got[FILE_BYTES], expected[FILE_BYTES];
    test_request_t answer;

    memcpy(&answer, bytes, sizeof answer);
    if (answer.ask != ASK_FILE || answer.status != THEMIS_OK || answer.id % 2)
        return;
    int fd = themis_net_take_descriptor(client->conn);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(themis_net_take_descriptor(client->conn), -1);
    test_fill(expected, 0, sizeof expected, answer.seed);
    ck_assert_int_eq(pread(fd, got, sizeof got, 0), sizeof got);
    ck_assert(memcmp(got, expected, sizeof got) == 0);
    close(fd);
    ++*(unsigned *)client->user;
}

/* With other messages between them, and so many at a time that some are refused. */
TEST(descriptors)
{
    test_client_t *client = test_client_new(_i);
    unsigned before = count_descriptors(), files = 0;

    client->on_message = check_file;
    client->user = &files;
    for (unsigned i = 0; i < FILES; i++) {
        test_request_t request = {.ask = i % 3 ? ASK_FILE : ASK_ECHO, .id = i, .seed = i, .length = FILE_BYTES};
        if (_i == 0 && request.ask == ASK_FILE)
            ck_assert_int_eq(test_client_ask(client, &request), THEMIS_UNSUPPORTED);
        else
            ck_assert_int_eq(themis_net_send(client->conn, &request, sizeof request), THEMIS_OK);
        if (i % 64 == 63 || _i == 0)
            test_client_await(client, i + 1);
    }
    test_client_await(client, FILES);
    ck_assert_uint_eq(client->closed, 0);
    if (_i == 1)
        ck_assert_uint_gt(files, FILES / 10);
    ck_assert_uint_le(count_descriptors(), before); /* the endpoint of the handshake may have closed since */
    test_client_free(client);
}

/* --- bulk -------------------------------------------------------------------------------------------------------- */

TEST(bulk)
{
    static const uint64_t sizes[] = {0, 1, 4096, 10000, 1 << 20, (5 << 20) + 13, 32 << 20};
    test_client_t *client = test_client_new(_i);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int push = 0; push < 2; push++) {
            test_client_move(client, push, sizes[i], 1, 0, sizes[i], 1);
            if (sizes[i] < 100)
                continue;
            test_client_move(client, push, sizes[i], 10, sizes[i] / 3, sizes[i] / 2, 3);
            test_client_move(client, push, sizes[i], 1, sizes[i] - 1, 1, 1);
        }
    test_client_free(client);
}

TEST(bulk_in_many_pieces)
{
    test_client_t *client = test_client_new(_i);

    for (int push = 0; push < 2; push++) {
        test_client_move(client, push, 16384 * 64, 16384, 0, 16384 * 64, 1);
        test_client_move(client, push, 16384 * 100, 16384, 12345, 16384 * 50, 1000);
        test_client_move(client, push, 16384 * 4096, 16384, 4096 * 100 + 17, 40 << 20, 4000);
    }
    test_client_free(client);
}

/* 1 GiB, moved by 4 MiB as the server's scheduler would. */
TEST(bulk_in_slices)
{
    test_client_t *client = test_client_new(_i);
    uint64_t total = UINT64_C(1) << 30, slice = 4 << 20;
    unsigned char *memory = malloc(total), *expected = malloc(slice);
    themis_net_exposed_t *exposed;

    for (int push = 1; push >= 0; push--) { /* so that pushed bytes are pulled */
        struct iovec all = {memory, total};
        ck_assert_int_eq(themis_net_expose(client->conn, &all, 1, push, &exposed), THEMIS_OK);
        for (uint64_t offset = 0; offset < total; offset += slice) {
            test_request_t request = {.ask = push ? ASK_PUSH : ASK_PULL, .offset = offset, .length = slice, .seed = 5};
            themis_net_exposed_descriptor(exposed, request.descriptor);
            ck_assert_int_eq(test_client_ask(client, &request), THEMIS_OK);
            if (offset % (64 * slice) != 0)
                continue;
            test_fill(expected, offset, slice, 5);
            ck_assert(memcmp(memory + offset, expected, slice) == 0);
            if (!push)
                ck_assert_uint_eq(request.sum, test_sum(expected, slice));
        }
        themis_net_unexpose(exposed);
    }
    free(memory);
    free(expected);
    test_client_free(client);
}

TEST(bulk_refusals)
{
    test_client_t *client = test_client_new(_i);
    unsigned char memory[100] = {0};
    struct iovec all = {memory, sizeof memory};
    themis_net_exposed_t *exposed;
    test_request_t request = {.ask = ASK_PULL, .offset = 50, .length = 51}, again;

    ck_assert_int_eq(themis_net_expose(client->conn, &all, 1, 0, &exposed), THEMIS_OK);
    themis_net_exposed_descriptor(exposed, request.descriptor);
    uint64_t place = _i == 0 ? (uintptr_t)memory : 0; /* by shared memory: the number of the staging buffer */
    for (int i = 0; i < 8; i++) {                     /* as doc/wire.md has it, whatever the host */
        ck_assert_uint_eq(request.descriptor[8 + i], i ? 0 : 100);
        ck_assert_uint_eq(request.descriptor[16 + i], place >> 8 * i & 0xff);
    }
    again = request;
    ck_assert_int_eq(test_client_ask(client, &again), THEMIS_RANGE);
    again = request;
    again.offset = UINT64_MAX;
    ck_assert_int_eq(test_client_ask(client, &again), THEMIS_RANGE);
    again = request;
    again.ask = ASK_PUSH;
    again.length = 1;
    ck_assert_int_eq(test_client_ask(client, &again), THEMIS_ACCESS);
    again = request;
    again.descriptor[3] ^= 1;
    ck_assert_int_eq(test_client_ask(client, &again), THEMIS_PROTOCOL);
    again = request;
    again.length = 50;
    ck_assert_int_eq(test_client_ask(client, &again), THEMIS_OK);
    themis_net_unexpose(exposed);
    if (_i == 0) { /* by messages it is out of reach now */
        again = request;
        again.length = 50;
        ck_assert_int_eq(test_client_ask(client, &again), THEMIS_STALE);
    }
    test_client_free(client);
}

/* --- failures ---------------------------------------------------------------------------------------------------- */

TEST(server_killed)
{
    test_client_t *client = test_client_new(_i);
    uint64_t start = themis_util_clock_now();

    test_peer_end(&client->peer, SIGKILL);
    while (client->closed == 0 && themis_util_clock_now() - start < 10 * SECOND)
        themis_net_progress(client->net, SECOND / 10);
    ck_assert_uint_eq(client->closed, 1);
    ck_assert_int_eq(client->why, THEMIS_DISCONNECTED);
    ck_assert_int_eq(themis_net_send(client->conn, "x", 1), THEMIS_DISCONNECTED);
    test_client_free(client);
}

/* The server dies while it pulls from us: memory is given back, the loss is reported. */
TEST(server_killed_while_moving)
{
    test_client_t *client = test_client_new(_i);
    uint64_t total = 256 << 20, start = themis_util_clock_now();
    unsigned char *memory = calloc(1, total);
    struct iovec all = {memory, total};
    themis_net_exposed_t *exposed;
    test_request_t request = {.ask = ASK_PULL, .length = total};

    ck_assert_int_eq(themis_net_expose(client->conn, &all, 1, 0, &exposed), THEMIS_OK);
    themis_net_exposed_descriptor(exposed, request.descriptor);
    ck_assert_int_eq(themis_net_send(client->conn, &request, sizeof request), THEMIS_OK);
    while (themis_util_clock_now() - start < SECOND / 50)
        themis_net_progress(client->net, SECOND / 1000);
    test_peer_end(&client->peer, SIGKILL);
    while (client->closed == 0 && client->got == 0 && themis_util_clock_now() - start < 10 * SECOND)
        themis_net_progress(client->net, SECOND / 10);
    ck_assert_uint_eq(client->closed + client->got, 1);
    themis_net_unexpose(exposed);
    memset(memory, 1, total);
    free(memory);
    test_client_free(client);
}

enum { CLIENT_BYTES = 64 << 20 };

/* A client that dies while the server moves its bytes: `number` is ten times the port, and one to be pushed to. */
static void moving_client(const themis_net_options_t *options, unsigned number, int out)
{
    themis_net_handlers_t handlers = {.message = NULL};
    themis_net_t *net;
    themis_net_conn_t *conn;
    themis_net_exposed_t *exposed;
    int push = (int)(number % 10);
    struct iovec all = {calloc(1, CLIENT_BYTES), CLIENT_BYTES};
    test_request_t request = {.ask = push ? ASK_PUSH : ASK_PULL, .length = CLIENT_BYTES};

    if (themis_net_create(options, &handlers, NULL, &net) != THEMIS_OK ||
        themis_net_connect(net, "127.0.0.1", (uint16_t)(number / 10), 10 * SECOND, &conn) != THEMIS_OK ||
        themis_net_expose(conn, &all, 1, push, &exposed) != THEMIS_OK || write(out, &push, 2) != 2)
        _exit(1);
    themis_net_exposed_descriptor(exposed, request.descriptor);
    themis_net_send(conn, &request, sizeof request);
    for (;;)
        themis_net_progress(net, SECOND);
}

/* Clients die while a server pulls from and pushes to them; the server goes on serving others. */
TEST(clients_killed_while_moving)
{
    test_client_t *client = test_client_new(_i);
    themis_net_options_t options = test_options(_i);

    for (unsigned round = 0; round < 8; round++) {
        test_peer_t peer = test_peer_spawn("moving client", &options, client->peer.port * 10 + round % 2);
        ck_assert_uint_eq(peer.port, round % 2);
        usleep(1000 << round);
        test_peer_end(&peer, SIGKILL);
        test_client_move(client, 0, 5000, 1, 0, 5000, 1);
        test_client_move(client, 1, 5000, 1, 0, 5000, 1);
    }
    test_client_free(client);
}

/* A client that is stopped in the middle does not hold up others. */
TEST(stopped_client)
{
    test_client_t *client = test_client_new(_i);
    themis_net_options_t options = test_options(_i);

    for (unsigned push = 0; push < 2; push++) {
        test_peer_t peer = test_peer_spawn("moving client", &options, client->peer.port * 10 + push);
        kill(peer.pid, SIGSTOP);
        test_client_move(client, 0, 5000, 1, 0, 5000, 1);
        test_client_move(client, 1, 5000, 1, 0, 5000, 1);
        test_peer_end(&peer, SIGKILL);
    }
    test_client_free(client);
}

TEST(reconnect)
{
    test_client_t *client = test_client_new(_i);
    themis_net_options_t options = test_options(_i);
    uint16_t port = client->peer.port;

    for (int round = 0; round < 5; round++) {
        test_peer_end(&client->peer, SIGKILL);
        while (client->closed == 0)
            themis_net_progress(client->net, SECOND / 10);
        client->closed = 0;
        themis_net_conn_unref(client->conn);
        uint64_t start = themis_util_clock_now();
        themis_status_t status = themis_net_connect(client->net, "127.0.0.1", port, 5 * SECOND, &client->conn);
        ck_assert(status == THEMIS_NO_SERVER || status == THEMIS_UNREACHABLE); /* UCX does not say why */
        ck_assert_uint_lt(themis_util_clock_now() - start, 2 * SECOND);
        client->peer = test_peer_start(&options, port);
        ck_assert_uint_eq(client->peer.port, port);
        ck_assert_int_eq(themis_net_connect(client->net, "127.0.0.1", port, 10 * SECOND, &client->conn), THEMIS_OK);
        test_client_move(client, 0, 5000, 1, 0, 5000, 1);
    }
    test_client_free(client);
}

/* What listens is not Themis: it sends nothing, or something else, or closes. */
TEST(not_a_server)
{
    static const char noise[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    themis_net_handlers_t handlers = {.message = NULL};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    themis_net_t *net;
    themis_net_conn_t *conn;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listener, 5), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(themis_net_create(NULL, &handlers, NULL, &net), THEMIS_OK);
    int other = fork();
    if (other == 0) {
        for (;;) {
            int fd = accept(listener, NULL, NULL);
            if (_i > 0 && write(fd, noise, sizeof noise) < 0)
                _exit(1);
            if (_i == 0)
                close(fd);
        }
    }
    uint64_t start = themis_util_clock_now();
    themis_status_t status = themis_net_connect(net, "127.0.0.1", ntohs(address.sin_port), SECOND, &conn);
    ck_assert(status == THEMIS_UNREACHABLE || status == THEMIS_TIMED_OUT);
    ck_assert_uint_lt(themis_util_clock_now() - start, 5 * SECOND);
    kill(other, SIGKILL);
    close(listener);
    themis_net_destroy(net);
}

TEST(server_closes)
{
    test_client_t *client = test_client_new(_i);
    test_request_t request = {.ask = ASK_CLOSE};

    ck_assert_int_eq(themis_net_send(client->conn, &request, sizeof request), THEMIS_OK);
    for (int i = 0; client->closed == 0 && i < 100; i++)
        themis_net_progress(client->net, SECOND / 10);
    ck_assert_uint_eq(client->closed, 1);
    test_client_free(client);
}

/* --- sleeping ---------------------------------------------------------------------------------------------------- */

TEST(idle_costs_nothing)
{
    test_client_t *client = test_client_new(_i);
    struct timespec before, after;

    for (int i = 0; i < 20; i++)
        themis_net_progress(client->net, SECOND / 20);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    uint64_t start = themis_util_clock_now();
    while (themis_util_clock_now() - start < 2 * SECOND)
        themis_net_progress(client->net, SECOND);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    int64_t used = (after.tv_sec - before.tv_sec) * (int64_t)SECOND + after.tv_nsec - before.tv_nsec;
    ck_assert_int_lt(used, (int64_t)(2 * SECOND / 200));
    uint64_t peer = test_peer_end(&client->peer, SIGKILL);
    ck_assert_uint_lt(peer, SECOND / 4); /* start-up included */
    test_client_free(client);
}

/* Nobody polls before sleeping, so each message has to wake its receiver; a lost wakeup would be noticed after 10
 * seconds only. There are more of them than may wait in a socket. */
TEST(each_message_wakes)
{
    themis_net_options_t options = test_options(_i);
    options.spin = 0;
    test_client_t *client = test_client_new_with(&options);
    unsigned char bytes[4096], expected[sizeof bytes];
    struct iovec all = {bytes, sizeof bytes};

    for (unsigned round = 0; round < 1000; round++) {
        static const test_ask_t asks[] = {ASK_ECHO, ASK_PUSH, ASK_PULL};
        test_request_t request = {.ask = asks[round % 3], .length = sizeof bytes, .seed = round};
        themis_net_exposed_t *exposed = NULL;
        uint64_t start = themis_util_clock_now();
        test_fill(bytes, 0, sizeof bytes, 1);
        ck_assert_int_eq(themis_net_expose(client->conn, &all, 1, request.ask == ASK_PUSH, &exposed), THEMIS_OK);
        themis_net_exposed_descriptor(exposed, request.descriptor);
        ck_assert_int_eq(themis_net_send(client->conn, &request, sizeof request), THEMIS_OK);
        while (client->got <= round && client->closed == 0)
            themis_net_progress(client->net, 10 * SECOND);
        themis_net_exposed_flush(exposed);
        themis_net_unexpose(exposed);
        ck_assert_uint_lt(themis_util_clock_now() - start, 8 * SECOND);
        test_fill(expected, 0, sizeof bytes, request.ask == ASK_PUSH ? round : 1);
        ck_assert_mem_eq(bytes, expected, sizeof bytes);
        if (request.ask == ASK_PULL)
            ck_assert_uint_eq(client->answer.sum, test_sum(expected, sizeof bytes));
    }
    test_client_free(client);
}

static void *wake_later(void *arg)
{
    usleep(100000);
    themis_net_wake(arg);
    return NULL;
}

TEST(wake_ends_a_sleep)
{
    test_client_t *client = test_client_new(_i);
    pthread_t thread;
    uint64_t start = themis_util_clock_now();

    themis_net_wake(client->net); /* before the sleep */
    themis_net_progress(client->net, 30 * SECOND);
    ck_assert_uint_lt(themis_util_clock_now() - start, 15 * SECOND); /* a lost wake costs the whole sleep */
    pthread_create(&thread, NULL, wake_later, client->net);
    start = themis_util_clock_now();
    themis_net_progress(client->net, 30 * SECOND);
    ck_assert_uint_lt(themis_util_clock_now() - start, 15 * SECOND);
    pthread_join(thread, NULL);
    start = themis_util_clock_now();
    themis_net_progress(client->net, SECOND / 5);
    ck_assert_uint_ge(themis_util_clock_now() - start, SECOND / 5);
    test_client_free(client);
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 300 };

typedef struct shared {
    test_client_t *client;
    _Atomic unsigned answers[THREADS];
    _Atomic int wrong;
    test_request_t last[THREADS];
} shared_t;

typedef struct worker {
    shared_t *shared;
    unsigned index;
} worker_t;

static void on_shared(test_client_t *client, const void *bytes, size_t length)
{
    shared_t *shared = client->user;
    test_request_t answer;

    memcpy(&answer, bytes, sizeof answer);
    if (answer.id >= THREADS) {
        shared->wrong = 1;
        return;
    }
    shared->last[answer.id] = answer;
    shared->answers[answer.id]++;
}

/* Pushes and pulls of its own, progressing until its answer has come. */
static void *work(void *arg)
{
    worker_t *worker = arg;
    shared_t *shared = worker->shared;
    uint64_t length = 3000 + 70000 * worker->index;
    unsigned char *memory = malloc(length), *expected = malloc(length);

    for (unsigned round = 0; round < ROUNDS && !shared->wrong; round++) {
        struct iovec all = {memory, length};
        themis_net_exposed_t *exposed;
        int push = round % 2 == 0;
        test_request_t request = {
            .ask = push ? ASK_PUSH : ASK_PULL, .id = worker->index, .length = length, .seed = round};
        if (themis_net_expose(shared->client->conn, &all, 1, push, &exposed) != THEMIS_OK)
            break;
        themis_net_exposed_descriptor(exposed, request.descriptor);
        if (themis_net_send(shared->client->conn, &request, sizeof request) != THEMIS_OK)
            break;
        uint64_t until = themis_util_clock_now() + 20 * SECOND;
        while (shared->answers[worker->index] <= round && themis_util_clock_now() < until)
            themis_net_progress(shared->client->net, SECOND);
        themis_net_exposed_flush(exposed);
        themis_net_unexpose(exposed);
        if (push)
            test_fill(expected, 0, length, round);
        if (shared->last[worker->index].status != THEMIS_OK || memcmp(memory, expected, length) != 0 ||
            (!push && shared->last[worker->index].sum != test_sum(expected, length)))
            shared->wrong = 2;
    }
    free(memory);
    free(expected);
    return NULL;
}

TEST(threads)
{
    shared_t *shared = calloc(1, sizeof *shared);
    pthread_t ids[THREADS];
    worker_t workers[THREADS];

    shared->client = test_client_new(_i);
    shared->client->user = shared;
    shared->client->on_message = on_shared;
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){shared, i};
        pthread_create(&ids[i], NULL, work, &workers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        ck_assert_uint_eq(shared->answers[i], ROUNDS);
    }
    ck_assert_int_eq(shared->wrong, 0);
    test_client_free(shared->client);
    free(shared);
}

static int logged;

static ucs_log_func_rc_t count_message(const char *file, unsigned line, const char *function, ucs_log_level_t level,
                                       const ucs_log_component_config_t *config, const char *message, va_list arguments)
{
    logged++;
    return UCS_LOG_FUNC_RC_STOP;
}

/* Of so many messages of that level. */
static int log_many(ucs_log_level_t level)
{
    ucs_log_component_config_t config = {.log_level = UCS_LOG_LEVEL_LAST};

    logged = 0;
    for (int i = 0; i < 100; i++)
        ucs_log_dispatch(__FILE__, __LINE__, __func__, level, &config, "message %d", i);
    return logged;
}

/* Handlers are called from the last one on. */
TEST(messages_of_ucx_are_limited)
{
    ucs_log_push_handler(count_message);
    themis_net_log_limit();
    ck_assert_int_eq(log_many(UCS_LOG_LEVEL_INFO), 100);
    ck_assert_int_eq(log_many(UCS_LOG_LEVEL_ERROR), 20);
    ck_assert_int_eq(log_many(UCS_LOG_LEVEL_WARN), 0);
    ck_assert_int_eq(log_many(UCS_LOG_LEVEL_FATAL), 100);
    ck_assert_int_eq(log_many(UCS_LOG_LEVEL_DEBUG), 100);
}

int main(int count, char **words)
{
    setenv("UCX_NET_DEVICES", "lo", 1);
    test_peer_main(count, words, moving_client);
    Suite *suite = suite_create("net");

    TEST_CASE(suite, echoes);
    TEST_CASE(suite, order);
    TEST_CASE(suite, descriptors);
    TEST_CASE(suite, bulk);
    TEST_CASE(suite, bulk_in_many_pieces);
    TEST_CASE(suite, bulk_in_slices);
    TEST_CASE(suite, bulk_refusals);
    TEST_CASE(suite, server_killed);
    TEST_CASE(suite, server_killed_while_moving);
    TEST_CASE(suite, clients_killed_while_moving);
    TEST_CASE(suite, stopped_client);
    TEST_CASE(suite, reconnect);
    TEST_CASE(suite, not_a_server);
    TEST_CASE(suite, server_closes);
    TEST_CASE(suite, idle_costs_nothing);
    TEST_CASE(suite, each_message_wakes);
    TEST_CASE(suite, wake_ends_a_sleep);
    TEST_CASE(suite, threads);
    TEST_CASE(suite, messages_of_ucx_are_limited);
    return test_run(suite);
}
