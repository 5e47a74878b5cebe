/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
/* A durable arena after its process was killed: all of its memory that lasts is in files, so a copy of these at any
 * time is what is left then. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/arena_keeper.h"
#include "store/log_file.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/store/durable.h"
#include "test/store/grants.h"
#include "util/log.h"

static char arena[300], copy[300];

static void set_up(void)
{
    test_scratch_make();
    snprintf(arena, sizeof arena, "%s/arena", test_scratch);
    snprintf(copy, sizeof copy, "%s/copy", test_scratch);
    memset(model, 0, sizeof model);
    model_settle();
}

static void tear_down(void)
{
    test_scratch_remove();
}

/* What a server that starts on the copy finds; then the copy is removed. */
static void check_copy(void)
{
    themis_store_t *kept = store;

    durable_open(copy, 1);
    model_check();
    themis_store_destroy(store);
    directory_remove(copy);
    store = kept;
}

TEST(contents_outlive_the_store)
{
    durable_open(arena, 1);
    put(1, 0, 3 * MIB + 5, 'a');
    put(2, 100000, 7, 'b');
    put(3, 0, 100, 'c');
    ck_assert_int_eq(themis_store_remove(store, 3), THEMIS_OK);
    themis_store_size_t before = size_of(1);
    for (int i = 0; i < 3; i++) {
        themis_store_destroy(store);
        durable_open(arena, 1 + i);
        expect(1, 0, 3 * MIB + 5, 'a');
        expect(2, 0, 100000, 0);
        expect(2, 100000, 7, 'b');
        ck_assert_uint_eq(size_of(1).end, before.end);
        ck_assert_uint_eq(size_of(1).modified, before.modified);
        ck_assert_uint_eq(size_of(2).end, 100007);
        ck_assert_uint_eq(size_of(3).end, 0);
        ck_assert_int_eq(themis_store_remove(store, 3), THEMIS_OK);
    }
    themis_store_destroy(store);
}

TEST(any_moment_can_be_the_last)
{
    durable_open(arena, 1);
    for (int step = 0; step < 60; step++) {
        change_at_random(_i);
        model_settle();
        if (draw(25) == 0)
            ck_assert_int_eq(themis_store_arena_checkpoint((themis_store_arena_t *)store), THEMIS_OK);
        directory_copy(arena, copy);
        check_copy();
    }
    change_end();
    close_direct();
    durable_open(arena, 1);
    model_check();
    themis_store_destroy(store);
}

/* Cuts the last file of the log at a position, from which on it has zeros. */
static void log_cut(const char *path, uint64_t base, uint64_t position)
{
    uint64_t at = THEMIS_STORE_LOG_HEAD + (position - base);
    int fd = open(path, O_RDWR);
    struct stat stat;

    REQUIRE(fd >= 0 && fstat(fd, &stat) == 0);
    REQUIRE(ftruncate(fd, (off_t)at) == 0 && ftruncate(fd, stat.st_size) == 0);
    close(fd);
}

static uint64_t log_frames(const char *directory, char path[512], uint64_t positions[64], uint64_t *base)
{
    themis_store_log_file_t file;
    uint64_t count = 0;
    uint32_t length;

    last_log(directory, path);
    REQUIRE(themis_store_log_file_open(AT_FDCWD, path, &file) == THEMIS_OK);
    *base = file.super.base;
    for (uint64_t position = *base;; position += THEMIS_STORE_LOG_FRAME + length) {
        positions[count++ % 64] = position;
        if (!themis_store_log_file_frame(&file, position, &length))
            break;
    }
    themis_store_log_file_close(&file);
    return count;
}

/* Between the frames that one change appends, and inside the last one. */
TEST(a_change_may_be_cut_anywhere)
{
    uint64_t positions[64], base;
    char path[512];

    durable_open(arena, 1);
    for (int step = 0; step < 50; step++) {
        uint64_t before = log_frames(arena, path, positions, &base);
        change_at_random(0);
        uint64_t after = log_frames(arena, path, positions, &base);
        for (uint64_t i = before; i < after && after - i < 64; i++) {
            directory_copy(arena, copy);
            log_frames(copy, path, positions, &base);
            log_cut(path, base, positions[(i - 1) % 64] + (i % 2 ? 12 : 0));
            check_copy();
        }
        model_settle();
    }
    themis_store_destroy(store);
}

/* A byte of the log is changed: at the end that is a frame which was being written, before it is damage. */
static void flip(const char *path, uint64_t at)
{
    int fd = open(path, O_RDWR);
    uint8_t byte;

    REQUIRE(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
    byte ^= 0x40;
    REQUIRE(pwrite(fd, &byte, 1, (off_t)at) == 1);
    close(fd);
}

TEST(damage_is_refused_and_nothing_changed)
{
    uint64_t positions[64], base, count;
    char path[512];
    themis_store_t *opened;
    static const uint64_t in_super[] = {0, 16, 40, 90};

    durable_open(arena, 1);
    put(1, 0, 10, 'a');
    put(1, 10, 10, 'b');
    directory_copy(arena, copy);
    count = log_frames(copy, path, positions, &base);
    flip(path, THEMIS_STORE_LOG_HEAD + positions[count - 3] - base + 20);
    ck_assert_int_eq(durable_try(copy, 1, &opened), THEMIS_CONFIG);
    flip(path, THEMIS_STORE_LOG_HEAD + positions[count - 3] - base + 20);
    for (size_t i = 0; i < sizeof in_super / sizeof *in_super; i++) {
        flip(path, in_super[i]);
        ck_assert_int_eq(durable_try(copy, 1, &opened), THEMIS_CONFIG);
        flip(path, in_super[i]);
    }
    flip(path, THEMIS_STORE_LOG_HEAD + positions[count - 2] - base + 20); /* of the last one */
    themis_store_destroy(store);
    durable_open(copy, 1);
    expect(1, 0, 10, 'a');
    ck_assert_uint_eq(size_of(1).end, 10);
    themis_store_destroy(store);
}

TEST(a_missing_file_is_refused)
{
    char path[512];
    themis_store_t *opened;

    durable_open(arena, 1);
    put(1, 0, 10, 'a');
    themis_store_destroy(store);
    for (int i = 0; i < 2; i++) { /* a restart begins another file */
        durable_open(arena, 1);
        themis_store_destroy(store);
    }
    snprintf(path, sizeof path, "%s/log.%016x", arena, 2);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(durable_try(arena, 1, &opened), THEMIS_CONFIG);
    snprintf(path, sizeof path, "%s/STORE", arena);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(durable_try(arena, 1, &opened), THEMIS_CONFIG);
}

TEST(one_server_at_a_time)
{
    themis_store_t *opened;

    durable_open(arena, 1);
    ck_assert_int_eq(durable_try(arena, 1, &opened), THEMIS_BUSY);
    themis_store_destroy(store);
}

/* The log is made shorter while it grows, and what is removed stays so. */
TEST(the_log_stays_short)
{
    themis_store_object_t *object;
    uint64_t logs = 0;
    char path[512];

    durable_open(arena, 1);
    put(1, 0, 100, 'a');
    put(2, 0, 100, 'b');
    ck_assert_int_eq(themis_store_remove(store, 2), THEMIS_OK);
    ck_assert_int_eq(themis_store_open(store, 1, 0, owner, &object), THEMIS_OK);
    for (uint64_t i = 0; i < 3000000; i++)
        REQUIRE(themis_store_set_modified(store, object, i) == THEMIS_OK);
    themis_store_close(store, object);
    directory_copy(arena, copy);
    themis_store_destroy(store);
    durable_open(copy, 1);
    ck_assert_uint_eq(size_of(1).modified, 2999999);
    expect(1, 0, 100, 'a');
    ck_assert_uint_eq(size_of(2).end, 0);
    themis_store_destroy(store);
    for (int i = 1; i < 60; i++) {
        snprintf(path, sizeof path, "%s/log.%016x", arena, i);
        logs += access(path, F_OK) == 0;
    }
    ck_assert_uint_lt(logs, 26); /* of the 30 files that were written */
}

/* A client that was stopped in a copy goes on when another server has begun: the memory is nobody else's. */
TEST(a_late_copy_harms_nobody)
{
    themis_store_location_t location;
    themis_store_mapped_t mapped;
    grant_t grant;
    void *slots;

    durable_open(arena, 1);
    ck_assert_int_eq(themis_store_block_allocate(store, owner, &location, &slots), THEMIS_OK);
    ck_assert_int_eq(grant_open(&grant, 1, owner), THEMIS_OK);
    grant_put(&grant, 0, 64 << 10, 'a');
    mapped = grant.mapped[0];
    uint8_t *memory = reach(owner, mapped.location);
    atomic_store(&((themis_util_direct_slot_t *)slots)->copies, _i);
    /* the next server opens the files while the first one's client has them mapped; a lock that died with its server
     * would be free */
    themis_store_t *first = store;
    char path[512];
    snprintf(path, sizeof path, "%s/STORE", arena);
    ck_assert_int_eq(unlink(path), 0);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    static const char record[] = "themis-store 1 arena of server 0\nstore 01020300-0000-0000-0000-000000000000\n";
    ck_assert_int_eq(write(fd, record, sizeof record - 1), sizeof record - 1);
    close(fd);
    durable_open(arena, 1);
    expect(1, 0, 64 << 10, 'a');
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    put(9, 0, 1, 'b');
    themis_store_object_t *object;
    ck_assert_int_eq(themis_store_open(store, 9, 0, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_sync(store, object), THEMIS_OK); /* now it is free on a disk, too */
    themis_store_close(store, object);
    for (uint64_t id = 10; id < 30; id++)
        put(id, 0, 64 << 10, 'b');
    memset(memory, 'x', 64 << 10);
    int harmed = 0;
    static uint8_t bytes[64 << 10];
    for (uint64_t id = 10; id < 30; id++) {
        REQUIRE(transfer(id, THEMIS_READ, 0, bytes, sizeof bytes) == THEMIS_OK);
        harmed |= !all_are(bytes, sizeof bytes, 'b');
    }
    ck_assert_int_eq(harmed, !_i); /* without a copy under way it is used again */
    themis_store_destroy(store);
    store = first;
    grant_close(&grant);
    close_direct();
}

TEST(other_users_get_no_files)
{
    themis_store_object_t *object;
    themis_store_location_t cell;

    durable_open(arena, 1);
    ck_assert_int_eq(themis_store_open(store, 1, 1, owner + 1, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_pin(store, object, owner + 1, &cell), THEMIS_UNSUPPORTED);
    themis_store_close(store, object);
    themis_store_destroy(store);
}

static themis_status_t reserve(uint64_t id, uint64_t bytes)
{
    const themis_store_extent_t range = {0, bytes};
    themis_store_object_t *object;

    ck_assert_int_eq(themis_store_open(store, id, 1, owner, &object), THEMIS_OK);
    themis_status_t status = themis_store_allocate(store, object, &range);
    themis_store_close(store, object);
    return status;
}

/* What cannot be reserved takes nothing before that fails; what is there counts, and what was freed can be used. */
TEST(too_much_is_not_reserved)
{
    themis_store_usage_t before, usage;

    durable_open(arena, 1);
    put(1, 0, 40 * MIB, 'a');
    ck_assert_int_eq(themis_store_usage(store, &before), THEMIS_OK);
    ck_assert_int_eq(reserve(1, UINT64_C(1) << 62), THEMIS_NO_SPACE);
    ck_assert_int_eq(reserve(1, ARENA_BYTES + PAGE), THEMIS_NO_SPACE);
    ck_assert_int_eq(reserve(2, 40 * MIB), THEMIS_NO_SPACE);
    ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    ck_assert_uint_eq(usage.segments, before.segments);
    ck_assert_int_eq(reserve(1, 50 * MIB), THEMIS_OK);
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_int_eq(reserve(2, 40 * MIB), THEMIS_OK);
    themis_store_destroy(store);
}

/* Where the end of the arena is in use, also inside a segment, it cannot be cut off; where it is not, it can. */
TEST(a_smaller_size_keeps_what_is_used)
{
    const uint64_t bytes = ARENA_BYTES - 2 * MIB;
    themis_store_t *opened;

    durable_open(arena, 1);
    put(1, 0, 4 * MIB, 'a');
    themis_store_destroy(store);
    ck_assert_int_eq(durable_try_size(arena, 1, ARENA_BYTES - MIB, &store), THEMIS_OK);
    put(2, 0, bytes - 6 * MIB, 'b');
    for (uint64_t id = 3; transfer(id, THEMIS_WRITE, 0, (uint8_t[1]){'c'}, 1) == THEMIS_OK; id++)
        ;
    themis_store_destroy(store);
    for (uint64_t less = 3 * MIB / 2; less <= 4 * MIB; less += MIB / 2)
        ck_assert_int_eq(durable_try_size(arena, 1, ARENA_BYTES - less, &opened), THEMIS_CONFIG);
    durable_open(arena, 1);
    expect(1, 0, 4 * MIB, 'a');
    expect(2, 0, bytes - 6 * MIB, 'b');
    expect(3, 0, 1, 'c');
    themis_store_destroy(store);
}

/* The file system under the arena is full: an error, and what is there stays. */
TEST(a_full_file_system_is_an_error)
{
    static uint8_t bytes[1 << 20];
    uint64_t written = 0;

    if (geteuid() != 0 || mkdir(arena, 0700) != 0 || mount("none", arena, "tmpfs", 0, "size=44m") != 0) {
        fprintf(stderr, "skipped: a small file system cannot be mounted\n");
        return;
    }
    durable_open(arena, 1);
    memset(bytes, 'a', sizeof bytes);
    themis_status_t status = THEMIS_OK;
    while (status == THEMIS_OK && written < ARENA_BYTES) {
        status = transfer(1, THEMIS_WRITE, written, bytes, sizeof bytes);
        written += status == THEMIS_OK ? sizeof bytes : 0;
    }
    ck_assert_int_eq(status, THEMIS_NO_SPACE);
    ck_assert_uint_gt(written, 4 * MIB);
    expect(1, 0, written, 'a');
    put(1, 0, written, 'b');
    truncate_to(1, 2 * MIB);
    put(2, 0, 1 * MIB, 'c');
    themis_store_destroy(store);
    durable_open(arena, 1);
    expect(1, 0, 2 * MIB, 'b');
    expect(2, 0, 1 * MIB, 'c');
    themis_store_destroy(store);
    ck_assert_int_eq(umount(arena), 0);
}

int main(void)
{
    Suite *suite = suite_create("store_durable");

    themis_util_log_set_level(THEMIS_LOG_ERROR);
    test_case(suite, "durable", 120, set_up, tear_down,
              TESTS({contents_outlive_the_store, 1}, {any_moment_can_be_the_last, 2}, {a_change_may_be_cut_anywhere, 1},
                    {damage_is_refused_and_nothing_changed, 1}, {a_missing_file_is_refused, 1},
                    {one_server_at_a_time, 1}, {the_log_stays_short, 1}, {a_late_copy_harms_nobody, 2},
                    {other_users_get_no_files, 1}, {a_smaller_size_keeps_what_is_used, 1},
                    {too_much_is_not_reserved, 1}, {a_full_file_system_is_an_error, 1}));
    return test_run(suite);
}
