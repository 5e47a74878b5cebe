/* SPDX-License-Identifier: BSD-3-Clause */
/* The server as a whole, over the network: clients that send invalid messages, hang, disappear or claim too much,
 * and what other clients notice of them. */
#define _GNU_SOURCE
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "net/core.h"
#include "test/lib/run.h"
#include "test/server/engine_rig.h"
#include "util/clock.h"

static themis_server_t *server;

TEST(invalid_messages_are_refused_and_harm_no_other_client)
{
    themis_proto_lookup_t path = {rig_text("/")};
    uint8_t bytes[256] = {0};
    unsigned seed = 5;

    server = rig_server_start(NULL);
    rig_client_t *unauthenticated = rig_client_open(server, 0, NULL), *client = rig_client_open(server, 12, "job");
    ck_assert_int_eq(rig_call(unauthenticated, THEMIS_OP_LOOKUP, &path), THEMIS_REFUSED);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_LOOKUP, &path), THEMIS_OK);
    for (int i = 0; i < 1000; i++) {
        rig_fill(bytes, sizeof bytes, seed++);
        if (i % 2)
            memcpy(bytes, client->bytes, 8); /* version, kind and opcode of a real message */
        ck_assert_int_eq(themis_net_send(unauthenticated->conn, bytes, (size_t)i % sizeof bytes), THEMIS_OK);
    }
    ck_assert_int_eq(rig_call(client, THEMIS_OP_LOOKUP, &path), THEMIS_OK);
    rig_client_close(unauthenticated, 0);
    rig_client_close(client, 1);
    rig_server_stop(server);
}

/* Another user or job cannot take a session over by its number. */
TEST(a_session_belongs_to_its_job)
{
    themis_proto_hello_t hello = {
        .session = 21, .job = rig_text("other"), .uid = getuid(), .gid = getgid(), .nodes = 1, .priority = 1};

    server = rig_server_start(NULL);
    rig_client_t *owner = rig_client_open(server, 21, "job"), *thief = rig_client_open(server, 0, NULL);
    hello.host = hello.policy = rig_text("");
    ck_assert_int_eq(rig_call(thief, THEMIS_OP_HELLO, &hello), THEMIS_REFUSED);
    rig_client_close(thief, 0);
    rig_client_close(owner, 1);
    rig_server_stop(server);
}

/* A process of the server's host has to use the local socket, since over the network it could claim any uid. */
TEST(a_process_of_this_host_has_the_uid_that_the_kernel_reports)
{
    themis_proto_hello_t hello = {.session = 31, .uid = 0, .nodes = 1, .priority = 1};
    themis_proto_text_body_t policy = {rig_text("fifo")};
    themis_proto_none_t none = {0};

    server = rig_server_start(NULL);
    themis_net_lock(server->net);
    server->net->options.emulate_hosts = 0;
    themis_net_unlock(server->net);
    rig_client_t *liar = rig_client_open_far(server, 0, NULL), *client = rig_client_open(server, 32, "job");
    hello.job = rig_text("job");
    hello.host = hello.policy = rig_text("");
    ck_assert_int_eq(rig_call(liar, THEMIS_OP_HELLO, &hello), THEMIS_REFUSED);
    ck_assert(memmem(liar->body.text.text.bytes, liar->body.text.text.length, "local socket", 12) != NULL);
    ck_assert_int_eq(rig_call(liar, THEMIS_OP_POLICY, &policy), THEMIS_REFUSED);
    ck_assert_int_eq(rig_call(liar, THEMIS_OP_SHUTDOWN, &none), THEMIS_REFUSED);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_HEARTBEAT, &none), THEMIS_OK);
    ck_assert_str_ne(themis_sched_policy(server->sched), "fifo");
    rig_client_close(liar, 0);
    rig_client_close(client, 1);
    rig_server_stop(server);
}

/* One client holds a lock, another floods the server with requests for it: as many as fit are queued and the rest is
 * refused; when the lock is released, all that were queued are answered. */
TEST(requests_of_a_session_are_bounded)
{
    themis_proto_lock_t lock = {.object = 3, .length = 100, .exclusive = 1, .wait = 1};
    themis_proto_lookup_t path = {rig_text("/")};

    server = rig_server_start(NULL);
    rig_client_t *holder = rig_client_open(server, 1, "a"), *flood = rig_client_open(server, 2, "b");
    ck_assert_int_eq(rig_call(holder, THEMIS_OP_LOCK, &lock), THEMIS_OK);
    for (int i = 0; i < THEMIS_SERVER_SESSION_REQUESTS; i++)
        rig_send(flood, THEMIS_OP_LOCK, &lock);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(rig_call(flood, THEMIS_OP_LOCK, &lock), THEMIS_BUSY);
    ck_assert_int_eq(rig_call(flood, THEMIS_OP_LOOKUP, &path), THEMIS_BUSY);
    ck_assert_int_eq(rig_call(holder, THEMIS_OP_LOOKUP, &path), THEMIS_OK); /* others are served */
    uint32_t expected = flood->replies + THEMIS_SERVER_SESSION_REQUESTS;
    ck_assert_int_eq(rig_call(holder, THEMIS_OP_UNLOCK, &lock), THEMIS_OK);
    while (flood->replies < expected)
        themis_net_progress(flood->net, THEMIS_NS_PER_S);
    flood->replied = 0;
    ck_assert_int_eq(rig_call(flood, THEMIS_OP_LOOKUP, &path), THEMIS_OK);
    rig_client_close(flood, 1);
    rig_client_close(holder, 1);
    rig_server_stop(server);
}

static void very_slow_store(themis_server_config_t *config)
{
    config->store_bandwidth = 1 << 16;
    config->drain = 100 * THEMIS_NS_PER_MS;
}

/* The same with long lists, queued after a write that keeps the store busy for a minute. */
TEST(the_bytes_of_requests_are_bounded)
{
    enum { RUNS = THEMIS_PROTO_MAX_RUNS };
    static themis_proto_run_t runs[RUNS];
    const int fit = THEMIS_SERVER_SESSION_BYTES / (int)(sizeof runs + 32 + 52);
    uint8_t *bytes = calloc(4, RIG_MIB);
    themis_net_exposed_t *exposed;
    uint64_t object, id = 0;

    server = rig_server_start(very_slow_store);
    rig_client_t *client = rig_client_open(server, 7, "job");
    ck_assert_int_eq(rig_create(client, "/l", 0, &object), THEMIS_OK);
    rig_send_write(client, object, bytes, 4 * RIG_MIB, &exposed);
    for (int i = 0; i < RUNS; i++)
        runs[i] = (themis_proto_run_t){(uint64_t)i * 10, 1, 1, 1};
    themis_proto_io_t io = {.object = object, .runs = RUNS, .run_bytes = (const uint8_t *)runs};
    themis_net_exposed_t *list = rig_expose(client, bytes, RUNS, 0, &io);
    uint32_t replies = client->replies;
    for (int i = 0; i < fit + 1; i++)
        id = rig_send(client, THEMIS_OP_WRITE, &io);
    ck_assert_int_eq(rig_wait(client, id, 20000), THEMIS_BUSY);
    ck_assert_uint_eq(client->replies, replies + 1);
    themis_net_unexpose(list);
    themis_net_unexpose(exposed);
    rig_client_close(client, 0);
    rig_server_stop(server);
    free(bytes);
}

static void slow_store(themis_server_config_t *config)
{
    config->store_bandwidth = 20 << 20;
    config->lease = 100 * THEMIS_NS_PER_MS;
}

/* Clients disconnect in the middle of their requests; the next one is served as usual. */
TEST(clients_may_disconnect_at_any_time)
{
    uint8_t *bytes = calloc(1, 4 * RIG_MIB);
    uint64_t object;

    server = rig_server_start(slow_store);
    for (int round = 0; round < 5; round++) {
        rig_client_t *client = rig_client_open(server, 100 + (uint64_t)round, "gone");
        ck_assert_int_eq(rig_create(client, "/g", 0, &object), THEMIS_OK);
        themis_proto_run_t run = {0, 4 * RIG_MIB, 4 * RIG_MIB, 1};
        themis_proto_io_t io = {.object = object, .runs = 1, .run_bytes = (const uint8_t *)&run};
        themis_net_exposed_t *exposed = rig_expose(client, bytes, 4 * RIG_MIB, 0, &io);
        for (int i = 0; i < 10; i++) { /* at once, each to its own place: no races */
            run.offset = (uint64_t)(10 * round + i) * run.length;
            rig_send(client, THEMIS_OP_WRITE, &io);
        }
        usleep(20000);
        themis_net_unexpose(exposed);
        rig_client_close(client, 0);
    }
    rig_client_t *client = rig_client_open(server, 7, "stays");
    ck_assert_int_eq(rig_write(client, object, 0, bytes, 100), THEMIS_OK);
    rig_client_close(client, 1);
    rig_server_stop(server);
    free(bytes);
}

static void impatient(themis_server_config_t *config)
{
    config->heartbeat = 100 * THEMIS_NS_PER_MS;
    config->heartbeat_limit = 2;
    config->lease = 300 * THEMIS_NS_PER_MS;
}

static void impatient_drop(themis_server_config_t *config)
{
    impatient(config);
    config->lease = 10 * THEMIS_NS_PER_S;
    config->store_bandwidth = 4 << 20;
    strcpy(config->expired, "drop");
}

static void impatient_drain(themis_server_config_t *config)
{
    impatient_drop(config);
    strcpy(config->expired, "drain");
}

static void unexpose(themis_net_exposed_t **exposed, int count)
{
    for (int i = 0; i < count; i++)
        themis_net_unexpose(exposed[i]);
}

/* A client is silent for a while with queued requests. They are served, or dropped and the client disconnected. */
TEST(requests_of_a_silent_client_are_served_or_dropped)
{
    enum { WRITES = 12 };
    uint8_t *bytes = malloc(RIG_MIB), *seen = malloc(RIG_MIB);
    themis_net_exposed_t *exposed[WRITES];
    uint64_t object, objects[WRITES], last = 0;

    server = rig_server_start(_i ? impatient_drop : impatient_drain);
    rig_client_t *client = rig_client_open(server, 61, "job");
    rig_fill(bytes, RIG_MIB, 8);
    for (int i = 0; i < WRITES; i++) {
        char path[16];
        snprintf(path, sizeof path, "/q%d", i);
        ck_assert_int_eq(rig_create(client, path, 0, &objects[i]), THEMIS_OK);
    }
    uint32_t all = client->replies + WRITES;
    for (int i = 0; i < WRITES; i++)
        last = rig_send_write(client, objects[i], bytes, RIG_MIB, &exposed[i]);
    object = objects[WRITES - 1];
    usleep(1500000);
    if (_i) {
        ck_assert_int_eq(rig_wait(client, last, 10000), THEMIS_DISCONNECTED);
        ck_assert_uint_lt(client->replies, all);
        unexpose(exposed, WRITES);
        rig_client_close(client, 0);
        client = rig_client_open(server, 61, "job");
        client->next_id = last + 1;
        ck_assert_int_eq(rig_write(client, object, 0, bytes, RIG_MIB), THEMIS_OK);
    } else {
        ck_assert_int_eq(rig_wait(client, last, 20000), THEMIS_OK);
        unexpose(exposed, WRITES);
    }
    ck_assert_int_eq(rig_read(client, object, 0, seen, RIG_MIB), THEMIS_OK);
    ck_assert_mem_eq(seen, bytes, RIG_MIB);
    rig_client_close(client, 1);
    rig_server_stop(server);
    free(bytes);
    free(seen);
}

static uint32_t job_count(void)
{
    pthread_mutex_lock(&server->lock);
    uint32_t count = themis_sched_job_table_count(server->jobs);
    pthread_mutex_unlock(&server->lock);
    return count;
}

/* It hangs with its connection open: its session ends with the lease, and its locks with it. */
TEST(a_silent_client_loses_its_locks)
{
    themis_proto_lock_t lock = {.object = 9, .length = 100, .exclusive = 1, .wait = 1};

    server = rig_server_start(impatient);
    rig_client_t *hangs = rig_client_open(server, 71, "hangs"), *waits = rig_client_open(server, 72, "waits");
    uint64_t first = hangs->body.welcome.incarnation;
    ck_assert_int_eq(rig_call(hangs, THEMIS_OP_LOCK, &lock), THEMIS_OK);
    uint64_t id = rig_send(waits, THEMIS_OP_LOCK, &lock), began = themis_util_clock_now();
    themis_status_t status = THEMIS_TIMED_OUT;
    while (status == THEMIS_TIMED_OUT && themis_util_clock_now() - began < 20 * THEMIS_NS_PER_S) {
        rig_send(waits, THEMIS_OP_HEARTBEAT, &(themis_proto_none_t){0}); /* the replies are ignored */
        status = rig_wait(waits, id, 50);
    }
    ck_assert_int_eq(status, THEMIS_OK);
    ck_assert_uint_gt(themis_util_clock_now() - began, 400 * THEMIS_NS_PER_MS);
    ck_assert_int_eq(rig_wait(hangs, 0, 10000), THEMIS_DISCONNECTED);
    rig_client_close(hangs, 0);
    rig_client_close(waits, 1);
    for (int i = 0; i < 100 && job_count(); i++)
        usleep(100000);
    ck_assert_uint_eq(job_count(), 0);
    hangs = rig_client_open(server, 71, "hangs");
    ck_assert_uint_ne(hangs->body.welcome.incarnation, first); /* so it knows that its locks are gone */
    rig_client_close(hangs, 1);
    rig_server_stop(server);
}

static void few_files(rlim_t files)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = files;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Whether the server has closed its connection; waits for so many ms. */
static int is_closed(rig_client_t *client, unsigned ms)
{
    uint64_t until = themis_util_clock_now() + ms * THEMIS_NS_PER_MS;

    while (!client->closed && themis_util_clock_now() < until)
        themis_net_progress(client->net, 10 * THEMIS_NS_PER_MS);
    return client->closed;
}

/* From this host (0) and another one (1). */
TEST(who_says_no_hello_is_disconnected)
{
    server = rig_server_start(NULL);
    rig_client_t *silent = _i ? rig_client_open_far(server, 0, NULL) : rig_client_open(server, 0, NULL);
    rig_client_t *client = rig_client_open(server, 91, "job"), *parts = rig_client_open(server, 92, "job");
    ck_assert_int_eq(rig_call(parts, THEMIS_OP_GOODBYE, &(themis_proto_none_t){0}), THEMIS_OK);
    ck_assert(!is_closed(silent, 2000));
    ck_assert(is_closed(silent, 10000));
    ck_assert(is_closed(parts, 10000));
    ck_assert(!is_closed(client, 100));
    ck_assert_int_eq(rig_call(client, THEMIS_OP_HEARTBEAT, &(themis_proto_none_t){0}), THEMIS_OK);
    rig_client_close(parts, 0);
    rig_client_close(silent, 0);
    rig_client_close(client, 1);
    rig_server_stop(server);
}

/* As many as a user may have, and more: the first ones give way at once, and who says HELLO is served. */
TEST(a_user_has_few_connections_without_a_session)
{
    enum { CONNECTIONS = 20, MORE = 4 };
    rig_client_t *silent[CONNECTIONS + MORE];

    few_files(4 * CONNECTIONS);
    server = rig_server_start(NULL);
    few_files(1024);
    for (int i = 0; i < CONNECTIONS + MORE; i++)
        silent[i] = rig_client_open(server, 0, NULL);
    rig_client_t *client = rig_client_open(server, 93, "job");
    for (int i = 0; i < MORE; i++)
        ck_assert(is_closed(silent[i], 3000));
    ck_assert(!is_closed(silent[CONNECTIONS + MORE - 1], 0));
    for (int i = 0; i < CONNECTIONS + MORE; i++)
        rig_client_close(silent[i], 0);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_HEARTBEAT, &(themis_proto_none_t){0}), THEMIS_OK);
    rig_client_close(client, 1);
    rig_server_stop(server);
}

/* A program computes for long without I/O: its job ends meanwhile, and starts again with its next request. */
TEST(a_client_may_be_idle_for_long)
{
    uint8_t bytes[1000] = {7}, seen[1000];
    uint64_t object;

    server = rig_server_start(impatient);
    rig_client_t *client = rig_client_open(server, 81, "computes");
    ck_assert_int_eq(rig_create(client, "/c", 0, &object), THEMIS_OK);
    for (int i = 0; i < 100 && job_count(); i++)
        usleep(100000);
    ck_assert_uint_eq(job_count(), 0);
    ck_assert_int_eq(rig_write(client, object, 0, bytes, sizeof bytes), THEMIS_OK);
    ck_assert_int_eq(rig_read(client, object, 0, seen, sizeof seen), THEMIS_OK);
    ck_assert_mem_eq(seen, bytes, sizeof seen);
    ck_assert_uint_eq(job_count(), 1);
    ck_assert_int_eq(client->closed, 0);
    rig_client_close(client, 1);
    rig_server_stop(server);
}

/* A copy of a job's counters. */
static themis_sched_job_t job_copy(const char *id)
{
    pthread_mutex_lock(&server->lock);
    themis_sched_job_t copy = *themis_sched_job_table_find(server->jobs, id, getuid());
    pthread_mutex_unlock(&server->lock);
    return copy;
}

TEST(claims_are_believed_up_to_a_limit)
{
    themis_proto_hello_t hello = {.session = 3,
                                  .job = rig_text("large"),
                                  .nodes = UINT32_MAX,
                                  .priority = UINT32_MAX,
                                  .host = rig_text("here"),
                                  .policy = rig_text("")};

    server = rig_server_start(NULL);
    rig_client_t *client = rig_client_open(server, 0, NULL), *modest = rig_client_open(server, 4, "modest");
    ck_assert_int_eq(rig_call(client, THEMIS_OP_HELLO, &hello), THEMIS_OK);
    themis_sched_job_t large = job_copy("large"), small = job_copy("modest");
    ck_assert_uint_eq(large.identity.nodes, 16384);
    ck_assert_uint_eq(large.identity.priority, 100);
    ck_assert_uint_eq(small.identity.nodes, 1);
    rig_client_close(client, 0);
    rig_client_close(modest, 1);
    rig_server_stop(server);
}

/* Many locks and counters are charged to the job that asks for them. */
TEST(locks_and_counters_are_charged)
{
    enum { MANY = 500 };
    themis_proto_counter_t add = {.object = 5, .action = THEMIS_PROTO_COUNTER_ADD, .value = 1};
    themis_proto_lock_t lock = {.object = 9, .length = 100, .exclusive = 1, .wait = 1};
    const struct {
        themis_proto_opcode_t opcode;
        const void *body;
        uint64_t charged;
    } storms[] = {{THEMIS_OP_COUNTER, &add, MANY},
                  {THEMIS_OP_LOCK, &lock, MANY},
                  {THEMIS_OP_UNLOCK, &lock, 0},
                  {THEMIS_OP_UNLOCK, &lock, MANY}};

    server = rig_server_start(NULL);
    rig_client_t *client = rig_client_open(server, 7, "storm");
    for (size_t i = 0; i < sizeof storms / sizeof *storms; i++) {
        themis_sched_job_t before = job_copy("storm");
        uint32_t expected = client->replies + MANY;
        for (int k = 0; k < MANY; k++)
            rig_send(client, storms[i].opcode, storms[i].body);
        while (client->replies < expected)
            themis_net_progress(client->net, THEMIS_NS_PER_S);
        client->replied = 0;
        usleep(20000); /* the last one is charged after its reply was sent */
        themis_sched_job_t after = job_copy("storm");
        ck_assert_uint_ge(after.metadata - before.metadata, storms[i].charged);
        if (storms[i].charged)
            ck_assert_uint_ge(after.cost - before.cost, MANY / 2);
    }
    rig_client_close(client, 1);
    rig_server_stop(server);
}

/* Many administrative requests, repeated HELLOs and heartbeats: all are answered, no job is charged for them, and a job
 * that sends nothing else has no share. */
TEST(control_requests_have_no_share)
{
    enum { MANY = 1000 };
    themis_proto_text_body_t what = {rig_text("server")};
    themis_proto_hello_t hello = {.session = 7,
                                  .job = rig_text("asks"),
                                  .nodes = 3,
                                  .priority = 1,
                                  .host = rig_text("here"),
                                  .policy = rig_text("")};
    themis_proto_lookup_t path = {rig_text("/")};

    server = rig_server_start(NULL);
    rig_client_t *asks = rig_client_open(server, 7, "asks"), *works = rig_client_open(server, 8, "works");
    uint32_t expected = asks->replies + 2 * MANY;
    for (int k = 0; k < MANY; k++) {
        rig_send(asks, THEMIS_OP_STATUS, &what);
        rig_send(asks, THEMIS_OP_HELLO, &hello);
    }
    while (asks->replies < expected)
        themis_net_progress(asks->net, THEMIS_NS_PER_S);
    asks->replied = 0;
    ck_assert_int_eq(rig_call(works, THEMIS_OP_LOOKUP, &path), THEMIS_OK);
    for (int k = 0; k < 10; k++)
        ck_assert_int_eq(rig_call(asks, THEMIS_OP_HEARTBEAT, &(themis_proto_none_t){0}), THEMIS_OK);
    themis_sched_job_t job = job_copy("asks");
    ck_assert_uint_eq(job.cost + job.requests, 0);
    ck_assert_uint_eq(job.identity.nodes, 3);
    ck_assert(!rig_is_in_tree(server, "asks"));
    ck_assert(rig_is_in_tree(server, "works"));
    rig_client_close(works, 1);
    rig_client_close(asks, 1);
    pthread_mutex_lock(&server->lock);
    ck_assert_uint_eq(server->control.queued, 0);
    pthread_mutex_unlock(&server->lock);
    rig_server_stop(server);
}

/* While a STATUS request hangs, HEARTBEAT and GOODBYE of other clients are answered. */
TEST(heartbeats_do_not_wait_for_administration)
{
    const themis_proto_none_t none = {0};

    server = rig_server_start(NULL);
    rig_client_t *client = rig_client_open(server, 7, "job");
    pthread_mutex_lock(&server->lock);
    server->control.serving = 1;
    pthread_mutex_unlock(&server->lock);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_HEARTBEAT, &none), THEMIS_OK);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_GOODBYE, &none), THEMIS_OK);
    pthread_mutex_lock(&server->lock);
    ck_assert_ptr_null(themis_server_sessions_find(server->sessions, 7));
    server->control.serving = 0;
    pthread_mutex_unlock(&server->lock);
    rig_client_close(client, 0);
    rig_server_stop(server);
}

int main(void)
{
    Suite *suite = suite_create("clients");

    test_case(suite, "bounds", 60, NULL, NULL,
              TESTS({invalid_messages_are_refused_and_harm_no_other_client, 1}, {a_session_belongs_to_its_job, 1},
                    {a_process_of_this_host_has_the_uid_that_the_kernel_reports, 1},
                    {requests_of_a_session_are_bounded, 1}, {the_bytes_of_requests_are_bounded, 1},
                    {clients_may_disconnect_at_any_time, 1}, {claims_are_believed_up_to_a_limit, 1}));
    test_case(suite, "charges", 60, NULL, NULL,
              TESTS({locks_and_counters_are_charged, 1}, {control_requests_have_no_share, 1},
                    {heartbeats_do_not_wait_for_administration, 1}));
    test_case(suite, "silence", 60, NULL, NULL,
              TESTS({who_says_no_hello_is_disconnected, 2}, {a_user_has_few_connections_without_a_session, 1},
                    {requests_of_a_silent_client_are_served_or_dropped, 2}, {a_silent_client_loses_its_locks, 1},
                    {a_client_may_be_idle_for_long, 1}));
    return test_run(suite);
}
