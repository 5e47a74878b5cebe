/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers that stop answering, end, and come back, as a client sees it. */
#define _GNU_SOURCE
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "client/session.h"
#include "test/client/scene.h"
#include "test/lib/run.h"
#include "themis/themis.h"
#include "util/clock.h"

static const int create = THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE;

/* Another session instead of the present one. */
static void reconnect(uint64_t timeout)
{
    themis_disconnect(session);
    ck_ok(test_connect(test_server_list, timeout, &session));
}

TEST(requests_wait_for_a_server_that_comes_back)
{
    themis_file_t *file = open_file("/back");

    ck_ok(write_all(file));
    test_server_kill(TEST_SERVERS - 1);
    test_server_start_after(TEST_SERVERS - 1, 500);
    ck_ok(write_all(file)); /* waits */
    ck_ok(write_all(file));
    themis_close(file);
}

TEST(a_server_that_is_gone_is_named_in_time)
{
    themis_session_info_t info;

    reconnect(THEMIS_NS_PER_S);
    ck_ok(themis_session_info(session, &info));
    themis_file_t *file = open_file("/gone");
    ck_ok(write_all(file));
    test_server_kill(TEST_SERVERS - 1);
    uint64_t start = themis_util_clock_now();
    themis_status_t status = write_all(file);
    ck_assert_int_lt(status, 0);
    ck_assert_uint_lt(themis_util_clock_now() - start, 5 * THEMIS_NS_PER_S);
    ck_assert_ptr_nonnull(strstr(themis_last_error(), "/gone: server 127.0.0.1:"));
    start = themis_util_clock_now();
    ck_assert_int_lt(write_all(file), 0); /* known to be gone */
    ck_assert_uint_lt(themis_util_clock_now() - start, 2 * THEMIS_NS_PER_S);
    themis_close(file);
}

TEST(a_server_that_pauses_is_waited_for)
{
    themis_file_t *file = open_file("/pause");

    ck_ok(write_all(file));
    test_server_signal(1, SIGSTOP);
    pid_t child = fork();
    if (child == 0) {
        sleep(2);
        test_server_signal(1, SIGCONT);
        _exit(0);
    }
    ck_ok(write_all(file));
    themis_close(file);
}

TEST(a_server_that_hangs_is_given_up)
{
    reconnect(THEMIS_NS_PER_S);
    themis_file_t *file = open_file("/hang");
    ck_ok(themis_file_set_direct(file, -1));
    ck_ok(write_all(file));
    test_server_signal(1, SIGSTOP);
    uint64_t start = themis_util_clock_now();
    ck_assert_int_lt(write_all(file), 0);
    ck_assert_uint_lt(themis_util_clock_now() - start, 15 * THEMIS_NS_PER_S);
    themis_close(file);
}

/* A file with all of its bytes on server 1, which is stopped. */
static themis_file_t *open_on_stopped(const char *path)
{
    themis_layout_t layout = {TEST_STRIPE, 1, 1};
    themis_file_t *file;

    ck_ok(themis_open(session, path, create, 0644, &layout, &file));
    ck_ok(themis_file_set_direct(file, -1));
    test_server_signal(1, SIGSTOP);
    return file;
}

static void continue_and_wait(themis_request_t **requests, int count)
{
    test_server_signal(1, SIGCONT);
    for (int i = 0; i < count; i++)
        ck_ok(themis_request_wait(requests[i], NULL));
}

/* Requests to a server that does not reply wait in the client beyond a bound, and are sent as replies come. */
TEST(requests_under_way_are_bounded)
{
    enum { REQUESTS = 3 * THEMIS_CLIENT_MAX_CALLS };
    static themis_request_t *requests[REQUESTS];
    static unsigned char out[REQUESTS], in[REQUESTS];
    const themis_client_peer_t *peer = &session->peers.array[1];
    themis_file_t *file = open_on_stopped("/bounded");
    size_t done;

    for (int i = 0; i < REQUESTS; i++) {
        struct iovec memory;
        themis_run_t run = {(uint64_t)i, 1, 1, 1};
        themis_list_t list = test_list(&out[i], &run, &memory);
        out[i] = (unsigned char)(i * 7 + 1);
        ck_ok(themis_iwrite_list(file, &list, &requests[i]));
    }
    ck_assert_uint_eq(peer->queue.under_way, THEMIS_CLIENT_MAX_CALLS);
    ck_assert_uint_eq(peer->queue.unsent, REQUESTS - THEMIS_CLIENT_MAX_CALLS);
    continue_and_wait(requests, REQUESTS);
    ck_assert_uint_eq(peer->queue.under_way, 0);
    ck_assert_uint_eq(peer->queue.under_way_bytes, 0);
    ck_assert_uint_eq(peer->queue.unsent, 0);
    ck_ok(themis_read(file, in, sizeof in, 0, &done));
    ck_assert_mem_eq(in, out, sizeof in);
    themis_close(file);
}

/* The same with long lists: the bytes of their messages are bounded, too. */
TEST(bytes_under_way_are_bounded)
{
    enum { REQUESTS = 40, RUNS = 16000 };
    static themis_request_t *requests[REQUESTS];
    static unsigned char out[RUNS];
    static themis_run_t runs[RUNS];
    struct iovec memory = {out, RUNS};
    themis_list_t list = {&memory, 1, runs, RUNS};
    const themis_client_peer_t *peer = &session->peers.array[1];
    themis_file_t *file = open_on_stopped("/lists");

    for (int i = 0; i < REQUESTS; i++) {
        for (int k = 0; k < RUNS; k++) /* irregular, and no two requests have a byte in common */
            runs[k] = (themis_run_t){(uint64_t)(i * RUNS + RUNS - k) * 16 + (uint64_t)(k * k) % 11, 1, 1, 1};
        ck_ok(themis_iwrite_list(file, &list, &requests[i]));
    }
    ck_assert_uint_ge(peer->queue.under_way_bytes, THEMIS_CLIENT_MAX_BYTES);
    ck_assert_uint_lt(peer->queue.under_way_bytes, THEMIS_CLIENT_MAX_BYTES + (1 << 20));
    ck_assert_uint_gt(peer->queue.unsent, 0);
    continue_and_wait(requests, REQUESTS);
    ck_assert_uint_eq(peer->queue.under_way_bytes, 0);
    themis_close(file);
}

/* The bytes are on the first server alone; the names are where their hash says. */
TEST(sync_reaches_the_homes_of_the_names)
{
    themis_layout_t layout = {TEST_STRIPE, 1, 0};
    themis_file_t *files[8];
    char path[32];
    size_t done;
    int failed = 0;

    reconnect(THEMIS_NS_PER_S);
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "/sync%d", i);
        ck_ok(themis_open(session, path, create, 0644, &layout, &files[i]));
        ck_ok(themis_write(files[i], "x", 1, 0, &done));
        ck_ok(themis_sync(files[i]));
    }
    test_server_kill(1);
    test_server_kill(2);
    for (int i = 0; i < 8; i++) {
        failed += themis_sync(files[i]) != THEMIS_OK;
        themis_close(files[i]);
    }
    ck_assert_int_gt(failed, 0);
}

static long heartbeats_at(uint32_t server)
{
    char *text;

    ck_ok(themis_query(session, server, "server", &text));
    const char *found = strstr(text, "\"heartbeats\":");
    ck_assert_ptr_nonnull(found);
    long count = strtol(found + strlen("\"heartbeats\":"), NULL, 10);
    free(text);
    return count;
}

/* The interval of heartbeats is 200 ms. While requests are sent there are none; on a loaded machine the client may
 * pause for so long that there are, so it is tried again. */
TEST(heartbeats_come_only_where_nothing_else_does)
{
    enum { INTERVALS = 4 };
    const uint64_t interval = 200 * THEMIS_NS_PER_MS;
    themis_file_t *file = open_file("/beats");
    long sent = -1;

    for (int i = 0; i < 5 && sent != 0; i++) {
        long before = heartbeats_at(1);
        uint64_t end = themis_util_clock_now() + INTERVALS * interval;
        while (themis_util_clock_now() < end)
            ck_ok(write_all(file));
        sent = heartbeats_at(1) - before;
    }
    ck_assert_int_eq(sent, 0);
    long before = heartbeats_at(1);
    uint64_t end = themis_util_clock_now() + INTERVALS * interval;
    while (themis_util_clock_now() < end)
        themis_progress(session, interval / 4);
    ck_assert_int_ge(heartbeats_at(1) - before, 2);
    themis_close(file);
}

TEST(a_list_in_another_order_is_refused)
{
    char other[256];
    const char *comma = strchr(test_server_list, ',');

    snprintf(other, sizeof other, "%s,%.*s", comma + 1, (int)(comma - test_server_list), test_server_list);
    ck_assert_int_eq(test_connect(other, THEMIS_NS_PER_S, &session), THEMIS_CONFIG);
    ck_assert_ptr_nonnull(strstr(themis_last_error(), "number"));
}

/* All servers but the last hang. Their delay is counted once, from the start of the session. */
TEST(servers_that_hang_are_passed_over)
{
    const uint64_t timeout = 3 * THEMIS_NS_PER_S;
    themis_status_t status = THEMIS_OK;
    themis_stat_t stat;
    char path[16];

    themis_disconnect(session);
    for (int i = 0; i + 1 < TEST_SERVERS; i++)
        test_server_signal(i, SIGSTOP);
    uint64_t start = themis_util_clock_now();
    ck_ok(test_connect(test_server_list, timeout, &session));
    ck_assert_uint_lt(themis_util_clock_now() - start, 2 * THEMIS_NS_PER_S);
    for (int i = 0; i < 50 && status != THEMIS_UNREACHABLE && status != THEMIS_TIMED_OUT; i++) {
        snprintf(path, sizeof path, "/%d", i);
        status = themis_stat(session, path, &stat);
    }
    ck_assert(status == THEMIS_UNREACHABLE || status == THEMIS_TIMED_OUT);
    ck_assert_uint_lt(themis_util_clock_now() - start, timeout + 2 * THEMIS_NS_PER_S);
    for (int i = 0; i + 1 < TEST_SERVERS; i++)
        test_server_signal(i, SIGCONT);
    /* the servers work as before */
    themis_file_t *file = open_file("/after");
    ck_ok(write_all(file));
    ck_ok(themis_close(file));
}

TEST(nobody_answers)
{
    uint64_t start = themis_util_clock_now();

    ck_assert_int_eq(test_connect("127.0.0.1:1", THEMIS_NS_PER_S, &session), THEMIS_UNREACHABLE);
    ck_assert_uint_lt(themis_util_clock_now() - start, 4 * THEMIS_NS_PER_S);
    ck_assert_ptr_nonnull(strstr(themis_last_error(), "127.0.0.1:1"));
    ck_assert_int_eq(test_connect("no-port", THEMIS_NS_PER_S, &session), THEMIS_CONFIG);
    ck_assert_int_eq(test_connect("host:99999", THEMIS_NS_PER_S, &session), THEMIS_CONFIG);
    ck_assert_int_eq(test_connect(",", THEMIS_NS_PER_S, &session), THEMIS_CONFIG);
}

int main(void)
{
    Suite *suite = suite_create("client faults");

    if (access("server/themisd", X_OK) != 0) {
        fputs("server/themisd is not built\n", stderr);
        return 77;
    }
    test_case(suite, "all", 60, start_servers, stop_servers,
              TESTS({a_server_that_is_gone_is_named_in_time, 1}, {a_server_that_pauses_is_waited_for, 1},
                    {a_server_that_hangs_is_given_up, 1}, {requests_under_way_are_bounded, 1},
                    {bytes_under_way_are_bounded, 1}, {sync_reaches_the_homes_of_the_names, 1},
                    {heartbeats_come_only_where_nothing_else_does, 1}, {a_list_in_another_order_is_refused, 1},
                    {nobody_answers, 1}, {servers_that_hang_are_passed_over, 1}));
    test_case(suite, "posix", 60, start_posix_servers, stop_posix_servers,
              TESTS({requests_wait_for_a_server_that_comes_back, 1}));
    return test_run(suite);
}
