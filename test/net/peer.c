/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/net/peer.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include "util/clock.h"

enum { MAX_PIECES = 4096 };

typedef struct job {
    themis_net_conn_t *conn;
    test_request_t request;
    unsigned char *bytes;
} job_t;

/* Not looked at by sanitizers: they make gigabytes that are written byte by byte take minutes. */
__attribute__((no_sanitize("address", "thread", "undefined"))) void test_fill(unsigned char *bytes, uint64_t start,
                                                                              uint64_t length, uint64_t seed)
{
    for (uint64_t i = 0; i < length; i++) {
        uint64_t x = (start + i) * UINT64_C(0x9e3779b97f4a7c15) + seed;
        bytes[i] = (unsigned char)((x >> 32) ^ (x >> 40));
    }
}

uint64_t test_sum(const unsigned char *bytes, uint64_t length)
{
    return XXH3_64bits(bytes, length);
}

static void job_finish(void *arg, themis_status_t status)
{
    job_t *job = arg;

    job->request.status = status;
    if (job->request.ask == ASK_PULL && status == THEMIS_OK)
        job->request.sum = test_sum(job->bytes, job->request.length);
    themis_net_send(job->conn, &job->request, sizeof job->request);
    themis_net_conn_unref(job->conn);
    free(job->bytes);
    free(job);
}

/* Cuts the job's memory into pieces that lie in order. */
static size_t job_pieces(const job_t *job, struct iovec *pieces)
{
    size_t count = job->request.pieces > 0 ? job->request.pieces : 1;
    uint64_t step = job->request.length / count;

    for (size_t i = 0; i < count; i++) {
        uint64_t end = i + 1 == count ? job->request.length : (i + 1) * step;
        pieces[i] = (struct iovec){job->bytes + i * step, end - i * step};
    }
    return count;
}

static void job_start(themis_net_conn_t *conn, const test_request_t *request)
{
    job_t *job = calloc(1, sizeof *job);
    struct iovec pieces[MAX_PIECES];
    themis_status_t status;

    job->conn = conn;
    job->request = *request;
    job->bytes = calloc(1, request->length + 1);
    themis_net_conn_ref(conn);
    size_t count = job_pieces(job, pieces);
    if (request->ask == ASK_PULL) {
        status = themis_net_pull(conn, request->descriptor, request->offset, pieces, count, job_finish, job);
    } else {
        test_fill(job->bytes, request->offset, request->length, request->seed);
        status = themis_net_push(conn, request->descriptor, request->offset, pieces, count, job_finish, job);
    }
    if (status != THEMIS_IN_PROGRESS)
        job_finish(job, status);
}

static void tell_who(themis_net_conn_t *conn, test_request_t *request)
{
    themis_net_peer_credentials_t peer = {0};

    request->status = themis_net_conn_credentials(conn, &peer);
    request->sum = peer.uid;
    themis_net_send(conn, request, sizeof *request);
}

static void send_file(themis_net_conn_t *conn, test_request_t *request)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    unsigned char *bytes = calloc(1, request->length);

    test_fill(bytes, 0, request->length, request->seed);
    if (fd < 0 || write(fd, bytes, request->length) != (ssize_t)request->length)
        request->length = 0;
    free(bytes);
    request->status = themis_net_send_descriptor(conn, request, sizeof *request, fd);
    if (request->status != THEMIS_OK)
        themis_net_send(conn, request, sizeof *request);
    close(fd);
}

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    test_request_t request;

    memcpy(&request, bytes, length < sizeof request ? length : sizeof request);
    if (length < sizeof request || request.ask == ASK_ECHO)
        themis_net_send(conn, bytes, length);
    else if (request.ask == ASK_WHO)
        tell_who(conn, &request);
    else if (request.ask == ASK_FILE)
        send_file(conn, &request);
    else if (request.ask == ASK_CLOSE)
        themis_net_conn_close(conn);
    else if (request.ask != ASK_NOTHING)
        job_start(conn, &request);
}

static void on_opened(void *arg, themis_net_conn_t *conn)
{
    themis_net_conn_ref(conn);
}

static void on_closed(void *arg, themis_net_conn_t *conn, themis_status_t why)
{
    themis_net_conn_unref(conn);
}

static void serve(const themis_net_options_t *options, uint16_t port, int out)
{
    themis_net_handlers_t handlers = {on_opened, on_message, on_closed};
    themis_net_t *net;
    uint16_t bound;

    if (themis_net_create(options, &handlers, NULL, &net) != THEMIS_OK ||
        themis_net_listen(net, "127.0.0.1", port, &bound) != THEMIS_OK)
        _exit(1);
    if (write(out, &bound, sizeof bound) != sizeof bound)
        _exit(1);
    for (;;)
        themis_net_progress(net, 10 * THEMIS_NS_PER_S);
}

/* A new program and not a mere fork: UCX does not survive a fork. */
static void exec_role(const char *role, const themis_net_options_t *options, unsigned number, int out)
{
    char numbers[5][24], auth[2 * sizeof options->auth + 1];
    const unsigned char *bytes = (const unsigned char *)&options->auth;

    snprintf(numbers[0], sizeof numbers[0], "%u", number);
    snprintf(numbers[1], sizeof numbers[1], "%d", out);
    snprintf(numbers[2], sizeof numbers[2], "%d", options->local_copy);
    snprintf(numbers[3], sizeof numbers[3], "%llu", (unsigned long long)options->spin);
    snprintf(numbers[4], sizeof numbers[4], "%d", options->network);
    for (size_t i = 0; i < sizeof options->auth; i++)
        snprintf(auth + 2 * i, 3, "%02x", bytes[i]);
    execl("/proc/self/exe", "test_peer", role, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], auth,
          (char *)NULL);
    _exit(1);
}

test_peer_t test_peer_spawn(const char *role, const themis_net_options_t *options, unsigned number)
{
    test_peer_t peer = {.port = 0};
    int ends[2];

    if (pipe(ends) != 0)
        return peer;
    peer.pid = fork();
    if (peer.pid == 0)
        exec_role(role, options, number, ends[1]);
    close(ends[1]);
    if (read(ends[0], &peer.port, sizeof peer.port) != sizeof peer.port)
        peer.port = 0;
    close(ends[0]);
    return peer;
}

test_peer_t test_peer_start(const themis_net_options_t *options, uint16_t port)
{
    return test_peer_spawn("serve", options, port);
}

void test_peer_main(int count, char **words, test_role_fn other)
{
    if (count != 8)
        return;
    themis_net_options_t options = test_options(atoi(words[4]));
    options.spin = strtoull(words[5], NULL, 10);
    options.network = atoi(words[6]);
    for (size_t i = 0; i < sizeof options.auth; i++)
        sscanf(words[7] + 2 * i, "%2hhx", (unsigned char *)&options.auth + i);
    unsigned number = (unsigned)strtoul(words[2], NULL, 10);
    int out = atoi(words[3]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (strcmp(words[1], "serve") == 0)
        serve(&options, (uint16_t)number, out);
    if (other != NULL)
        other(&options, number, out);
    _exit(1);
}

uint64_t test_peer_end(test_peer_t *peer, int signal)
{
    struct rusage used;
    int status;

    kill(peer->pid, signal);
    while (wait4(peer->pid, &status, 0, &used) < 0)
        ;
    peer->pid = 0;
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * THEMIS_NS_PER_S +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * THEMIS_NS_PER_US;
}

/* --- clients ----------------------------------------------------------------------------------------------------- */

static void client_on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    test_client_t *client = arg;

    memcpy(&client->answer, bytes, length < sizeof client->answer ? length : sizeof client->answer);
    if (client->keep) {
        free(client->bytes);
        client->bytes = malloc(length + 1);
        memcpy(client->bytes, bytes, length);
    }
    client->length = length;
    if (client->on_message != NULL)
        client->on_message(client, bytes, length);
    client->got++;
}

static void client_on_closed(void *arg, themis_net_conn_t *conn, themis_status_t why)
{
    test_client_t *client = arg;

    client->why = why;
    client->closed++;
}

themis_net_options_t test_options(int local_copy)
{
    return (themis_net_options_t){
        .spin = 20 * THEMIS_NS_PER_US, .local_copy = local_copy, .yield = 1, .auth = {.kind = THEMIS_NET_AUTH_NONE}};
}

static test_client_t *client_create(const themis_net_options_t *options)
{
    themis_net_handlers_t handlers = {.message = client_on_message, .closed = client_on_closed};
    test_client_t *client = calloc(1, sizeof *client);

    ck_assert_int_eq(themis_net_create(options, &handlers, client, &client->net), THEMIS_OK);
    return client;
}

test_client_t *test_client_new_with(const themis_net_options_t *options)
{
    test_peer_t peer = test_peer_start(options, 0);
    test_client_t *client = client_create(options);

    client->peer = peer;
    ck_assert_uint_ne(peer.port, 0);
    ck_assert_int_eq(themis_net_connect(client->net, "127.0.0.1", peer.port, 10 * THEMIS_NS_PER_S, &client->conn),
                     THEMIS_OK);
    return client;
}

test_client_t *test_client_new(int local_copy)
{
    themis_net_options_t options = test_options(local_copy);

    return test_client_new_with(&options);
}

test_client_t *test_client_start(const char *host, uint16_t port, int local_copy)
{
    themis_net_options_t options = test_options(local_copy);

    return test_client_start_with(host, port, &options);
}

test_client_t *test_client_start_with(const char *host, uint16_t port, const themis_net_options_t *options)
{
    test_client_t *client = client_create(options);

    ck_assert_int_eq(themis_net_connect_start(client->net, host, port, &client->conn), THEMIS_OK);
    return client;
}

void test_client_free(test_client_t *client)
{
    themis_net_conn_close(client->conn);
    themis_net_conn_unref(client->conn);
    themis_net_destroy(client->net);
    if (client->peer.pid > 0)
        test_peer_end(&client->peer, SIGKILL);
    free(client->bytes);
    free(client);
}

void test_client_await(test_client_t *client, unsigned got)
{
    uint64_t until = themis_util_clock_now() + 20 * THEMIS_NS_PER_S;

    while (client->got < got && client->closed == 0) {
        ck_assert_uint_lt(themis_util_clock_now(), until);
        themis_net_progress(client->net, THEMIS_NS_PER_S / 10);
    }
}

themis_status_t test_client_ask(test_client_t *client, test_request_t *request)
{
    unsigned before = client->got;

    ck_assert_int_eq(themis_net_send(client->conn, request, sizeof *request), THEMIS_OK);
    test_client_await(client, before + 1);
    ck_assert_uint_eq(client->closed, 0);
    *request = client->answer;
    return request->status;
}

void test_client_move(test_client_t *client, int push, uint64_t total, size_t count, uint64_t offset, uint64_t length,
                      uint32_t local_pieces)
{
    uint64_t step = total / count, gap = count > 1 ? 16 : 0;
    unsigned char *memory = calloc(1, total + count * gap + 1), *expected = calloc(1, total + 1);
    struct iovec *pieces = calloc(count, sizeof *pieces);
    themis_net_exposed_t *exposed;
    test_request_t request = {
        .ask = push ? ASK_PUSH : ASK_PULL, .offset = offset, .length = length, .seed = 99, .pieces = local_pieces};

    test_fill(expected, 0, total, 7);
    for (size_t i = 0; i < count; i++) {
        uint64_t end = i + 1 == count ? total : (i + 1) * step;
        pieces[i] = (struct iovec){memory + i * (step + gap), end - i * step};
        memcpy(pieces[i].iov_base, expected + i * step, pieces[i].iov_len);
    }
    ck_assert_int_eq(themis_net_expose(client->conn, pieces, count, push, &exposed), THEMIS_OK);
    themis_net_exposed_descriptor(exposed, request.descriptor);
    ck_assert_int_eq(test_client_ask(client, &request), THEMIS_OK);
    themis_net_exposed_flush(exposed);
    themis_net_unexpose(exposed);
    if (push)
        test_fill(expected + offset, offset, length, 99);
    else
        ck_assert_uint_eq(request.sum, test_sum(expected + offset, length));
    for (size_t i = 0; i < count; i++) {
        ck_assert(memcmp(pieces[i].iov_base, expected + i * step, pieces[i].iov_len) == 0);
        for (uint64_t j = 0; i + 1 < count && j < gap; j++)
            ck_assert_uint_eq(memory[i * (step + gap) + step + j], 0);
    }
    free(pieces);
    free(expected);
    free(memory);
}

void test_add_case(Suite *suite, const TTest *test, const char *name)
{
    TCase *one = tcase_create(name);

    tcase_set_timeout(one, 120);
    tcase_add_loop_test(one, test, 0, 2);
    suite_add_tcase(suite, one);
}
