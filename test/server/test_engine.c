/* SPDX-License-Identifier: BSD-3-Clause */
/* The server as a whole, over the network: what it does for its clients. */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/server/engine_rig.h"
#include "util/clock.h"

static themis_server_t *server;

static void posix_config(themis_server_config_t *config)
{
    test_scratch_make();
    strcpy(config->store, "posix");
    strcpy(config->directory, test_scratch);
    snprintf(config->state, sizeof config->state, "%s/state", test_scratch);
}

static void start(int posix)
{
    server = rig_server_start(posix ? posix_config : NULL);
}

static void stop(int posix)
{
    rig_server_stop(server);
    if (posix)
        test_scratch_remove();
}

TEST(bytes_are_written_and_read_back)
{
    uint8_t *out = malloc(5 * RIG_MIB), *in = calloc(1, 5 * RIG_MIB);
    uint64_t object;

    start(_i);
    rig_client_t *client = rig_client_open(server, 11, "job");
    rig_fill(out, 5 * RIG_MIB, 1);
    ck_assert_int_eq(rig_create(client, "/f", 0, &object), THEMIS_OK);
    ck_assert_int_eq(rig_write(client, object, 3, out, 5 * RIG_MIB), THEMIS_OK);
    ck_assert_uint_eq(client->body.io_done.bytes, 5 * RIG_MIB);
    ck_assert_uint_eq(client->body.io_done.end, 5 * RIG_MIB + 3);
    ck_assert_int_eq(rig_read(client, object, 3, in, 5 * RIG_MIB), THEMIS_OK);
    ck_assert_uint_eq(client->body.io_done.bytes, 5 * RIG_MIB);
    ck_assert_mem_eq(in, out, 5 * RIG_MIB);
    ck_assert_int_eq(rig_read(client, object, 0, in, 3), THEMIS_OK);
    ck_assert_mem_eq(in, "\0\0\0", 3);
    themis_proto_object_t which = {object};
    ck_assert_int_eq(rig_call(client, THEMIS_OP_SIZE, &which), THEMIS_OK);
    ck_assert_uint_eq(client->body.size.end, 5 * RIG_MIB + 3);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_SYNC, &which), THEMIS_OK);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_DESTROY, &which), THEMIS_OK);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_SIZE, &which), THEMIS_OK);
    ck_assert_uint_eq(client->body.size.end, 0);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_SYNC, &which), THEMIS_OK);
    rig_client_close(client, 1);
    stop(_i);
    free(out);
    free(in);
}

TEST(vectors_are_scattered_and_gathered)
{
    enum { PIECES = 5000, PIECE = 64, STRIDE = 200 };
    themis_proto_run_t run = {.offset = 10, .length = PIECE, .stride = STRIDE, .count = PIECES};
    uint8_t *out = malloc(PIECES * PIECE), *in = calloc(1, PIECES * PIECE), *flat = malloc(PIECES * STRIDE);
    uint64_t object;

    start(_i);
    rig_client_t *client = rig_client_open(server, 11, "job");
    rig_fill(out, PIECES * PIECE, 2);
    ck_assert_int_eq(rig_create(client, "/v", 0, &object), THEMIS_OK);
    ck_assert_int_eq(rig_io(client, THEMIS_OP_WRITE, object, &run, 1, out, PIECES * PIECE), THEMIS_OK);
    ck_assert_int_eq(rig_io(client, THEMIS_OP_READ, object, &run, 1, in, PIECES * PIECE), THEMIS_OK);
    ck_assert_mem_eq(in, out, PIECES * PIECE);
    ck_assert_int_eq(rig_read(client, object, 10, flat, (PIECES - 1) * STRIDE + PIECE), THEMIS_OK);
    for (int i = 0; i < PIECES; i++)
        ck_assert_mem_eq(flat + i * STRIDE, out + i * PIECE, PIECE);
    rig_client_close(client, 1);
    stop(_i);
    free(out);
    free(in);
    free(flat);
}

TEST(a_read_ends_at_the_end)
{
    themis_proto_run_t runs[] = {{90, 20, 20, 1}, {200, 10, 10, 1}, {0, 10, 10, 1}};
    uint8_t bytes[100], in[40];
    uint64_t object;

    start(_i);
    rig_client_t *client = rig_client_open(server, 11, "job");
    rig_fill(bytes, sizeof bytes, 3);
    ck_assert_int_eq(rig_create(client, "/e", 0, &object), THEMIS_OK);
    ck_assert_int_eq(rig_read(client, object, 0, in, sizeof in), THEMIS_OK);
    ck_assert_uint_eq(client->body.io_done.bytes, 0);
    ck_assert_int_eq(rig_write(client, object, 0, bytes, sizeof bytes), THEMIS_OK);
    memset(in, 'x', sizeof in);
    ck_assert_int_eq(rig_io(client, THEMIS_OP_READ, object, runs, 3, in, 40), THEMIS_OK);
    ck_assert_uint_eq(client->body.io_done.bytes, 20);
    ck_assert_uint_eq(client->body.io_done.end, 100);
    ck_assert_mem_eq(in, bytes + 90, 10);
    ck_assert_mem_eq(in + 10, "xxxxxxxxxxxxxxxxxxxx", 20);
    ck_assert_mem_eq(in + 30, bytes, 10);
    rig_client_close(client, 1);
    stop(_i);
}

/* The reply was lost with the connection; the client sends the request again by a new one. */
TEST(a_repeated_request_is_done_once)
{
    themis_proto_create_t create = {.path = rig_text("/once"),
                                    .flags = THEMIS_PROTO_CREATE_EXCLUSIVE,
                                    .attr = {.type = THEMIS_PROTO_FILE, .layout = {.first = UINT32_MAX}}};
    themis_proto_counter_t add = {.object = 5, .action = THEMIS_PROTO_COUNTER_ADD, .value = 7};

    start(0);
    rig_client_t *client = rig_client_open(server, 77, "job");
    uint64_t id = rig_send(client, THEMIS_OP_CREATE, &create);
    ck_assert_int_eq(rig_wait(client, id, 5000), THEMIS_OK);
    uint64_t object = client->body.attr.id, count = rig_send(client, THEMIS_OP_COUNTER, &add);
    ck_assert_int_eq(rig_wait(client, count, 5000), THEMIS_OK);
    rig_client_close(client, 0);

    client = rig_client_open(server, 77, "job");
    rig_send_as(client, THEMIS_OP_CREATE, &create, id);
    ck_assert_int_eq(rig_wait(client, id, 5000), THEMIS_OK);
    ck_assert_uint_eq(client->body.attr.id, object);
    ck_assert_uint_eq(client->body.attr.fresh, 1);
    rig_send_as(client, THEMIS_OP_COUNTER, &add, count);
    ck_assert_int_eq(rig_wait(client, count, 5000), THEMIS_OK);
    ck_assert_int_eq(client->body.counted.value, 0);
    client->next_id = 1000;
    ck_assert_int_eq(rig_call(client, THEMIS_OP_COUNTER, &add), THEMIS_OK);
    ck_assert_int_eq(client->body.counted.value, 7);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_CREATE, &create), THEMIS_EXISTS);
    rig_client_close(client, 1);
    stop(0);
}

static void short_lease(themis_server_config_t *config)
{
    config->lease = 300 * THEMIS_NS_PER_MS;
}

TEST(locks_wait_and_end_with_goodbye_or_lease)
{
    themis_proto_lock_t lock = {.object = 9, .length = 100, .exclusive = 1, .wait = 1};

    server = rig_server_start(short_lease);
    rig_client_t *a = rig_client_open(server, 1, "a"), *b = rig_client_open(server, 2, "b");
    ck_assert_int_eq(rig_call(a, THEMIS_OP_LOCK, &lock), THEMIS_OK);
    uint64_t waits = rig_send(b, THEMIS_OP_LOCK, &lock);
    ck_assert_int_eq(rig_wait(b, waits, 100), THEMIS_TIMED_OUT);
    ck_assert_int_eq(rig_call(a, THEMIS_OP_UNLOCK, &lock), THEMIS_OK);
    ck_assert_int_eq(rig_wait(b, waits, 5000), THEMIS_OK);
    lock.wait = 0;
    ck_assert_int_eq(rig_call(a, THEMIS_OP_LOCK, &lock), THEMIS_LOCKED);
    lock.wait = 1;
    waits = rig_send(a, THEMIS_OP_LOCK, &lock);
    rig_client_close(b, 1);
    ck_assert_int_eq(rig_wait(a, waits, 5000), THEMIS_OK);
    b = rig_client_open(server, 3, "b");
    waits = rig_send(b, THEMIS_OP_LOCK, &lock);
    rig_client_close(a, 0);
    ck_assert_int_eq(rig_wait(b, waits, 10000), THEMIS_OK);
    rig_client_close(b, 1);
    rig_server_stop(server);
}

static themis_status_t write_under(rig_client_t *client, uint64_t object, uint8_t *bytes, size_t length, uint64_t epoch)
{
    themis_proto_run_t run = {0, length, 0, 1};
    themis_proto_io_t io = {.object = object, .epoch = epoch, .runs = 1, .run_bytes = (const uint8_t *)&run};
    themis_net_exposed_t *exposed = rig_expose(client, bytes, length, 0, &io);
    themis_status_t status = rig_call(client, THEMIS_OP_WRITE, &io);

    themis_net_unexpose(exposed);
    return status;
}

/* What was written under a lock that was lost is refused, also when the client has come back. */
TEST(a_lost_lock_protects_no_write)
{
    themis_proto_lock_t lock = {.length = 100, .exclusive = 1, .wait = 1}, other = {.offset = 1000, .length = 100};
    uint8_t old[100] = {1}, new[100] = {2}, seen[100];

    server = rig_server_start(short_lease);
    rig_client_t *lost = rig_client_open(server, 71, "lost"), *next = rig_client_open(server, 72, "next");
    ck_assert_int_eq(rig_create(next, "/f", 0, &lock.object), THEMIS_OK);
    other.object = lock.object;
    ck_assert_int_eq(rig_call(lost, THEMIS_OP_LOCK, &lock), THEMIS_OK);
    uint64_t before = lost->body.granted.epoch;
    ck_assert_int_eq(rig_call(next, THEMIS_OP_LOCK, &other), THEMIS_OK);
    ck_assert_uint_eq(next->body.granted.epoch, before);
    ck_assert_int_eq(write_under(lost, lock.object, old, sizeof old, before), THEMIS_OK);
    rig_client_close(lost, 0);
    ck_assert_int_eq(rig_wait(next, rig_send(next, THEMIS_OP_LOCK, &lock), 10000), THEMIS_OK);
    uint64_t after = next->body.granted.epoch;
    ck_assert_uint_gt(after, before);
    lost = rig_client_open(server, 71, "lost");
    ck_assert_int_eq(write_under(lost, lock.object, old, sizeof old, before), THEMIS_LOCKED);
    ck_assert_int_eq(write_under(next, lock.object, new, sizeof new, before), THEMIS_LOCKED);
    lock.length = 0; /* asks for the epoch */
    ck_assert_int_eq(rig_call(next, THEMIS_OP_LOCK, &lock), THEMIS_OK);
    ck_assert_uint_eq(next->body.granted.epoch, after);
    ck_assert_int_eq(write_under(next, lock.object, new, sizeof new, after), THEMIS_OK);
    ck_assert_int_eq(rig_read(next, lock.object, 0, seen, sizeof seen), THEMIS_OK);
    ck_assert_mem_eq(seen, new, sizeof new);
    rig_client_close(lost, 1);
    rig_client_close(next, 1);
    rig_server_stop(server);
}

static void short_lock_wait(themis_server_config_t *config)
{
    config->lock_wait = 300 * THEMIS_NS_PER_MS;
}

/* As in a circle over two servers, of which each sees a lock that is not released. */
TEST(a_wait_for_a_lock_that_is_not_released_ends)
{
    themis_proto_lock_t lock = {.object = 9, .length = 100, .exclusive = 1, .wait = 1};

    server = rig_server_start(short_lock_wait);
    rig_client_t *a = rig_client_open(server, 1, "a"), *b = rig_client_open(server, 2, "b");
    ck_assert_int_eq(rig_call(a, THEMIS_OP_LOCK, &lock), THEMIS_OK);
    ck_assert_int_eq(rig_wait(b, rig_send(b, THEMIS_OP_LOCK, &lock), 10000), THEMIS_LOCKED);
    ck_assert_int_eq(rig_call(a, THEMIS_OP_UNLOCK, &lock), THEMIS_OK);
    ck_assert_int_eq(rig_call(b, THEMIS_OP_LOCK, &lock), THEMIS_OK);
    rig_client_close(a, 1);
    rig_client_close(b, 1);
    rig_server_stop(server);
}

TEST(a_counter_ends_with_its_object)
{
    themis_proto_counter_t counter = {.action = THEMIS_PROTO_COUNTER_SET, .value = 5};
    themis_proto_object_t object = {0};

    start(0);
    rig_client_t *client = rig_client_open(server, 1, "a");
    ck_assert_int_eq(rig_create(client, "/f", 0, &object.object), THEMIS_OK);
    counter.object = object.object;
    ck_assert_int_eq(rig_call(client, THEMIS_OP_COUNTER, &counter), THEMIS_OK);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_DESTROY, &object), THEMIS_OK);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_COUNTER, &counter), THEMIS_STALE);
    ck_assert_uint_eq(themis_server_counters_count(server->counters), 0);
    rig_client_close(client, 1);
    stop(0);
}

/* The welcome shows a client whether its session is still the same. */
TEST(a_session_whose_lease_ended_is_a_new_one)
{
    server = rig_server_start(short_lease);
    rig_client_t *client = rig_client_open(server, 41, "job"), *again = rig_client_open(server, 41, "job");
    uint64_t first = client->body.welcome.incarnation;
    ck_assert_uint_eq(again->body.welcome.incarnation, first);
    rig_client_close(again, 0);
    rig_client_close(client, 0);
    sleep(2);
    client = rig_client_open(server, 41, "job");
    ck_assert_uint_ne(client->body.welcome.incarnation, first);
    rig_client_close(client, 1);
    rig_server_stop(server);
}

/* Requests for an object that was removed are refused, and take no space. */
TEST(a_removed_object_is_not_recreated)
{
    uint64_t object, other;
    themis_store_usage_t usage;
    uint8_t bytes[5000] = {1};

    start(_i);
    rig_client_t *client = rig_client_open(server, 11, "job");
    ck_assert_int_eq(rig_create(client, "/d", 0, &object), THEMIS_OK);
    ck_assert_int_eq(rig_create(client, "/e", 0, &other), THEMIS_OK);
    ck_assert_int_eq(rig_write(client, object, 0, bytes, sizeof bytes), THEMIS_OK);
    themis_proto_object_t which = {object};
    themis_proto_resize_t resize = {.object = object, .size = 10000};
    themis_proto_range_t range = {.object = object, .offset = 0, .length = 10000};
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(rig_call(client, THEMIS_OP_DESTROY, &which), THEMIS_OK);
    ck_assert_int_eq(rig_write(client, object, 0, bytes, sizeof bytes), THEMIS_STALE);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_TRUNCATE, &resize), THEMIS_STALE);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_ALLOCATE, &range), THEMIS_STALE);
    ck_assert_int_eq(rig_read(client, object, 0, bytes, sizeof bytes), THEMIS_STALE);
    ck_assert_int_eq(themis_store_usage(server->store, &usage), THEMIS_OK);
    if (_i == 0) /* the posix store reports the file system's */
        ck_assert_uint_eq(usage.used, 0);
    ck_assert_int_eq(rig_write(client, other, 0, bytes, sizeof bytes), THEMIS_OK);
    rig_client_close(client, 1);
    stop(_i);
}

/* Memory that cannot be read until it is filled: copying from it waits. */
static uint8_t *stuck_memory(size_t length, int *uffd)
{
    struct uffdio_api api = {.api = UFFD_API};
    uint8_t *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)memory, length}, .mode = UFFDIO_REGISTER_MODE_MISSING};

    *uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (memory == MAP_FAILED || *uffd < 0 || ioctl(*uffd, UFFDIO_API, &api) != 0 ||
        ioctl(*uffd, UFFDIO_REGISTER, &range) != 0)
        return NULL;
    return memory;
}

static void fill_stuck(int uffd, uint8_t *memory, size_t length, int value)
{
    uint8_t *bytes = malloc(length);
    struct uffdio_copy copy = {.dst = (uintptr_t)memory, .src = (uintptr_t)bytes, .len = length};

    memset(bytes, value, length);
    ck_assert_int_eq(ioctl(uffd, UFFDIO_COPY, &copy), 0);
    free(bytes);
}

/* A write is being copied when its client reconnects: requests by the new connection wait for it. Other clients are
 * served meanwhile: for a large slice another worker is woken to poll, for a small one the guarding worker does. */
TEST(a_replay_waits_for_what_is_in_service)
{
    size_t length = _i == 0 ? 256 << 10 : 16 << 10;
    uint8_t *fresh = malloc(length), *seen = malloc(length);
    themis_net_exposed_t *old_exposed, *exposed;
    uint64_t object;
    int uffd;
    uint8_t *stuck = stuck_memory(length, &uffd);

    if (!stuck)
        return; /* the kernel does not permit userfaultfd */
    start(0);
    rig_client_t *first = rig_client_open(server, 31, "job"), *other = rig_client_open(server, 32, "job");
    ck_assert_int_eq(rig_create(first, "/r", 0, &object), THEMIS_OK);
    rig_send_write(first, object, stuck, length, &old_exposed);
    for (int i = 0; i < 5000 && !rig_in_service(server); i++)
        usleep(1000);
    usleep(20000);
    ck_assert_uint_eq(rig_in_service(server), 1);
    rig_client_t *again = rig_client_open(server, 31, "job");
    memset(fresh, 2, length);
    uint64_t id = rig_send_write(again, object, fresh, length, &exposed);
    ck_assert_int_eq(rig_wait(again, id, 200), THEMIS_TIMED_OUT);
    ck_assert_int_eq(rig_read(other, object, 0, seen, length), THEMIS_OK); /* others are served */
    fill_stuck(uffd, stuck, length, 1);
    ck_assert_int_eq(rig_wait(again, id, 20000), THEMIS_OK);
    ck_assert_int_eq(rig_read(again, object, 0, seen, length), THEMIS_OK);
    ck_assert_mem_eq(seen, fresh, length);
    themis_net_unexpose(exposed);
    themis_net_unexpose(old_exposed);
    rig_client_close(first, 0);
    rig_client_close(other, 1);
    rig_client_close(again, 1);
    stop(0);
    close(uffd);
    free(fresh);
    free(seen);
}

/* A lock that waits is not in service, and requests after it are served. */
TEST(a_waiting_lock_delays_no_other_request)
{
    themis_proto_lock_t lock = {.object = 9, .length = 100, .exclusive = 1, .wait = 1};
    themis_proto_lookup_t path = {rig_text("/")};

    start(0);
    rig_client_t *holder = rig_client_open(server, 1, "a"), *waiter = rig_client_open(server, 2, "b");
    ck_assert_int_eq(rig_call(holder, THEMIS_OP_LOCK, &lock), THEMIS_OK);
    uint64_t waits = rig_send(waiter, THEMIS_OP_LOCK, &lock);
    ck_assert_int_eq(rig_call(waiter, THEMIS_OP_LOOKUP, &path), THEMIS_OK);
    for (int i = 0; i < 1000 && rig_in_service(server); i++)
        usleep(1000);
    ck_assert_uint_eq(rig_in_service(server), 0);
    ck_assert_int_eq(rig_call(holder, THEMIS_OP_UNLOCK, &lock), THEMIS_OK);
    ck_assert_int_eq(rig_wait(waiter, waits, 20000), THEMIS_OK);
    rig_client_close(holder, 1);
    rig_client_close(waiter, 1);
    stop(0);
}

static void limited_store(themis_server_config_t *config)
{
    config->store_bandwidth = 20 << 20;
}

TEST(the_device_limit_holds)
{
    uint8_t *bytes = calloc(1, 4 * RIG_MIB);
    uint64_t object;

    server = rig_server_start(limited_store);
    rig_client_t *client = rig_client_open(server, 7, "job");
    ck_assert_int_eq(rig_create(client, "/l", 0, &object), THEMIS_OK);
    uint64_t began = themis_util_clock_now();
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(rig_write(client, object, 0, bytes, 4 * RIG_MIB), THEMIS_OK);
    double seconds = (double)(themis_util_clock_now() - began) * 1e-9;
    ck_assert_msg(seconds > 0.6 && seconds < 1.6, "16 MiB at 20 MiB/s took %.3f s", seconds);
    rig_client_close(client, 1);
    rig_server_stop(server);
    free(bytes);
}

/* A client disconnects in the middle of a write, between two slices. When the object is removed, its space is free. */
TEST(a_disconnected_client_leaves_no_object_open)
{
    uint8_t *bytes = calloc(1, 16 * RIG_MIB);
    themis_net_exposed_t *exposed;
    themis_store_usage_t usage = {0};
    uint64_t object;

    server = rig_server_start(limited_store);
    rig_client_t *client = rig_client_open(server, 7, "job"), *other = rig_client_open(server, 8, "other");
    ck_assert_int_eq(rig_create(client, "/o", 0, &object), THEMIS_OK);
    rig_send_write(client, object, bytes, 16 * RIG_MIB, &exposed);
    for (int i = 0; i < 200 && usage.used == 0; i++) {
        usleep(10000);
        ck_assert_int_eq(themis_store_usage(server->store, &usage), THEMIS_OK);
    }
    ck_assert_uint_gt(usage.used, 0);
    themis_net_unexpose(exposed);
    rig_client_close(client, 0);
    usleep(500000);
    themis_proto_object_t which = {object};
    ck_assert_int_eq(rig_call(other, THEMIS_OP_DESTROY, &which), THEMIS_OK);
    for (int i = 0; i < 200 && usage.used; i++) {
        usleep(10000);
        ck_assert_int_eq(themis_store_usage(server->store, &usage), THEMIS_OK);
    }
    ck_assert_uint_eq(usage.used, 0);
    rig_client_close(other, 1);
    rig_server_stop(server);
    free(bytes);
}

TEST(a_server_without_work_uses_no_processor)
{
    struct rusage before, after;
    uint64_t object;

    start(0);
    rig_client_t *client = rig_client_open(server, 7, "job");
    ck_assert_int_eq(rig_create(client, "/i", 0, &object), THEMIS_OK);
    usleep(100000);
    getrusage(RUSAGE_SELF, &before);
    sleep(2);
    getrusage(RUSAGE_SELF, &after);
    long used =
        (after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000 +
        after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec;
    /* a loop that polls would use all of it; a busy machine makes what wakes up dearer */
    ck_assert_msg(used < 100000, "%ld us in 2 s", used);
    rig_client_close(client, 1);
    stop(0);
}

TEST(administration_answers)
{
    themis_proto_text_body_t what = {rig_text("server")}, policy = {rig_text("size-fair")};
    themis_proto_none_t none = {0};

    start(0);
    rig_client_t *client = rig_client_open(server, 7, "job");
    ck_assert_int_eq(rig_call(client, THEMIS_OP_STATUS, &what), THEMIS_OK);
    ck_assert_ptr_nonnull(
        memmem(client->body.text.text.bytes, client->body.text.text.length, "\"arena\"", strlen("\"arena\"")));
    what.text = rig_text("weather");
    ck_assert_int_eq(rig_call(client, THEMIS_OP_STATUS, &what), THEMIS_INVALID);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_POLICY, &policy), THEMIS_OK);
    policy.text = rig_text("size-unfair");
    ck_assert_int_eq(rig_call(client, THEMIS_OP_POLICY, &policy), THEMIS_PARSE);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_HEARTBEAT, &none), THEMIS_OK);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_SHUTDOWN, &none), THEMIS_OK);
    themis_server_engine_join(server);
    themis_server_destroy(server);
    rig_client_close(client, 0);
}

enum { THREADS = 4 };

typedef struct worker {
    int number, rounds;
    uint64_t shared;
} worker_t;

/* Writes its own files, and its part of a shared file. */
static void *worker_main(void *arg)
{
    worker_t *worker = arg;
    unsigned seed = (unsigned)worker->number;
    uint8_t *out = malloc(RIG_MIB), *in = malloc(RIG_MIB);
    char path[64], job[16];
    uint64_t object;

    snprintf(job, sizeof job, "job%d", worker->number % 2);
    rig_client_t *client = rig_client_open(server, 1000 + (uint64_t)worker->number, job);
    for (int round = 0; round < worker->rounds; round++) {
        size_t length = 1 + (size_t)rand_r(&seed) % (round % 5 ? 20000 : RIG_MIB);
        uint64_t offset = (uint64_t)rand_r(&seed) % 100000;
        snprintf(path, sizeof path, "/w%d.%d", worker->number, round);
        rig_fill(out, length, seed);
        ck_assert_int_eq(rig_create(client, path, THEMIS_PROTO_CREATE_EXCLUSIVE, &object), THEMIS_OK);
        ck_assert_int_eq(rig_write(client, object, offset, out, length), THEMIS_OK);
        ck_assert_int_eq(rig_read(client, object, offset, in, length), THEMIS_OK);
        ck_assert_mem_eq(in, out, length);
        length = 5000;
        offset = (uint64_t)(round * THREADS + worker->number) * length;
        ck_assert_int_eq(rig_write(client, worker->shared, offset, out, length), THEMIS_OK);
        ck_assert_int_eq(rig_read(client, worker->shared, offset, in, length), THEMIS_OK);
        ck_assert_mem_eq(in, out, length);
        themis_proto_remove_t gone = {.path = rig_text(path), .type = THEMIS_PROTO_FILE};
        ck_assert_int_eq(rig_call(client, THEMIS_OP_REMOVE, &gone), THEMIS_OK);
        themis_proto_object_t which = {object};
        ck_assert_int_eq(rig_call(client, THEMIS_OP_DESTROY, &which), THEMIS_OK);
    }
    rig_client_close(client, 1);
    free(out);
    free(in);
    return NULL;
}

TEST(many_clients_at_once)
{
    pthread_t threads[THREADS];
    worker_t workers[THREADS];
    uint64_t shared;

    start(_i);
    rig_client_t *client = rig_client_open(server, 7, "job");
    ck_assert_int_eq(rig_create(client, "/shared", 0, &shared), THEMIS_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){.number = i, .rounds = 60, .shared = shared};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, worker_main, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rig_client_close(client, 1);
    stop(_i);
}

int main(void)
{
    Suite *suite = suite_create("engine");

    test_case(suite, "both stores", 120, NULL, NULL,
              TESTS({bytes_are_written_and_read_back, 2}, {vectors_are_scattered_and_gathered, 2},
                    {a_read_ends_at_the_end, 2}, {a_removed_object_is_not_recreated, 2}, {many_clients_at_once, 2}));
    test_case(suite, "arena", 60, NULL, NULL,
              TESTS({a_repeated_request_is_done_once, 1}, {locks_wait_and_end_with_goodbye_or_lease, 1},
                    {a_lost_lock_protects_no_write, 1}, {a_waiting_lock_delays_no_other_request, 1},
                    {a_wait_for_a_lock_that_is_not_released_ends, 1}, {a_counter_ends_with_its_object, 1},
                    {a_session_whose_lease_ended_is_a_new_one, 1}, {a_replay_waits_for_what_is_in_service, 2},
                    {the_device_limit_holds, 1}, {a_disconnected_client_leaves_no_object_open, 1},
                    {a_server_without_work_uses_no_processor, 1}, {administration_answers, 1}));
    return test_run(suite);
}
