/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a server knows after it was started again over the same directories: replies that were saved, and counters. A
 * server of the rig that is stopped removes nothing, so for its successor it is as if it had been killed.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "server/durable_replies.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/server/engine_rig.h"
#include "util/clock.h"

enum { SESSION = 77, OBJECT = 1234 };
static themis_server_t *server;
static rig_client_t *client;
static uint64_t lease;

static void durable_config(themis_server_config_t *config)
{
    strcpy(config->store, "posix");
    snprintf(config->directory, sizeof config->directory, "%s/objects", test_scratch);
    snprintf(config->state, sizeof config->state, "%s/names", test_scratch);
    config->lease = lease;
    config->heartbeat = THEMIS_NS_PER_S / 10;
}

static void start(void)
{
    server = rig_server_start(durable_config);
    client = rig_client_open(server, SESSION, "job");
}

static void set_up(void)
{
    char path[300];

    lease = 60 * THEMIS_NS_PER_S;
    test_scratch_make();
    snprintf(path, sizeof path, "%s/objects", test_scratch);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    start();
}

static void stop(int goodbye)
{
    rig_client_close(client, goodbye);
    rig_server_stop(server);
}

static void tear_down(void)
{
    stop(0);
    test_scratch_remove();
}

static void restart(int goodbye)
{
    stop(goodbye);
    start();
}

static themis_status_t send_again(themis_proto_opcode_t opcode, const void *body, uint64_t id)
{
    rig_send_as(client, opcode, body, id);
    return rig_wait(client, id, 10000);
}

static const themis_proto_attr_t wanted = {.type = THEMIS_PROTO_FILE, .mode = 0644, .layout = {.first = UINT32_MAX}};

static themis_proto_create_t create_of(const char *path, uint32_t flags)
{
    return (themis_proto_create_t){.path = rig_text(path), .flags = flags, .attr = wanted};
}

static themis_proto_counter_t add_of(int64_t value)
{
    return (themis_proto_counter_t){.object = OBJECT, .action = THEMIS_PROTO_COUNTER_ADD, .value = value};
}

static int64_t counter(void)
{
    const themis_proto_counter_t get = {.object = OBJECT, .action = THEMIS_PROTO_COUNTER_GET};

    ck_assert_int_eq(rig_call(client, THEMIS_OP_COUNTER, &get), THEMIS_OK);
    return client->body.counted.value;
}

TEST(a_replay_gets_the_reply_of_the_last_process)
{
    const themis_proto_create_t create = create_of("/f", THEMIS_PROTO_CREATE_EXCLUSIVE), other = create_of("/g", 0);
    const themis_proto_remove_t remove = {rig_text("/g"), THEMIS_PROTO_FILE};
    const themis_proto_entry_t entry = {rig_text("/"), rig_text("f"), THEMIS_PROTO_FILE};
    const themis_proto_setattr_t mode = {.path = rig_text("/f"), .mask = THEMIS_PROTO_SET_MODE, .mode = 0600};
    const themis_proto_setattr_t root = {.path = rig_text("/"), .mask = THEMIS_PROTO_SET_MODE, .mode = 0711};
    const themis_proto_setxattr_t xattr = {
        .path = rig_text("/f"), .name = rig_text("user.a"), .flags = THEMIS_PROTO_XATTR_CREATE, .value = rig_text("1")};
    uint8_t bytes[2][512];
    size_t length[2];

    ck_assert_int_eq(send_again(THEMIS_OP_CREATE, &create, 100), THEMIS_OK);
    memcpy(bytes[0], client->bytes, length[0] = client->length);
    ck_assert_int_eq(send_again(THEMIS_OP_ENTRY_ADD, &entry, 101), THEMIS_OK);
    ck_assert_int_eq(send_again(THEMIS_OP_CREATE, &other, 102), THEMIS_OK);
    ck_assert_int_eq(send_again(THEMIS_OP_REMOVE, &remove, 103), THEMIS_OK);
    memcpy(bytes[1], client->bytes, length[1] = client->length);
    ck_assert_int_eq(send_again(THEMIS_OP_SETATTR, &mode, 104), THEMIS_OK);
    ck_assert_int_eq(send_again(THEMIS_OP_ENTRY_REMOVE, &entry, 105), THEMIS_OK);
    ck_assert_int_eq(send_again(THEMIS_OP_SETXATTR, &xattr, 106), THEMIS_OK);
    for (int i = 0; i < 2; i++) { /* the second time by what it has restored itself */
        restart(0);
        ck_assert_int_eq(send_again(THEMIS_OP_CREATE, &create, 100), THEMIS_OK);
        ck_assert_mem_eq(client->bytes, bytes[0], length[0]);
        ck_assert_uint_eq(client->body.attr.fresh, 1);
        ck_assert_int_eq(send_again(THEMIS_OP_REMOVE, &remove, 103), THEMIS_OK);
        ck_assert_mem_eq(client->bytes, bytes[1], length[1]);
        ck_assert_int_eq(send_again(THEMIS_OP_SETATTR, &mode, 104), THEMIS_OK);
        ck_assert_uint_eq(client->body.attr.mode, 0600);
        ck_assert_int_eq(send_again(THEMIS_OP_ENTRY_REMOVE, &entry, 105), THEMIS_OK);
        ck_assert_int_eq(send_again(THEMIS_OP_ENTRY_ADD, &entry, 101), THEMIS_OK); /* of the directory as it was */
        ck_assert_uint_eq(client->body.added.mode, 0777);
        ck_assert_int_eq(send_again(THEMIS_OP_SETXATTR, &xattr, 106), THEMIS_OK);
        ck_assert_int_eq(rig_call(client, THEMIS_OP_SETATTR, &root), THEMIS_OK);
    }
    ck_assert_int_eq(send_again(THEMIS_OP_SETXATTR, &xattr, 202), THEMIS_EXISTS);
    ck_assert_int_eq(send_again(THEMIS_OP_CREATE, &create, 200), THEMIS_EXISTS); /* no replay */
    ck_assert_int_eq(send_again(THEMIS_OP_REMOVE, &remove, 201), THEMIS_NO_ENTRY);
}

TEST(counters_outlive_the_server_and_are_added_to_once)
{
    const themis_proto_counter_t add = add_of(5), negative = add_of(-7);
    const themis_proto_object_t object = {.object = OBJECT};

    ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &add, 100), THEMIS_OK);
    ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &add, 101), THEMIS_OK);
    for (int i = 0; i < 2; i++) {
        restart(0);
        ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &add, 101), THEMIS_OK);
        ck_assert_int_eq(client->body.counted.value, 5);
        ck_assert_int_eq(counter(), 10);
    }
    ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &negative, 300), THEMIS_OK);
    restart(0);
    ck_assert_int_eq(counter(), 3);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_DESTROY, &object), THEMIS_OK);
    restart(0);
    ck_assert_int_eq(counter(), 0);
}

/* More than the ring holds, some of which are done anew: the newest are all there. */
TEST(the_ring_goes_on_where_it_was)
{
    const themis_proto_counter_t add = add_of(1);
    uint64_t id = 100, last;

    for (int i = 0; i < 3; i++) {
        for (last = id + 50; id < last; id++)
            ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &add, id), THEMIS_OK);
        restart(0);
    }
    for (uint64_t old = id - THEMIS_SERVER_SAVED_REPLIES; old < id; old++) {
        ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &add, old), THEMIS_OK);
        ck_assert_int_eq(client->body.counted.value, (int64_t)old - 100);
    }
    ck_assert_int_eq(counter(), 150);
}

TEST(replies_end_with_their_session)
{
    const themis_proto_counter_t add = add_of(1);

    ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &add, 100), THEMIS_OK);
    restart(1);
    ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &add, 100), THEMIS_OK);
    ck_assert_int_eq(client->body.counted.value, 1);
}

TEST(replies_last_for_a_lease)
{
    const themis_proto_counter_t add = add_of(1);

    ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &add, 100), THEMIS_OK);
    stop(0);
    lease = THEMIS_NS_PER_S;
    server = rig_server_start(durable_config);
    client = rig_client_open(server, SESSION + 1, "other"); /* so that there is a job, and the server looks */
    usleep(2500000);
    stop(0);
    start();
    ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &add, 100), THEMIS_OK);
    ck_assert_int_eq(client->body.counted.value, 1);
}

TEST(replies_are_for_the_same_user)
{
    const themis_proto_counter_t add = add_of(1);
    themis_server_saved_replies_t replies = {0};

    ck_assert_int_eq(send_again(THEMIS_OP_COUNTER, &add, 100), THEMIS_OK);
    stop(0);
    server = rig_server_start(durable_config);
    pthread_mutex_lock(&server->lock);
    themis_server_durable_replies_take(server->durable_replies, SESSION, geteuid() + 1, &replies);
    ck_assert_ptr_null(themis_server_saved_replies_find(&replies, 100));
    themis_server_durable_replies_take(server->durable_replies, SESSION, geteuid(), &replies);
    ck_assert_ptr_nonnull(themis_server_saved_replies_find(&replies, 100));
    pthread_mutex_unlock(&server->lock);
    themis_server_saved_replies_clear(&replies);
    client = rig_client_open(server, SESSION, "job");
}

int main(void)
{
    Suite *suite = suite_create("durable");

    test_case(suite, "all", 60, set_up, tear_down,
              TESTS({a_replay_gets_the_reply_of_the_last_process, 1},
                    {counters_outlive_the_server_and_are_added_to_once, 1}, {the_ring_goes_on_where_it_was, 1},
                    {replies_end_with_their_session, 1}, {replies_last_for_a_lease, 1},
                    {replies_are_for_the_same_user, 1}));
    return test_run(suite);
}
