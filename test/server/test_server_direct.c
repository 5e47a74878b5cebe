/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct access as the server sees it: who gets a grant, when it is revoked, and what clients can do that do not keep
 * to the rules, stop, or die. THEMIS_DIRECT_TRIALS: clients and trials of the cases with many, for long runs.
 */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "server/beacon.h"
#include "test/lib/run.h"
#include "test/server/direct_rig.h"
#include "util/clock.h"
#include "util/config.h"

enum { OTHER_USER = 12345, UNKNOWN_USER = 65534 };

static themis_server_t *server;

static void always(themis_server_config_t *config)
{
    strcpy(config->direct, "on");
}

static void never(themis_server_config_t *config)
{
    strcpy(config->direct, "off");
}

static void limited(themis_server_config_t *config)
{
    config->store_bandwidth = UINT64_C(1) << 40;
}

static int trials(int usual)
{
    const char *text = getenv("THEMIS_DIRECT_TRIALS");

    return text ? atoi(text) : usual;
}

static uint64_t file_create(rig_direct_t *direct, const char *path)
{
    uint64_t object;

    ck_assert_int_eq(rig_create(direct->client, path, 0, &object), THEMIS_OK);
    return object;
}

static uint64_t used(void)
{
    themis_store_usage_t usage = {0};

    themis_store_usage(server->store, &usage);
    return usage.used;
}

static void truncate_to(rig_client_t *client, uint64_t object, uint64_t size)
{
    themis_proto_resize_t resize = {.object = object, .size = size};

    ck_assert_int_eq(rig_call(client, THEMIS_OP_TRUNCATE, &resize), THEMIS_OK);
}

static uint64_t size_of(rig_client_t *client, uint64_t object)
{
    themis_proto_object_t body = {object};

    ck_assert_int_eq(rig_call(client, THEMIS_OP_SIZE, &body), THEMIS_OK);
    return client->body.size.end;
}

/* --- the beacon --------------------------------------------------------------------------------------------------- */

typedef enum ending { KILLED, LEFT, DESTROYED, ENDINGS } ending_t;

static void beacon_child(int out, int in, ending_t ending)
{
    themis_server_beacon_t *beacon;
    uint64_t bytes;
    char byte;
    int fd = -1;

    if (themis_server_beacon_create(&beacon) == THEMIS_OK)
        fd = themis_server_beacon_descriptor(beacon, &bytes);
    if (write(out, &fd, sizeof fd) != sizeof fd || read(in, &byte, 1) < 0)
        _exit(1);
    if (ending == DESTROYED) {
        themis_server_beacon_destroy(beacon);
        pause();
    }
    _exit(0);
}

TEST(the_beacon_shows_the_end_of_a_process)
{
    int out[2], in[2], fd = -1;
    char path[64];

    ck_assert_int_eq(pipe(out) | pipe(in), 0);
    pid_t child = fork();
    if (child == 0)
        beacon_child(out[1], in[0], (ending_t)_i);
    ck_assert_int_eq(read(out[0], &fd, sizeof fd), sizeof fd);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)child, fd);
    fd = open(path, O_RDWR | O_CLOEXEC); /* as if it had been passed */
    ck_assert_int_ge(fd, 0);
    ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    ck_assert_int_lt(pwrite(fd, "x", 1, 0), 0);
    ck_assert_int_lt(ftruncate(fd, 0), 0);
    themis_util_direct_beacon_t *beacon = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(beacon, MAP_FAILED);
    ck_assert_uint_ne(atomic_load(&beacon->word), 0);
    ck_assert_uint_eq(atomic_load(&beacon->word) & THEMIS_UTIL_DIRECT_DEAD, 0);
    if (_i == KILLED)
        kill(child, SIGKILL);
    else
        ck_assert_int_eq(write(in[1], "", 1), 1);
    if (_i != DESTROYED)
        waitpid(child, NULL, 0);
    for (int ms = 0; ms < 5000 && !(atomic_load(&beacon->word) & THEMIS_UTIL_DIRECT_DEAD); ms++)
        usleep(1000);
    ck_assert_uint_ne(atomic_load(&beacon->word) & THEMIS_UTIL_DIRECT_DEAD, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* --- grants ------------------------------------------------------------------------------------------------------- */

TEST(bytes_are_seen_and_counted)
{
    static uint8_t bytes[RIG_MIB], back[RIG_MIB];
    const size_t length = 300000;
    themis_proto_object_t unmap = {0};

    server = rig_server_start(NULL);
    rig_direct_t *direct = rig_direct_open(server, 1, "job");
    unmap.object = file_create(direct, "/f");
    rig_fill(bytes, sizeof bytes, 1);
    rig_grant_t grant = rig_direct_await(direct, unmap.object, 0, RIG_MIB, 1);
    ck_assert_uint_eq(rig_usage(server).grants, 1);
    ck_assert(rig_direct_write(&grant, length, bytes, length));
    ck_assert_uint_eq(size_of(direct->client, unmap.object), length);
    ck_assert_int_eq(rig_read(direct->client, unmap.object, 0, back, RIG_MIB), THEMIS_OK);
    ck_assert_uint_eq(direct->client->body.io_done.bytes, length);
    ck_assert_mem_eq(back, bytes, length);
    ck_assert_int_eq(rig_write(direct->client, unmap.object, 10, "changed", 7), THEMIS_OK);
    ck_assert(rig_direct_read(&grant, back, length));
    memcpy(bytes + 10, "changed", 7);
    ck_assert_mem_eq(back, bytes, length);
    for (int ms = 0; ms < 3000 && rig_usage(server).written < length; ms++)
        usleep(1000);
    ck_assert_uint_eq(rig_usage(server).written, length);
    /* what was moved since is counted with the end of the grant */
    ck_assert(rig_direct_write(&grant, length, bytes, length));
    ck_assert_int_eq(rig_call(direct->client, THEMIS_OP_UNMAP, &unmap), THEMIS_OK);
    ck_assert_uint_eq(rig_usage(server).written, 2 * length);
    ck_assert_uint_eq(rig_usage(server).read, length);
    ck_assert_uint_eq(rig_usage(server).grants, 0);
    pthread_mutex_lock(&server->lock);
    const themis_sched_job_t *job = themis_sched_job_table_find(server->jobs, "job", getuid());
    ck_assert_uint_eq(job->bytes_written, 2 * length + 7);
    ck_assert_uint_eq(job->bytes_read, 2 * length);
    ck_assert_uint_ge(job->cost, 4 * length);
    pthread_mutex_unlock(&server->lock);
    ck_assert(!rig_direct_read(&grant, back, length));
    rig_direct_close(direct, 1);
    rig_server_stop(server);
}

/* Nobody but the object's user gets its memory, whatever is asked for or guessed. */
TEST(another_user_gets_nothing)
{
    rig_segment_t segment;

    if (geteuid() != 0) {
        puts("skipped: only root can be another user");
        return;
    }
    server = rig_server_start(always);
    rig_direct_t *owner = rig_direct_open(server, 1, "job");
    uint64_t object = file_create(owner, "/f");
    rig_grant_t grant = rig_direct_await(owner, object, 0, RIG_MIB, 1);
    ck_assert_int_eq(seteuid(_i ? UNKNOWN_USER : OTHER_USER), 0);
    rig_direct_t *other = rig_direct_open(server, 2, "job");
    ck_assert_int_eq(seteuid(0), 0);
    for (int allocate = 0; allocate < 2; allocate++) {
        rig_grant_t refused = rig_direct_map(other, object, 0, RIG_MIB, allocate);
        ck_assert_int_eq(refused.status, THEMIS_OK);
        ck_assert_uint_eq(refused.number, 0);
        ck_assert_uint_ge(refused.retry, THEMIS_NS_PER_S);
    }
    for (uint64_t serial = 1; serial < 100; serial++) {
        ck_assert_int_eq(rig_direct_segment(other, serial, &segment), THEMIS_ACCESS);
        ck_assert_int_lt(other->client->descriptor, 0);
    }
    ck_assert_int_eq(rig_direct_segment(other, UINT64_MAX, &segment), THEMIS_ACCESS);
    ck_assert_int_eq(rig_direct_segment(other, 0, &segment), THEMIS_OK); /* the beacon */
    rig_grant_t own = rig_direct_map(other, file_create(other, "/g"), 0, RIG_MIB, 1);
    ck_assert_int_eq(own.number != 0, _i == 0);
    if (own.number)
        for (int i = 0; i < owner->count; i++)
            for (int k = 0; k < other->count; k++)
                ck_assert(owner->segments[i].serial != other->segments[k].serial || owner->segments[i].serial == 0);
    ck_assert_uint_eq(atomic_load(&grant.slot->grant), grant.number);
    rig_direct_close(other, 1);
    rig_direct_close(owner, 1);
    rig_server_stop(server);
}

TEST(only_clients_on_the_servers_host_get_grants)
{
    themis_proto_segment_t beacon = {0};
    themis_proto_map_t map = {.object = 5, .length = RIG_MIB, .allocate = 1};

    server = rig_server_start(always);
    rig_client_t *far = rig_client_open_far(server, 1, "job");
    ck_assert_int_eq(rig_call(far, THEMIS_OP_MAP, &map), THEMIS_OK);
    ck_assert_uint_eq(far->body.mapped.grant, 0);
    ck_assert_uint_eq(far->body.mapped.retry, UINT64_MAX);
    ck_assert_int_eq(rig_call(far, THEMIS_OP_SEGMENT, &beacon), THEMIS_UNSUPPORTED);
    rig_client_close(far, 1);
    rig_server_stop(server);
}

TEST(where_it_is_off_nobody_gets_grants)
{
    server = rig_server_start(_i ? limited : never);
    rig_direct_t *direct = rig_direct_open(server, 1, "job");
    rig_grant_t grant = rig_direct_map(direct, file_create(direct, "/f"), 0, RIG_MIB, 1);
    ck_assert_int_eq(grant.status, THEMIS_OK);
    ck_assert_uint_eq(grant.number, 0);
    ck_assert_uint_eq(grant.retry, UINT64_MAX);
    rig_direct_close(direct, 1);
    rig_server_stop(server);
}

/* One client may have so many grants, each in a slot of its own. */
TEST(grants_of_a_client_are_bounded)
{
    rig_grant_t grants[THEMIS_UTIL_DIRECT_SLOTS];
    themis_proto_object_t unmap = {1000};

    server = rig_server_start(NULL);
    rig_direct_t *direct = rig_direct_open(server, 1, "job");
    for (uint64_t i = 0; i < THEMIS_UTIL_DIRECT_SLOTS; i++) {
        grants[i] = rig_direct_await(direct, 1000 + i, 0, 4096, 1);
        for (uint64_t k = 0; k < i; k++)
            ck_assert_ptr_ne(grants[i].slot, grants[k].slot);
    }
    rig_grant_t again = rig_direct_map(direct, 1000, 0, 4096, 1);
    ck_assert_uint_eq(again.number, grants[0].number);
    ck_assert_uint_eq(rig_direct_map(direct, 5000, 0, 4096, 1).number, 0);
    ck_assert_int_eq(rig_call(direct->client, THEMIS_OP_UNMAP, &unmap), THEMIS_OK);
    ck_assert_uint_ne(rig_direct_await(direct, 5000, 0, 4096, 1).number, 0);
    rig_direct_close(direct, 1);
    rig_await_grants(server, 0, 0);
    rig_server_stop(server);
}

/* --- revocation --------------------------------------------------------------------------------------------------- */

/* Once another job's request is answered the grants are gone, and they come back when that job is quiet. */
TEST(another_job_revokes)
{
    themis_proto_lookup_t path = {rig_text("/")};
    themis_proto_text_body_t status = {rig_text("server")};

    server = rig_server_start(NULL);
    rig_direct_t *direct = rig_direct_open(server, 1, "one"), *mate = rig_direct_open(server, 2, "one");
    rig_client_t *other = rig_client_open(server, 3, "two");
    uint64_t object = file_create(direct, "/f");
    rig_grant_t grant = rig_direct_await(direct, object, 0, RIG_MIB, 1);
    ck_assert_int_eq(rig_call(mate->client, THEMIS_OP_LOOKUP, &path), THEMIS_OK);
    ck_assert_int_eq(rig_call(other, THEMIS_OP_STATUS, &status), THEMIS_OK); /* who watches is not active */
    ck_assert_uint_eq(atomic_load(&grant.slot->grant), grant.number);
    ck_assert(rig_direct_write(&grant, 9, "some text", 9));
    uint64_t start = themis_util_clock_now();
    ck_assert_int_eq(rig_call(other, THEMIS_OP_LOOKUP, &path), THEMIS_OK);
    ck_assert_uint_eq(atomic_load(&grant.slot->grant), 0);
    rig_grant_t refused = rig_direct_map(direct, object, 0, RIG_MIB, 1);
    ck_assert_uint_eq(refused.number, 0);
    ck_assert_uint_gt(refused.retry, 0);
    ck_assert_uint_le(refused.retry, THEMIS_NS_PER_S);
    /* the job that moved bytes is active as well */
    ck_assert_uint_eq(rig_direct_map(direct, object, 0, RIG_MIB, 1).number, 0);
    rig_grant_t later = rig_direct_await(direct, object, 0, RIG_MIB, 1);
    ck_assert_uint_ge(themis_util_clock_now() - start, THEMIS_NS_PER_S * 9 / 10);
    ck_assert_uint_ne(later.number, grant.number);
    rig_client_close(other, 1);
    rig_direct_close(mate, 1);
    rig_direct_close(direct, 1);
    rig_server_stop(server);
}

/* Where the configuration grants always, jobs do not disturb each other. */
TEST(jobs_share_where_it_is_on)
{
    server = rig_server_start(always);
    rig_direct_t *a = rig_direct_open(server, 1, "one"), *b = rig_direct_open(server, 2, "two");
    rig_grant_t first = rig_direct_await(a, file_create(a, "/a"), 0, RIG_MIB, 1);
    rig_grant_t second = rig_direct_await(b, file_create(b, "/b"), 0, RIG_MIB, 1);
    ck_assert_int_eq(rig_write(b->client, 77, 0, "text", 4), THEMIS_OK);
    ck_assert(rig_direct_write(&first, 4, "text", 4));
    ck_assert(rig_direct_write(&second, 4, "text", 4));
    ck_assert_uint_eq(rig_usage(server).grants, 2);
    /* SIGHUP */
    themis_server_config_t config = server->config;
    strcpy(config.direct, "off");
    strcpy(config.log, "error");
    themis_server_reload(server, &config);
    ck_assert(!rig_direct_write(&first, 4, "text", 4));
    ck_assert(!rig_direct_write(&second, 4, "text", 4));
    rig_await_grants(server, 0, 0);
    ck_assert_uint_eq(rig_direct_map(a, 77, 0, RIG_MIB, 1).number, 0);
    rig_direct_close(b, 1);
    rig_direct_close(a, 1);
    rig_server_stop(server);
}

TEST(a_cut_object_is_not_accessed_any_more)
{
    themis_proto_object_t destroy = {0};

    server = rig_server_start(NULL);
    rig_direct_t *direct = rig_direct_open(server, 1, "job");
    destroy.object = file_create(direct, "/f");
    rig_grant_t grant = rig_direct_await(direct, destroy.object, 0, RIG_MIB, 1);
    ck_assert(rig_direct_write(&grant, 9, "some text", 9));
    truncate_to(direct->client, destroy.object, 4);
    ck_assert(!rig_direct_write(&grant, 9, "some text", 9));
    ck_assert_uint_eq(size_of(direct->client, destroy.object), 4);
    grant = rig_direct_await(direct, destroy.object, 0, RIG_MIB, 1);
    ck_assert_mem_eq(grant.memory, "some\0\0\0\0\0", 9);
    uint64_t before = used();
    ck_assert_int_eq(rig_call(direct->client, THEMIS_OP_DESTROY, &destroy), THEMIS_OK);
    ck_assert_uint_eq(atomic_load(&grant.slot->grant), 0);
    ck_assert_uint_lt(used(), before);
    ck_assert_uint_eq(rig_direct_map(direct, destroy.object, 0, RIG_MIB, 1).number, 0);
    rig_direct_close(direct, 1);
    rig_server_stop(server);
}

/* The grants of a lost connection are revoked; the client gets others when it is back. */
TEST(a_lost_connection_loses_its_grants)
{
    server = rig_server_start(NULL);
    rig_direct_t *direct = rig_direct_open(server, 1, "job");
    uint64_t object = file_create(direct, "/f");
    rig_grant_t grant = rig_direct_await(direct, object, 0, RIG_MIB, 1);
    uint64_t before = used();
    for (int i = 0; i < 80; i++) { /* more than a process may have blocks */
        rig_direct_t *back = rig_direct_open(server, 1, "job");
        if (i == 0)
            rig_await_grants(server, 0, 0);
        ck_assert_uint_eq(atomic_load(&grant.slot->grant), 0);
        rig_grant_t next = rig_direct_await(back, object, 0, RIG_MIB, 1);
        ck_assert(rig_direct_write(&next, 4, "text", 4));
        rig_direct_close(back, 0);
        rig_await_grants(server, 0, 0);
    }
    ck_assert_uint_le(used(), before);
    rig_direct_close(direct, 0);
    rig_server_stop(server);
}

TEST(a_server_that_stops_says_so)
{
    rig_segment_t beacon;

    server = rig_server_start(NULL);
    rig_direct_t *direct = rig_direct_open(server, 1, "job");
    rig_grant_t grant = rig_direct_await(direct, file_create(direct, "/f"), 0, RIG_MIB, 1);
    ck_assert_int_eq(rig_direct_segment(direct, 0, &beacon), THEMIS_OK);
    const themis_util_direct_beacon_t *page = (const void *)beacon.base;
    ck_assert_uint_eq(atomic_load(&page->word) & THEMIS_UTIL_DIRECT_DEAD, 0);
    themis_server_drain_start(server);
    ck_assert_uint_eq(atomic_load(&grant.slot->grant), 0);
    rig_server_stop(server);
    ck_assert_uint_ne(atomic_load(&page->word) & THEMIS_UTIL_DIRECT_DEAD, 0);
    rig_direct_close(direct, 0);
}

/* A job that only copies is not silent. */
static void impatient(themis_server_config_t *config)
{
    config->heartbeat = 100 * THEMIS_NS_PER_MS;
    config->heartbeat_limit = 3;
    config->lease = THEMIS_NS_PER_S / 2;
}

TEST(a_job_that_copies_is_active)
{
    server = rig_server_start(impatient);
    rig_direct_t *direct = rig_direct_open(server, 1, "job");
    rig_grant_t grant = rig_direct_await(direct, file_create(direct, "/f"), 0, RIG_MIB, 1);
    for (int i = 0; i < 250; i++) {
        ck_assert(rig_direct_write(&grant, 4, "text", 4));
        usleep(10000);
    }
    pthread_mutex_lock(&server->lock);
    const themis_sched_job_t *job = themis_sched_job_table_find(server->jobs, "job", getuid());
    ck_assert_ptr_nonnull(job);
    ck_assert(job->active && job->clients == 1);
    pthread_mutex_unlock(&server->lock);
    rig_direct_close(direct, 1);
    rig_server_stop(server);
}

/* --- clients that do not keep to the rules ------------------------------------------------------------------------ */

/* What processes share with the test; before they are forked. */
typedef struct shared {
    uint64_t object;
    _Atomic int stop;
} shared_t;
static shared_t *shared;

static void set_up(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    shared->object = 4711;
}

static void tear_down(void)
{
    munmap(shared, sizeof *shared);
}

/* Never looks at its grant again, and writes for ever. */
static void stubborn_main(const themis_server_t *of, int number, void *arg)
{
    rig_direct_t *direct = rig_direct_open(of, 100 + (uint64_t)number, "job");
    rig_grant_t grant = rig_direct_await(direct, shared->object + (uint64_t)number, 0, RIG_MIB, 1);

    atomic_store(&grant.slot->copies, 1);
    rig_crew_report();
    if (*(int *)arg)
        raise(SIGSTOP);
    for (uint64_t i = 0;; i++)
        memset(grant.memory, (int)i, grant.length < RIG_MIB ? grant.length : RIG_MIB);
}

static void pattern_make(uint64_t words[RIG_MIB / 8], uint64_t offset)
{
    for (size_t i = 0; i < RIG_MIB / 8; i++)
        words[i] = (offset + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* As much as the store takes, in an object of its own; all of it is as it was written. */
static uint64_t fill_and_check(rig_client_t *client, uint64_t object)
{
    static uint64_t words[RIG_MIB / 8], back[RIG_MIB / 8];
    uint64_t length = 0;

    pattern_make(words, 0);
    while (rig_write(client, object, length, words, RIG_MIB) == THEMIS_OK) {
        length += RIG_MIB;
        pattern_make(words, length);
    }
    for (uint64_t at = 0; at < length; at += RIG_MIB) {
        ck_assert_int_eq(rig_read(client, object, at, back, RIG_MIB), THEMIS_OK);
        pattern_make(words, at);
        ck_assert_mem_eq(back, words, RIG_MIB);
    }
    return length;
}

/* While a client writes in spite of a revocation, or is stopped in a copy, its memory is used for nothing else; with
 * its end it is free. */
TEST(memory_is_kept_while_a_client_may_write)
{
    themis_proto_object_t destroy = {4711};
    rig_crew_t crew = rig_crew_fork(1, stubborn_main, &_i);

    server = rig_server_start(NULL);
    rig_client_t *client = rig_client_open(server, 1, "job");
    uint64_t before = used();
    rig_crew_start(&crew, server, 1);
    ck_assert_int_eq(rig_call(client, THEMIS_OP_DESTROY, &destroy), THEMIS_OK);
    rig_await_grants(server, 0, 1);
    uint64_t kept = fill_and_check(client, 5000);
    usleep(200000);
    rig_await_grants(server, 0, 1);
    destroy.object = 5000;
    ck_assert_int_eq(rig_call(client, THEMIS_OP_DESTROY, &destroy), THEMIS_OK);
    rig_crew_kill(&crew);
    rig_await_grants(server, 0, 0);
    for (int ms = 0; ms < 3000 && used() > before; ms++)
        usleep(1000);
    ck_assert_uint_eq(used(), before);
    ck_assert_uint_gt(fill_and_check(client, 5001), kept);
    rig_client_close(client, 1);
    rig_server_stop(server);
}

/* Writes the byte into as much of a new object as the store takes, and removes it. Returns the bytes. */
static uint64_t fill_with(rig_client_t *client, int byte)
{
    static uint8_t bytes[RIG_MIB];
    static themis_proto_object_t destroy = {100000};
    uint64_t object = ++destroy.object, length = 0;

    memset(bytes, byte, sizeof bytes);
    while (rig_write(client, object, length, bytes, sizeof bytes) == THEMIS_OK)
        length += sizeof bytes;
    ck_assert_int_eq(rig_call(client, THEMIS_OP_DESTROY, &destroy), THEMIS_OK);
    return length;
}

/* In nothing that the client has mapped; single bytes may be part of a time. */
static void check_nowhere(const rig_direct_t *direct, int byte)
{
    uint8_t some[64];

    memset(some, byte, sizeof some);
    for (int i = 0; i < direct->count; i++)
        if (direct->segments[i].serial)
            ck_assert_ptr_null(memmem(direct->segments[i].base, direct->segments[i].bytes, some, sizeof some));
}

/* Whoever keeps what it has mapped, revoked or not, never sees a byte of another user in it. */
TEST(memory_does_not_pass_to_another_user)
{
    enum { OWN = 0x11, OTHERS = 0xee };

    if (geteuid() != 0) {
        puts("skipped: only root can be another user");
        return;
    }
    server = rig_server_start(always);
    rig_client_t *client = rig_client_open(server, 1, "job");
    for (int i = 0; i < trials(3); i++) {
        themis_proto_object_t destroy = {100 + (uint64_t)i};
        ck_assert_int_eq(seteuid(OTHER_USER), 0);
        rig_direct_t *other = rig_direct_open(server, 1000 + (uint64_t)i, "other");
        ck_assert_int_eq(seteuid(0), 0);
        rig_grant_t grant = rig_direct_await(other, destroy.object, 0, RIG_MIB, 1);
        memset(grant.memory, OWN, grant.length < RIG_MIB ? grant.length : RIG_MIB);
        atomic_store(&grant.slot->copies, 1);
        uint64_t beside = fill_with(client, OTHERS);
        ck_assert_int_eq(rig_call(client, THEMIS_OP_DESTROY, &destroy), THEMIS_OK);
        uint64_t kept = fill_with(client, OTHERS);
        check_nowhere(other, OTHERS);
        ck_assert_uint_eq(kept, beside);
        atomic_store(&grant.slot->copies, 0);
        rig_await_grants(server, 0, 0);
        check_nowhere(other, OTHERS);
        ck_assert_int_eq(rig_call(other->client, THEMIS_OP_GOODBYE, &(themis_proto_none_t){0}), THEMIS_OK);
        uint64_t until = themis_util_clock_now() + 20 * THEMIS_NS_PER_S;
        while (fill_with(client, OTHERS) <= kept)
            ck_assert_uint_lt(themis_util_clock_now(), until);
        check_nowhere(other, OTHERS);
        rig_direct_close(other, 0);
    }
    rig_client_close(client, 1);
    rig_server_stop(server);
}

/* Enters and copies until it is killed. */
static void copying_main(const themis_server_t *of, int number, void *arg)
{
    static uint8_t bytes[RIG_MIB];
    rig_direct_t *direct = rig_direct_open(of, 100 + (uint64_t)number, "job");
    rig_grant_t grant = rig_direct_await(direct, shared->object + (uint64_t)number, 0, sizeof bytes / 4, 1);

    rig_crew_report();
    while (rig_direct_write(&grant, 10, bytes, sizeof bytes / 4))
        usleep(number % 3 == 0 ? 0 : 1000);
    _exit(0);
}

TEST(clients_killed_in_mid_copy_leave_nothing)
{
    enum { AT_ONCE = 20 };
    int count = trials(200), rounds = (count + AT_ONCE - 1) / AT_ONCE;
    rig_crew_t *crews = calloc((size_t)rounds, sizeof *crews);
    char text[16] = "";

    for (int i = 0; i < rounds; i++)
        crews[i] = rig_crew_fork(AT_ONCE, copying_main, NULL);
    server = rig_server_start(NULL);
    rig_client_t *client = rig_client_open(server, 1, "job");
    ck_assert_int_eq(rig_write(client, 1, 0, "other file", 10), THEMIS_OK);
    for (int i = 0; i < rounds; i++) {
        rig_crew_start(&crews[i], server, AT_ONCE);
        rig_crew_kill(&crews[i]);
        rig_await_grants(server, 0, 0);
        for (uint64_t k = 0; k < AT_ONCE; k++) {
            themis_proto_object_t destroy = {shared->object + k};
            truncate_to(client, destroy.object, 0);
        }
    }
    for (int ms = 0; ms < 3000 && used() > AT_ONCE * UINT64_C(65536); ms++)
        usleep(1000);
    ck_assert_uint_le(used(), AT_ONCE * UINT64_C(65536)); /* no block and no extent of those that have ended */
    ck_assert_int_eq(rig_read(client, 1, 0, text, 10), THEMIS_OK);
    ck_assert_str_eq(text, "other file");
    rig_client_close(client, 1);
    rig_server_stop(server);
    free(crews);
}

/* Writes garbage wherever it can, and goes on asking. */
static void vandal_main(const themis_server_t *of, int number, void *arg)
{
    unsigned seed = (unsigned)number + 1;
    rig_direct_t *direct = rig_direct_open(of, 100 + (uint64_t)number, "job");
    rig_grant_t grant = rig_direct_await(direct, shared->object, 0, RIG_MIB, 1), incomplete = grant;
    uint64_t *words[] = {(uint64_t *)(void *)((uintptr_t)grant.slot / 16384 * 16384),
                         (uint64_t *)(void *)((uintptr_t)grant.cell / 4096 * 4096)};
    const uint32_t counts[] = {16384 / 8, 4096 / 8};

    rig_crew_report();
    for (;;) {
        for (int i = 0; i < 2000; i++) {
            uint32_t which = (uint32_t)rand_r(&seed) % 4 == 0, word = (uint32_t)rand_r(&seed);
            uint64_t value = (uint64_t)rand_r(&seed) << (rand_r(&seed) % 40);
            __atomic_store_n(&words[which][word % counts[which]], rand_r(&seed) % 3 ? value : ~value, __ATOMIC_RELAXED);
        }
        for (int i = 0; incomplete.pages && i < 256; i++)
            atomic_store(&incomplete.pages[i], (uint8_t)(rand_r(&seed) % 4));
        incomplete = rig_direct_map(direct, shared->object + (uint64_t)(rand_r(&seed) % 4), 0, RIG_MIB,
                                    RIG_INCOMPLETE | (rand_r(&seed) % 2 ? RIG_ALLOCATE : 0));
    }
}

static void check_served(rig_client_t *client, const char *expected)
{
    char text[32] = "";

    ck_assert_int_eq(rig_read(client, 1, 0, text, strlen(expected)), THEMIS_OK);
    ck_assert_str_eq(text, expected);
}

TEST(garbage_in_shared_words_harms_nobody_else)
{
    enum { VANDALS = 3 };
    uint64_t last = 0;
    rig_crew_t crew = rig_crew_fork(VANDALS, vandal_main, NULL);

    server = rig_server_start(always);
    rig_direct_t *direct = rig_direct_open(server, 1, "quiet");
    rig_grant_t grant = rig_direct_await(direct, 1, 0, RIG_MIB, 1);
    ck_assert(rig_direct_write(&grant, 10, "other file", 10));
    uint64_t start = themis_util_clock_now();
    rig_crew_start(&crew, server, VANDALS);
    for (int i = 0; i < trials(200); i++) {
        uint64_t object = shared->object + (uint64_t)i % 4, end = size_of(direct->client, object);
        ck_assert_uint_le(end, 64 * RIG_MIB);
        /* each may keep what it cuts off until the vandals end, so the store does not hold many */
        if (i % 10 == 0 && i < 300)
            truncate_to(direct->client, object, (uint64_t)i * 100);
        ck_assert_int_eq(rig_write(direct->client, object, 100, "text", 4), THEMIS_OK);
        check_served(direct->client, "other file");
        ck_assert_uint_eq(atomic_load(&grant.slot->grant), grant.number);
        usleep(5000);
        themis_server_direct_usage_t usage = rig_usage(server);
        ck_assert_uint_ge(usage.written, last); /* no more than memory allows, in all slots there were */
        ck_assert_uint_le((usage.read + usage.written) / (themis_util_clock_now() - start),
                          200 * VANDALS * THEMIS_UTIL_DIRECT_SLOTS);
        last = usage.written;
    }
    rig_crew_kill(&crew);
    rig_await_grants(server, 1, 0);
    check_served(direct->client, "other file");
    rig_direct_close(direct, 1);
    rig_server_stop(server);
}

int main(void)
{
    Suite *suite = suite_create("direct");

    themis_util_config_env_default("UCX_NET_DEVICES", "lo");
    test_case(suite, "beacon", 20, NULL, NULL, TESTS({the_beacon_shows_the_end_of_a_process, ENDINGS}));
    test_case(suite, "grants", 30, NULL, NULL,
              TESTS({bytes_are_seen_and_counted, 1}, {another_user_gets_nothing, 2},
                    {only_clients_on_the_servers_host_get_grants, 1}, {where_it_is_off_nobody_gets_grants, 2},
                    {grants_of_a_client_are_bounded, 1}, {another_job_revokes, 1}, {jobs_share_where_it_is_on, 1},
                    {a_cut_object_is_not_accessed_any_more, 1}, {a_lost_connection_loses_its_grants, 1},
                    {a_server_that_stops_says_so, 1}, {a_job_that_copies_is_active, 1}));
    test_case(suite, "clients", 120 + trials(0), set_up, tear_down,
              TESTS({memory_is_kept_while_a_client_may_write, 2}, {memory_does_not_pass_to_another_user, 1},
                    {clients_killed_in_mid_copy_leave_nothing, 1}, {garbage_in_shared_words_harms_nobody_else, 1}));
    return test_run(suite);
}
