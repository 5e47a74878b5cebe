/* SPDX-License-Identifier: BSD-3-Clause */
/* The server as a whole, over the network: clients that flood it, or stall in the middle of a transfer, and what other
 * clients notice of them. */
#define _GNU_SOURCE
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test/lib/run.h"
#include "test/server/engine_rig.h"
#include "util/clock.h"

static themis_server_t *server;

/* Sends a message repeatedly, without waiting for replies, until the connection is closed or `until` has passed. */
static void flood(rig_client_t *client, themis_proto_opcode_t opcode, const void *body, uint64_t until)
{
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = (uint16_t)opcode, .id = 1000000};
    uint8_t bytes[1024];
    size_t length;

    ck_assert_int_eq(themis_proto_encode(&header, body, bytes, sizeof bytes, &length), THEMIS_OK);
    while (!client->closed && themis_util_clock_now() < until) {
        for (int i = 0; i < 50; i++)
            themis_net_send(client->conn, bytes, length);
        themis_net_progress(client->net, 0);
    }
}

/* Endless heartbeats, one request repeated, requests without a session. */
TEST(too_many_discarded_messages_close_the_connection)
{
    themis_proto_none_t none = {0};
    themis_proto_counter_t add = {.object = 5, .action = THEMIS_PROTO_COUNTER_ADD, .value = 1};
    themis_proto_lookup_t path = {rig_text("/")};
    const struct {
        themis_proto_opcode_t opcode;
        const void *body;
        uint64_t session;
    } floods[] = {{THEMIS_OP_HEARTBEAT, &none, 7}, {THEMIS_OP_COUNTER, &add, 7}, {THEMIS_OP_LOOKUP, &path, 0}};

    server = rig_server_start(NULL);
    rig_client_t *client = rig_client_open(server, floods[_i].session, "job"), *other = rig_client_open(server, 8, "b");
    flood(client, floods[_i].opcode, floods[_i].body, themis_util_clock_now() + 20 * THEMIS_NS_PER_S);
    ck_assert_int_eq(client->closed, 1);
    ck_assert_int_eq(rig_call(other, THEMIS_OP_LOOKUP, &path), THEMIS_OK);
    rig_client_close(client, 0);
    rig_client_close(other, 1);
    rig_server_stop(server);
}

static void limited_store(themis_server_config_t *config)
{
    config->store_bandwidth = 40 << 20;
    config->workers = 2;
    config->drain = 200 * THEMIS_NS_PER_MS;
}

static void short_stall(themis_server_config_t *config)
{
    limited_store(config);
    config->stall_limit = 400 * THEMIS_NS_PER_MS;
}

/* The number of stalled slices; *none: there are none, and all that they used was given back. */
static uint32_t stalled_count(int *none)
{
    pthread_mutex_lock(&server->lock);
    uint32_t count = server->slices.stalled_count;
    *none = count == 0 && server->slices.extra_count == 0 && server->slices.windows_made == server->slices.limit;
    pthread_mutex_unlock(&server->lock);
    return count;
}

enum { STALLED = 6, STALLED_DEPTH = 8 };

typedef struct stalled {
    rig_client_t *client;
    uint64_t object;
    uint8_t *bytes;
    themis_net_exposed_t *exposed;
    uint32_t replies;
} stalled_t;

/* Clients of one job send many requests, each to its own file, and then do not progress their transfers. */
static void stall(stalled_t clients[STALLED])
{
    for (unsigned i = 0; i < STALLED; i++) {
        stalled_t *each = &clients[i];
        char path[16];
        snprintf(path, sizeof path, "/s%u", i);
        each->client = rig_client_open_far(server, 500 + i, "stalled");
        each->bytes = malloc(RIG_MIB);
        rig_fill(each->bytes, RIG_MIB, 90 + i);
        ck_assert_int_eq(rig_create(each->client, path, 0, &each->object), THEMIS_OK);
    }
    for (unsigned i = 0; i < STALLED; i++) {
        stalled_t *each = &clients[i];
        themis_proto_run_t run = {0, RIG_MIB, RIG_MIB, 1};
        themis_proto_io_t io = {.object = each->object, .runs = 1, .run_bytes = (const uint8_t *)&run};
        each->exposed = rig_expose(each->client, each->bytes, RIG_MIB, 0, &io);
        each->replies = each->client->replies + STALLED_DEPTH;
        for (int k = 0; k < STALLED_DEPTH; k++)
            rig_send(each->client, THEMIS_OP_WRITE, &io);
    }
}

static void end_stall(stalled_t clients[STALLED])
{
    for (unsigned i = 0; i < STALLED; i++) {
        themis_net_unexpose(clients[i].exposed);
        rig_client_close(clients[i].client, 0);
        free(clients[i].bytes);
    }
}

static double seconds_of_writes(rig_client_t *client, uint64_t object, const void *bytes, int count)
{
    uint64_t began = themis_util_clock_now();

    for (int i = 0; i < count; i++)
        ck_assert_int_eq(rig_write(client, object, 0, bytes, RIG_MIB), THEMIS_OK);
    return (double)(themis_util_clock_now() - began) * 1e-9;
}

enum { FLOOD_OFF, FLOOD_CPU, FLOOD_SERVER };
static atomic_int flooding;

/* Repeatedly, since a server closes the connection of a client that floods it. FLOOD_CPU: uses a processor, too, but
 * sends nothing. */
static void *flood_main(void *arg)
{
    themis_proto_none_t none = {0};
    uint64_t number = 900;

    while (flooding == FLOOD_CPU)
        ;
    while (flooding) {
        rig_client_t *client = rig_client_open(server, number++, "flood");
        flood(client, THEMIS_OP_HEARTBEAT, &none, themis_util_clock_now() + 200 * THEMIS_NS_PER_MS);
        rig_client_close(client, 0);
    }
    return NULL;
}

TEST(a_flood_does_not_slow_others)
{
    uint8_t *bytes = calloc(1, RIG_MIB);
    double alone = 0, beside = 0;
    pthread_t thread;
    uint64_t object;

    server = rig_server_start(limited_store);
    rig_client_t *client = rig_client_open(server, 7, "job");
    ck_assert_int_eq(rig_create(client, "/b", 0, &object), THEMIS_OK);
    for (int i = 0; i < 5 && (beside == 0 || beside > alone / 0.9); i++) {
        flooding = FLOOD_CPU;
        ck_assert_int_eq(pthread_create(&thread, NULL, flood_main, NULL), 0);
        alone = seconds_of_writes(client, object, bytes, 40);
        flooding = FLOOD_SERVER;
        usleep(100000);
        beside = seconds_of_writes(client, object, bytes, 40);
        ck_assert(!rig_is_in_tree(server, "flood"));
        flooding = FLOOD_OFF;
        pthread_join(thread, NULL);
    }
    ck_assert_msg(beside < alone / 0.9, "%.3f s beside a flood, %.3f s alone", beside, alone);
    rig_client_close(client, 1);
    rig_server_stop(server);
    free(bytes);
}

/* Clients of one job stop in the middle of their transfers: another job keeps its rate. Then they continue. */
TEST(stalled_clients_do_not_slow_others)
{
    uint8_t *bytes = calloc(1, RIG_MIB), *seen = malloc(RIG_MIB);
    stalled_t stalled[STALLED];
    double alone = 0, beside = 0;
    uint64_t object;
    int none;

    server = rig_server_start(limited_store);
    rig_client_t *client = rig_client_open(server, 7, "job");
    ck_assert_int_eq(rig_create(client, "/b", 0, &object), THEMIS_OK);
    alone = seconds_of_writes(client, object, bytes, 40);
    stall(stalled);
    beside = seconds_of_writes(client, object, bytes, 20);
    /* before they are known to stall they take four slices and one for each other client, 100 ms in all */
    ck_assert_msg(beside < alone / 2 + 2, "%.3f s at the beginning, %.3f s alone", beside, alone / 2);
    sleep(1);
    for (int i = 0; i < 3 && (beside == 0 || beside > alone / 0.95); i++)
        beside = seconds_of_writes(client, object, bytes, 40);
    ck_assert_msg(beside < alone / 0.95, "%.3f s beside stalled clients, %.3f s alone", beside, alone);
    ck_assert_uint_gt(stalled_count(&none), 0);
    for (unsigned i = 0; i < STALLED; i++)
        while (stalled[i].client->replies < stalled[i].replies)
            for (unsigned k = 0; k < STALLED; k++)
                themis_net_progress(stalled[k].client->net, THEMIS_NS_PER_MS);
    for (unsigned i = 0; i < STALLED; i++) {
        ck_assert_int_eq(rig_read(client, stalled[i].object, 0, seen, RIG_MIB), THEMIS_OK);
        ck_assert_mem_eq(seen, stalled[i].bytes, RIG_MIB);
    }
    ck_assert_uint_eq(stalled_count(&none), 0);
    ck_assert_int_eq(none, 1);
    end_stall(stalled);
    rig_client_close(client, 1);
    rig_server_stop(server);
    free(bytes);
    free(seen);
}

static void two_workers(themis_server_config_t *config)
{
    config->workers = 2;
    config->drain = 200 * THEMIS_NS_PER_MS;
}

/* The number of lookups within 80 ms while all slices are of stalled clients. */
static int lookups_beside_stall(void)
{
    themis_proto_lookup_t path = {rig_text("/")};
    stalled_t stalled[STALLED];
    uint32_t slices = 0;
    int count = 0;

    server = rig_server_start(two_workers);
    rig_client_t *client = rig_client_open(server, 7, "job");
    stall(stalled);
    uint64_t end = themis_util_clock_now() + 80 * THEMIS_NS_PER_MS;
    while (slices < server->slices.limit && themis_util_clock_now() < end) {
        pthread_mutex_lock(&server->lock);
        slices = server->slices.counted;
        pthread_mutex_unlock(&server->lock);
    }
    while (themis_util_clock_now() < end) {
        ck_assert_int_eq(rig_call(client, THEMIS_OP_LOOKUP, &path), THEMIS_OK);
        count += themis_util_clock_now() < end;
    }
    end_stall(stalled);
    rig_client_close(client, 1);
    rig_server_stop(server);
    return count;
}

/* A stalled slice is known after 100 ms; until then metadata operations do not wait for it. */
TEST(metadata_does_not_wait_for_stalled_clients)
{
    int count = 0;

    for (int i = 0; i < 5 && count < 5; i++)
        count = lookups_beside_stall();
    ck_assert_int_ge(count, 5);
}

/* Sends a READ or WRITE without runs, which the encoder refuses. */
static uint64_t send_without_runs(rig_client_t *client, themis_proto_opcode_t opcode)
{
    enum { COUNT_AT = THEMIS_PROTO_HEADER_BYTES + 8 + THEMIS_PROTO_DESCRIPTOR_BYTES, LENGTH = COUNT_AT + 4 };
    themis_proto_run_t run = {0, 1, 1, 1};
    themis_proto_io_t io = {.object = 1, .runs = 1, .run_bytes = (const uint8_t *)&run};
    themis_proto_header_t header = {.version = THEMIS_PROTO_VERSION,
                                    .kind = THEMIS_PROTO_REQUEST,
                                    .opcode = (uint16_t)opcode,
                                    .id = client->next_id++};
    uint8_t bytes[256];
    size_t length;

    ck_assert_int_eq(themis_proto_encode(&header, &io, bytes, sizeof bytes, &length), THEMIS_OK);
    memset(bytes + COUNT_AT, 0, 4);
    bytes[12] = LENGTH - THEMIS_PROTO_HEADER_BYTES; /* of the body, below 256 */
    ck_assert_int_eq(themis_net_send(client->conn, bytes, LENGTH), THEMIS_OK);
    return header.id;
}

/* It would take a window for nothing, and there is none while all slices are under way. */
TEST(a_list_without_runs_is_refused)
{
    themis_proto_lookup_t path = {rig_text("/")};
    stalled_t stalled[STALLED];

    server = rig_server_start(two_workers);
    rig_client_t *client = rig_client_open(server, 7, "job");
    stall(stalled);
    for (int i = 0; i < 20; i++) {
        themis_proto_opcode_t opcode = i % 2 ? THEMIS_OP_READ : THEMIS_OP_WRITE;
        ck_assert_int_eq(rig_wait(client, send_without_runs(client, opcode), 20000), THEMIS_PROTOCOL);
        usleep(10000);
    }
    ck_assert_int_eq(rig_call(client, THEMIS_OP_LOOKUP, &path), THEMIS_OK);
    end_stall(stalled);
    rig_client_close(client, 1);
    rig_server_stop(server);
}

/* Clients that never move again lose their connections, and their resources are given back. */
TEST(a_client_that_stalls_too_long_is_disconnected)
{
    stalled_t stalled[STALLED];
    uint32_t left = 1;
    int none;

    server = rig_server_start(short_stall);
    stall(stalled);
    for (int i = 0; i < 400 && left; i++) {
        usleep(50000);
        pthread_mutex_lock(&server->lock);
        left = server->slices.in_service + (uint32_t)themis_sched_queued(server->sched);
        pthread_mutex_unlock(&server->lock);
    }
    ck_assert_uint_eq(left, 0);
    stalled_count(&none);
    ck_assert_int_eq(none, 1);
    for (unsigned i = 0; i < STALLED; i++)
        ck_assert_int_eq(rig_wait(stalled[i].client, 0, 20000), THEMIS_DISCONNECTED);
    end_stall(stalled);
    rig_client_t *again = rig_client_open(server, 500, "stalled");
    rig_client_close(again, 1);
    rig_server_stop(server);
}

TEST(stalled_clients_do_not_keep_a_server_from_stopping)
{
    stalled_t stalled[STALLED];

    server = rig_server_start(limited_store);
    stall(stalled);
    usleep(300000);
    uint64_t began = themis_util_clock_now();
    rig_server_stop(server);
    ck_assert_uint_lt(themis_util_clock_now() - began, 5 * THEMIS_NS_PER_S);
    end_stall(stalled);
}
int main(void)
{
    Suite *suite = suite_create("floods");

    test_case(suite, "floods", 60, NULL, NULL,
              TESTS({too_many_discarded_messages_close_the_connection, 3}, {a_flood_does_not_slow_others, 1}));
    test_case(suite, "stalls", 60, NULL, NULL,
              TESTS({stalled_clients_do_not_slow_others, 1}, {metadata_does_not_wait_for_stalled_clients, 1},
                    {a_list_without_runs_is_refused, 1}, {a_client_that_stalls_too_long_is_disconnected, 1},
                    {stalled_clients_do_not_keep_a_server_from_stopping, 1}));
    return test_run(suite);
}
