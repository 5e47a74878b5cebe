/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
/* Direct access: the test maps segments as a client does, beside the store. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/arena_object.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/store/objects.h"
#include "util/direct.h"

enum { PAGE = 4096, SEGMENTS = 4096, EXTENTS = 512, ALICE = 1000, BOB = 1001, CAROL = 1002 };

/* What this process has mapped, by serial number. */
static struct {
    uint64_t serial, bytes;
    uint8_t *base;
} segments[SEGMENTS];
static size_t segment_count;

static void open_direct(uint64_t size, uint64_t warm)
{
    themis_store_options_t options = {.type = "arena", .size = size, .warm = warm, .direct = 1};

    ck_assert_int_eq(themis_store_create(&options, &store), THEMIS_OK);
    owner = ALICE;
}

static void close_direct(void)
{
    for (size_t i = 0; i < segment_count; i++)
        munmap(segments[i].base, segments[i].bytes);
    segment_count = 0;
    themis_store_destroy(store);
}

static uint8_t *reach(uint32_t uid, themis_store_location_t location)
{
    size_t i = 0;
    int fd;

    while (i < segment_count && segments[i].serial != location.segment)
        i++;
    if (i == segment_count) {
        REQUIRE(segment_count < SEGMENTS);
        REQUIRE(themis_store_segment(store, location.segment, uid, &fd, &segments[i].bytes) == THEMIS_OK);
        segments[i].base = mmap(NULL, segments[i].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        REQUIRE(segments[i].base != MAP_FAILED);
        segments[i].serial = location.segment;
        segment_count++;
        close(fd);
    }
    REQUIRE(location.at < segments[i].bytes);
    return segments[i].base + location.at;
}

/* An object as a client with a grant has it. */
typedef struct grant {
    uint32_t uid;
    themis_store_object_t *object;
    themis_util_direct_cell_t *cell;
    themis_store_location_t location; /* of the cell */
    themis_store_mapped_t mapped[EXTENTS];
    size_t count;
} grant_t;

static themis_status_t grant_open(grant_t *grant, uint64_t id, uint32_t uid)
{
    grant->uid = uid;
    grant->count = 0;
    REQUIRE(themis_store_open(store, id, 1, uid, &grant->object) == THEMIS_OK);
    themis_status_t status = themis_store_pin(store, grant->object, uid, &grant->location);
    if (status == THEMIS_OK)
        grant->cell = (themis_util_direct_cell_t *)reach(uid, grant->location);
    else
        themis_store_close(store, grant->object);
    return status;
}

static void grant_close(grant_t *grant)
{
    themis_store_unpin(store, grant->object, &grant->location);
    themis_store_close(store, grant->object);
}

static themis_status_t grant_map(grant_t *grant, uint64_t offset, uint64_t length, int allocate)
{
    themis_store_extent_t range = {offset, length};

    return themis_store_map(store, grant->object, &range, allocate, grant->mapped, EXTENTS, &grant->count);
}

/* Moves what is mapped of a range; a write raises the end. The bytes that were moved. */
static uint64_t grant_move(grant_t *grant, themis_direction_t direction, uint64_t offset, uint8_t *bytes,
                           uint64_t length)
{
    uint64_t moved = 0, last = 0;

    for (size_t i = 0; i < grant->count; i++) {
        const themis_store_mapped_t *mapped = &grant->mapped[i];
        uint64_t from = mapped->offset > offset ? mapped->offset : offset;
        uint64_t end =
            mapped->offset + mapped->length < offset + length ? mapped->offset + mapped->length : offset + length;
        if (from >= end)
            continue;
        uint8_t *at = reach(grant->uid, mapped->location) + (from - mapped->offset);
        memcpy(direction == THEMIS_WRITE ? at : bytes + (from - offset),
               direction == THEMIS_WRITE ? bytes + (from - offset) : at, end - from);
        moved += end - from;
        last = end;
    }
    if (direction == THEMIS_WRITE && atomic_load(&grant->cell->end) < last)
        atomic_store(&grant->cell->end, last);
    return moved;
}

static void grant_put(grant_t *grant, uint64_t offset, uint64_t length, uint8_t value)
{
    uint8_t *bytes = malloc(length);

    memset(bytes, value, length);
    REQUIRE(grant_map(grant, offset, length, 1) == THEMIS_OK);
    REQUIRE(grant_move(grant, THEMIS_WRITE, offset, bytes, length) == length);
    free(bytes);
}

static int all_are(const uint8_t *bytes, uint64_t length, uint8_t value)
{
    for (uint64_t i = 0; i < length; i++)
        if (bytes[i] != value)
            return 0;
    return 1;
}

static uint64_t used(void)
{
    themis_store_usage_t usage;

    ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    return usage.used;
}

static themis_store_window_t *write_window(themis_store_object_t *object, uint64_t offset, uint64_t length)
{
    themis_store_window_t *window;

    ck_assert_int_eq(themis_store_window_create(&window), THEMIS_OK);
    window->object = object;
    window->direction = THEMIS_WRITE;
    window->extent_count = 1;
    window->extents[0] = (themis_store_extent_t){offset, length};
    ck_assert_int_eq(themis_store_prepare(store, window), THEMIS_OK);
    ck_assert_uint_eq(window->bytes, length);
    return window;
}

static void window_fill(const themis_store_window_t *window, int value)
{
    for (size_t i = 0; i < window->piece_count; i++)
        memset(window->pieces[i].iov_base, value, window->pieces[i].iov_len);
}

/* Makes every unit that the owner gets next one that was in use. */
static void soil(uint64_t bytes)
{
    put(99, 0, bytes, 's');
    ck_assert_int_eq(themis_store_remove(store, 99), THEMIS_OK);
}

START_TEST(stores_that_cannot_say_so)
{
    char file[300];
    test_scratch_make();
    snprintf(file, sizeof file, "%s/arena", test_scratch);
    themis_store_options_t options[] = {{.type = "arena", .size = 64 * MIB},
                                        {.type = "arena", .size = 64 * MIB, .direct = 1, .path = file},
                                        {.type = "posix", .direct = 1, .path = test_scratch}};
    themis_store_extent_t range = {0, PAGE};
    themis_store_location_t location;
    themis_store_object_t *object;
    themis_store_mapped_t mapped;
    uint64_t bytes;
    size_t count;
    void *block;
    int fd;

    ck_assert_int_eq(themis_store_create(&options[_i], &store), THEMIS_OK);
    ck_assert_int_eq(themis_store_direct(store), 0);
    ck_assert_int_eq(themis_store_open(store, 1, 1, ALICE, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_pin(store, object, ALICE, &location), THEMIS_UNSUPPORTED);
    ck_assert_int_eq(themis_store_map(store, object, &range, 1, &mapped, 1, &count), THEMIS_UNSUPPORTED);
    ck_assert_int_eq(themis_store_block_allocate(store, ALICE, &location, &block), THEMIS_UNSUPPORTED);
    ck_assert_int_eq(themis_store_segment(store, 1, ALICE, &fd, &bytes), THEMIS_UNSUPPORTED);
    themis_store_close(store, object);
    themis_store_destroy(store);
    test_scratch_remove();
}
END_TEST

START_TEST(nobody_else_is_let_in)
{
    themis_store_location_t location;
    themis_store_object_t *object;
    uint64_t bytes;
    struct stat stat;
    grant_t grant;
    int fd;

    open_direct(64 * MIB, 0);
    ck_assert_int_eq(themis_store_direct(store), 1);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    grant_put(&grant, 0, 1, 'a');
    ck_assert_int_eq(themis_store_pin(store, grant.object, BOB, &location), THEMIS_UNSUPPORTED);
    ck_assert_int_eq(themis_store_pin(store, grant.object, THEMIS_STORE_COMMON, &location), THEMIS_UNSUPPORTED);
    for (uint64_t serial = 0; serial < 100; serial++) {
        ck_assert_int_eq(themis_store_segment(store, serial, BOB, &fd, &bytes), THEMIS_ACCESS);
        ck_assert_int_eq(themis_store_segment(store, serial, THEMIS_STORE_COMMON, &fd, &bytes), THEMIS_ACCESS);
    }
    ck_assert_int_eq(themis_store_segment(store, grant.mapped[0].location.segment, ALICE, &fd, &bytes), THEMIS_OK);
    ck_assert_int_eq(fstat(fd, &stat), 0);
    ck_assert_uint_eq((uint64_t)stat.st_size, bytes);
    ck_assert_int_ne(ftruncate(fd, 0), 0);
    ck_assert_int_ne(ftruncate(fd, 2 * stat.st_size), 0);
    ck_assert_int_ne(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    close(fd);
    grant_close(&grant);
    /* common objects are nobody's */
    ck_assert_int_eq(themis_store_open(store, 2, 1, THEMIS_STORE_COMMON, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_pin(store, object, THEMIS_STORE_COMMON, &location), THEMIS_UNSUPPORTED);
    themis_store_close(store, object);
    close_direct();
}
END_TEST

START_TEST(both_ways_lead_to_the_same_bytes)
{
    uint8_t got[PAGE];
    grant_t grant;

    open_direct(64 * MIB, 0);
    put(1, 0, 3 * MIB + 5, 'a');
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    ck_assert_uint_eq(atomic_load(&grant.cell->end), 3 * MIB + 5);
    ck_assert_int_eq(grant_map(&grant, 0, 3 * MIB + 5, 0), THEMIS_OK);
    ck_assert_uint_eq(grant_move(&grant, THEMIS_READ, 3 * MIB - 100, got, 105), 105);
    ck_assert(all_are(got, 105, 'a'));
    grant_put(&grant, MIB, MIB, 'b');
    grant_put(&grant, 4 * MIB, 10, 'c');
    expect(1, 0, MIB, 'a');
    expect(1, MIB, MIB, 'b');
    expect(1, 3 * MIB + 5, MIB - 5, 0);
    expect(1, 4 * MIB, 10, 'c');
    ck_assert_uint_eq(size_of(1).end, 4 * MIB + 10);
    put(1, 5 * MIB, 10, 'd');
    ck_assert_uint_eq(atomic_load(&grant.cell->end), 5 * MIB + 10);
    themis_store_extent_t range = {6 * MIB, MIB};
    ck_assert_int_eq(themis_store_allocate(store, grant.object, &range), THEMIS_OK);
    ck_assert_uint_eq(atomic_load(&grant.cell->end), 7 * MIB);
    ck_assert_uint_ge(atomic_load(&grant.cell->modified), size_of(1).modified);
    atomic_store(&grant.cell->end, 7 * MIB + 1);
    grant_close(&grant);
    ck_assert_uint_ge(size_of(1).end, 7 * MIB);
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_uint_eq(used(), 0);
    close_direct();
}
END_TEST

START_TEST(what_is_mapped_was_never_anything_else)
{
    uint8_t *bytes = malloc(8 * MIB);
    grant_t grant;

    open_direct(64 * MIB, 0);
    soil(56 * MIB);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    grant_put(&grant, 0, 10, 'a');
    grant_put(&grant, 3 * MIB + 17, 10, 'b');
    put(1, 5 * MIB + 17, 10, 'c'); /* its page is valid, its neighbours are not */
    ck_assert_int_eq(grant_map(&grant, 0, 8 * MIB, 1), THEMIS_OK);
    ck_assert_uint_eq(grant_move(&grant, THEMIS_READ, 0, bytes, 8 * MIB), 8 * MIB);
    ck_assert(all_are(bytes, 10, 'a'));
    ck_assert(all_are(bytes + 10, 3 * MIB + 7, 0));
    ck_assert(all_are(bytes + 3 * MIB + 17, 10, 'b'));
    ck_assert(all_are(bytes + 3 * MIB + 27, 2 * MIB - 10, 0));
    ck_assert(all_are(bytes + 5 * MIB + 17, 10, 'c'));
    ck_assert(all_are(bytes + 5 * MIB + 27, 3 * MIB - 27, 0));
    grant_close(&grant);
    free(bytes);
    close_direct();
}
END_TEST

START_TEST(what_a_client_says_is_believed_as_far_as_it_can_be_true)
{
    grant_t grant;

    open_direct(64 * MIB, 0);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    grant_put(&grant, 0, 100, 'a');
    atomic_store(&grant.cell->end, UINT64_MAX);
    atomic_store(&grant.cell->modified, UINT64_MAX);
    ck_assert_uint_le(size_of(1).end, grant.mapped[0].length);
    ck_assert_uint_lt(size_of(1).modified, UINT64_MAX);
    put(1, MIB, 10, 'b');
    ck_assert_uint_ge(size_of(1).end, MIB + 10);
    uint64_t end = size_of(1).end;
    atomic_store(&grant.cell->end, 0);
    atomic_store(&grant.cell->modified, 0);
    ck_assert_uint_eq(size_of(1).end, end);
    ck_assert_uint_ne(size_of(1).modified, 0);
    grant_close(&grant);
    expect(1, 0, 100, 'a');
    close_direct();
}
END_TEST

START_TEST(pages_that_a_write_has_claimed_are_not_mapped)
{
    uint8_t got[2 * PAGE];
    grant_t grant;

    open_direct(64 * MIB, 0);
    soil(32 * MIB);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    themis_store_window_t *window = write_window(grant.object, 0, PAGE);
    ck_assert_int_eq(grant_map(&grant, 0, 2 * PAGE, 1), THEMIS_OK);
    for (size_t i = 0; i < grant.count; i++)
        ck_assert_uint_ge(grant.mapped[i].offset, PAGE);
    window_fill(window, 'w');
    ck_assert_int_eq(themis_store_finish(store, window, THEMIS_OK), THEMIS_OK);
    themis_store_window_destroy(window);
    ck_assert_int_eq(grant_map(&grant, 0, 2 * PAGE, 1), THEMIS_OK);
    ck_assert_uint_eq(grant_move(&grant, THEMIS_READ, 0, got, 2 * PAGE), 2 * PAGE);
    ck_assert(all_are(got, PAGE, 'w'));
    ck_assert(all_are(got + PAGE, PAGE, 0));
    grant_close(&grant);
    close_direct();
}
END_TEST

/* One that lost its grant goes on writing until it is unpinned. */
START_TEST(a_straggler_changes_nothing_after_a_truncation)
{
    uint64_t kept = 300 * 1024 + 123;
    uint8_t *bytes = malloc(4 * MIB);
    grant_t straggler, grant;

    open_direct(64 * MIB, 0);
    ck_assert_int_eq(grant_open(&straggler, 1, ALICE), THEMIS_OK);
    put(1, 0, 4 * MIB, 'a');
    ck_assert_int_eq(grant_map(&straggler, 0, 4 * MIB, 0), THEMIS_OK);
    themis_store_window_t *window = write_window(straggler.object, kept - MIB / 4, MIB / 2);
    truncate_to(1, kept);
    ck_assert_uint_eq(size_of(1).end, kept);
    uint64_t held = used();
    ck_assert_uint_ge(held, 4 * MIB);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    ck_assert_ptr_ne(grant.cell, straggler.cell);
    memset(bytes, 'x', 4 * MIB);
    ck_assert_uint_eq(grant_move(&straggler, THEMIS_WRITE, kept, bytes, 4 * MIB - kept), 4 * MIB - kept);
    ck_assert_uint_eq(size_of(1).end, kept);
    window_fill(window, 'w');
    ck_assert_int_eq(themis_store_finish(store, window, THEMIS_OK), THEMIS_OK);
    themis_store_window_destroy(window);
    ck_assert_uint_eq(size_of(1).end, kept);
    truncate_to(1, 4 * MIB);
    grant_put(&grant, 2 * MIB, MIB, 'n');
    ck_assert_uint_eq(grant_move(&straggler, THEMIS_WRITE, kept, bytes, 4 * MIB - kept), 4 * MIB - kept);
    put(2, 0, 8 * MIB, '2');
    expect(1, 0, kept - MIB / 4, 'a');
    expect(1, kept - MIB / 4, MIB / 4, 'w');
    expect(1, kept, 2 * MIB - kept, 0);
    expect(1, 2 * MIB, MIB, 'n');
    expect(1, 3 * MIB, MIB, 0);
    expect(2, 0, 8 * MIB, '2');
    grant_close(&grant);
    ck_assert_uint_ge(used(), held);
    grant_close(&straggler);
    ck_assert_int_eq(themis_store_remove(store, 2), THEMIS_OK);
    ck_assert_uint_lt(used(), held);
    free(bytes);
    close_direct();
}
END_TEST

/* What a truncation takes away is free when those are gone that could know it, whoever has come since. */
START_TEST(later_pins_keep_nothing_from_before)
{
    grant_t straggler, later;

    open_direct(64 * MIB, 0);
    ck_assert_int_eq(grant_open(&straggler, 1, ALICE), THEMIS_OK);
    put(1, 0, 8 * MIB, 'a');
    ck_assert_int_eq(grant_map(&straggler, 0, 8 * MIB, 0), THEMIS_OK);
    truncate_to(1, 0);
    ck_assert_int_eq(grant_open(&later, 1, ALICE), THEMIS_OK);
    ck_assert_uint_ge(used(), 8 * MIB);
    grant_close(&straggler);
    ck_assert_uint_lt(used(), MIB);
    ck_assert_int_eq(grant_map(&later, 0, MIB, 1), THEMIS_OK);
    grant_put(&later, 0, MIB, 'b');
    grant_close(&later);
    expect(1, 0, MIB, 'b');
    close_direct();
}
END_TEST

START_TEST(a_removed_object_keeps_its_memory_until_unpinned)
{
    uint8_t *bytes = malloc(MIB);
    grant_t grant;

    open_direct(64 * MIB, 0);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    grant_put(&grant, 0, MIB, 'a');
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    put(1, 0, MIB, 'n');
    memset(bytes, 'x', MIB);
    ck_assert_uint_eq(grant_move(&grant, THEMIS_WRITE, 0, bytes, MIB), MIB);
    expect(1, 0, MIB, 'n');
    grant_close(&grant);
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_uint_eq(used(), 0);
    free(bytes);
    close_direct();
}
END_TEST

START_TEST(a_truncation_without_room_for_what_it_keeps_changes_nothing)
{
    themis_store_object_t *object;
    uint8_t byte = 0;
    grant_t grant;

    open_direct(16 * MIB, 0);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    grant_put(&grant, 0, MIB, 'a');
    for (uint64_t at = 0; transfer(2, THEMIS_WRITE, at, &byte, 1) == THEMIS_OK; at += PAGE)
        ;
    ck_assert_int_eq(themis_store_open(store, 1, 1, ALICE, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_truncate(store, object, 5000), THEMIS_NO_SPACE);
    ck_assert_uint_eq(size_of(1).end, MIB);
    expect(1, 0, MIB, 'a');
    ck_assert_int_eq(grant_map(&grant, 64 * MIB, 1, 1), THEMIS_NO_SPACE);
    grant_close(&grant);
    ck_assert_int_eq(themis_store_truncate(store, object, 5000), THEMIS_OK);
    expect(1, 0, 5000, 'a');
    themis_store_close(store, object);
    close_direct();
}
END_TEST

START_TEST(blocks_are_zeros_in_memory_of_the_user)
{
    themis_store_location_t location;
    void *blocks[100];

    open_direct(64 * MIB, 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            ck_assert_int_eq(themis_store_block_allocate(store, BOB, &location, &blocks[i]), THEMIS_OK);
            uint8_t *mine = reach(BOB, location);
            ck_assert(all_are(mine, THEMIS_UTIL_DIRECT_BLOCK_BYTES, 0));
            memset(mine, 'b', THEMIS_UTIL_DIRECT_BLOCK_BYTES);
            ck_assert(all_are(blocks[i], THEMIS_UTIL_DIRECT_BLOCK_BYTES, 'b'));
        }
        ck_assert_uint_eq(used(), UINT64_C(100) * THEMIS_UTIL_DIRECT_BLOCK_BYTES);
        for (int i = 0; i < 100; i++)
            themis_store_block_free(store, blocks[i]);
    }
    themis_store_block_free(store, NULL);
    ck_assert_uint_eq(used(), 0);
    close_direct();
}
END_TEST

/* All of the space goes from one user to the next. */
START_TEST(memory_goes_to_another_user_as_new_memory_only)
{
    uint8_t *bytes = malloc(62 * MIB);
    uint64_t length;
    int fd;

    open_direct(64 * MIB, 0);
    for (uint32_t uid = ALICE; uid < ALICE + 3; uid++) {
        size_t first = segment_count;
        grant_t grant;
        ck_assert_int_eq(grant_open(&grant, uid, uid), THEMIS_OK);
        for (uint64_t at = 0; at < 62 * MIB; at += MIB)
            grant_put(&grant, at, MIB, (uint8_t)uid);
        ck_assert_uint_ge(segment_count - first, 31);
        for (size_t i = 0; i < first; i++) {
            ck_assert(all_are(segments[i].base, segments[i].bytes, 0));
            memset(segments[i].base, 'x', segments[i].bytes);
            for (uint32_t other = ALICE; other < ALICE + 3; other++)
                ck_assert_int_eq(themis_store_segment(store, segments[i].serial, other, &fd, &length), THEMIS_ACCESS);
        }
        expect(uid, 0, 62 * MIB, (uint8_t)uid);
        for (size_t i = 0; i < first; i++)
            memset(segments[i].base, 0, segments[i].bytes);
        grant_close(&grant);
        ck_assert_int_eq(themis_store_remove(store, uid), THEMIS_OK);
    }
    free(bytes);
    close_direct();
}
END_TEST

/* More users than segments: those that find none have common memory, and use messages. */
START_TEST(no_user_is_left_without_space)
{
    int direct = 0;
    grant_t grant;

    open_direct(64 * MIB, 0);
    for (uint32_t uid = 1; uid <= 500; uid++) {
        owner = uid;
        put(uid, 0, 10000, (uint8_t)uid);
        themis_status_t status = grant_open(&grant, uid, uid);
        ck_assert(status == THEMIS_OK || status == THEMIS_NO_SPACE);
        if (status == THEMIS_OK) {
            ck_assert_int_eq(grant_map(&grant, 0, 10000, 1), THEMIS_OK);
            ck_assert_uint_ge(grant.count, 1);
            grant_close(&grant);
            direct++;
        }
    }
    for (uint32_t uid = 1; uid <= 500; uid++)
        expect(uid, 0, 10000, (uint8_t)uid);
    ck_assert_int_ge(direct, 16);
    ck_assert_int_lt(direct, 32);
    close_direct();
}
END_TEST

START_TEST(one_user_can_use_all_of_the_space)
{
    uint8_t *bytes = malloc(MIB);
    grant_t grant;
    uint64_t end = 0;

    open_direct(64 * MIB, 0);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    memset(bytes, 'a', MIB);
    while (grant_map(&grant, end, PAGE, 1) == THEMIS_OK) {
        ck_assert_uint_eq(grant_move(&grant, THEMIS_WRITE, end, bytes, PAGE), PAGE);
        end += PAGE;
    }
    ck_assert_uint_eq(used(), 64 * MIB);
    ck_assert_uint_eq(end, 64 * MIB - PAGE); /* the cell */
    expect(1, 0, end, 'a');
    grant_close(&grant);
    put(1, end, PAGE, 'a');
    free(bytes);
    close_direct();
}
END_TEST

START_TEST(fresh_files_grow_in_few_steps_without_clearing)
{
    grant_t grant;
    int maps = 0;

    open_direct(1024 * MIB, 0);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    for (uint64_t at = 0; at < 128 * MIB; maps++) {
        themis_store_extent_t range = {at, MIB};
        ck_assert_int_eq(themis_store_map(store, grant.object, &range, 1, grant.mapped, EXTENTS, &grant.count),
                         THEMIS_OK);
        ck_assert_uint_ge(grant.count, 1);
        at = grant.mapped[grant.count - 1].offset + grant.mapped[grant.count - 1].length;
    }
    ck_assert_int_le(maps, 24);
    /* an extent of new memory is valid before it is mapped */
    themis_store_extent_t range = {256 * MIB, 16 * MIB};
    ck_assert_int_eq(themis_store_allocate(store, grant.object, &range), THEMIS_OK);
    for (uint32_t i = 0; i < grant.object->extents.count; i++)
        ck_assert_uint_eq(grant.object->extents.extent[i]->valid, grant.object->extents.extent[i]->pages);
    grant_close(&grant);
    close_direct();
}
END_TEST

/* The sum of a field of /proc/self/smaps, in bytes. */
static uint64_t smaps_sum(const char *field)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    uint64_t sum = 0;
    unsigned long kib;
    char line[512];

    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0 && sscanf(line + strlen(field), " %lu", &kib) == 1)
            sum += (uint64_t)kib << 10;
    fclose(file);
    return sum;
}

START_TEST(huge_pages_are_those_that_the_kernel_shows)
{
    themis_store_usage_t usage = {0};

    open_direct(1024 * MIB, 32 * MIB);
    for (int i = 0; i < 500 && usage.warm < 32 * MIB; i++) {
        usleep(10000);
        ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    }
    ck_assert_uint_ge(usage.warm, 32 * MIB);
    ck_assert_uint_eq(usage.huge, smaps_sum("ShmemPmdMapped:"));
    ck_assert_uint_eq(usage.segments, 0);
    put(1, 0, 64 * MIB, 'a');
    expect(1, 0, 64 * MIB, 'a');
    ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    ck_assert_uint_ge(usage.segments, 4);
    close_direct();
}
END_TEST

/* --- against a model --------------------------------------------------------------------------------------------- */

enum { USERS = 3, OBJECTS = 4, BYTES = 1 << 20, ROUNDS = 4000, STRAGGLERS = 8 };

typedef struct model {
    uint64_t id, end;
    uint8_t bytes[BYTES];
    int pinned;
    grant_t grant;
} model_t;

typedef struct straggler {
    int used;
    uint64_t from; /* its bytes below may be those of the object */
    grant_t grant;
} straggler_t;

static model_t *models;
static straggler_t *stragglers;
static uint64_t next_id;

static void model_begin(model_t *model)
{
    memset(model->bytes, 0, BYTES);
    model->id = ++next_id;
    model->end = 0;
    model->pinned = 0;
}

/* The model's grant is revoked while its process goes on. */
static void model_revoke(model_t *model, uint64_t from, unsigned *seed)
{
    straggler_t *straggler = &stragglers[(unsigned)rand_r(seed) % STRAGGLERS];

    if (!model->pinned)
        return;
    ck_assert_int_eq(grant_map(&model->grant, 0, BYTES, 0), THEMIS_OK);
    if (straggler->used)
        grant_close(&straggler->grant);
    *straggler = (straggler_t){.used = 1, .from = from, .grant = model->grant};
    model->pinned = 0;
}

static void stragglers_write(uint8_t *garbage)
{
    for (int i = 0; i < STRAGGLERS; i++)
        if (stragglers[i].used)
            grant_move(&stragglers[i].grant, THEMIS_WRITE, stragglers[i].from, garbage, 2 * BYTES);
}

static void model_write(model_t *model, uint32_t uid, uint64_t offset, uint64_t length, unsigned *seed)
{
    int value = 1 + rand_r(seed) % 200;

    memset(model->bytes + offset, value, length);
    if (model->end < offset + length)
        model->end = offset + length;
    if (!model->pinned && rand_r(seed) % 2) {
        owner = uid;
        put(model->id, offset, length, (uint8_t)value);
        return;
    }
    if (!model->pinned)
        ck_assert_int_eq(grant_open(&model->grant, model->id, uid), THEMIS_OK);
    model->pinned = 1;
    grant_put(&model->grant, offset, length, (uint8_t)value);
}

static void model_truncate(model_t *model, uint32_t uid, uint64_t size, unsigned *seed)
{
    /* the extent with the end is replaced, the ones before may still be written */
    model_revoke(model, size, seed);
    owner = uid;
    truncate_to(model->id, size);
    memset(model->bytes + size, 0, BYTES - size);
    model->end = size;
}

static void model_check(model_t *model, uint32_t uid, uint8_t *got)
{
    owner = uid;
    ck_assert_uint_eq(size_of(model->id).end, model->end);
    REQUIRE(transfer(model->id, THEMIS_READ, 0, got, BYTES) == THEMIS_OK);
    REQUIRE(memcmp(got, model->bytes, BYTES) == 0);
    if (!model->pinned)
        return;
    REQUIRE(grant_map(&model->grant, 0, BYTES, 0) == THEMIS_OK);
    memset(got, 0, BYTES);
    grant_move(&model->grant, THEMIS_READ, 0, got, BYTES);
    REQUIRE(memcmp(got, model->bytes, BYTES) == 0);
}

START_TEST(users_and_stragglers_match_a_model)
{
    uint8_t *got = malloc(BYTES), *garbage = malloc(2 * BYTES);
    unsigned seed = 77 + (unsigned)_i;

    models = calloc((size_t)USERS * OBJECTS, sizeof *models);
    stragglers = calloc(STRAGGLERS, sizeof *stragglers);
    memset(garbage, 0xdd, 2 * BYTES);
    open_direct(128 * MIB, 0);
    for (int i = 0; i < USERS * OBJECTS; i++)
        model_begin(&models[i]);
    for (int round = 0; round < ROUNDS; round++) {
        int i = rand_r(&seed) % (USERS * OBJECTS);
        uint32_t uid = ALICE + (uint32_t)(i % USERS);
        uint64_t offset = (uint64_t)rand_r(&seed) % BYTES;
        uint64_t length = 1 + (uint64_t)rand_r(&seed) % (BYTES - offset);
        switch (rand_r(&seed) % 16) {
        case 0:
            model_revoke(&models[i], BYTES, &seed);
            ck_assert_int_eq(themis_store_remove(store, models[i].id), THEMIS_OK);
            model_begin(&models[i]);
            break;
        case 1:
        case 2:
            model_truncate(&models[i], uid, offset, &seed);
            break;
        case 3:
            if (models[i].pinned)
                grant_close(&models[i].grant);
            models[i].pinned = 0;
            break;
        case 4:
            model_check(&models[i], uid, got);
            break;
        default:
            model_write(&models[i], uid, offset, length > 50000 && round % 8 ? length % 50000 + 1 : length, &seed);
        }
        if (round % 16 == 0)
            stragglers_write(garbage);
    }
    for (int i = 0; i < USERS * OBJECTS; i++)
        model_check(&models[i], ALICE + (uint32_t)(i % USERS), got);
    for (int i = 0; i < USERS * OBJECTS; i++)
        if (models[i].pinned)
            grant_close(&models[i].grant);
    for (int i = 0; i < STRAGGLERS; i++)
        if (stragglers[i].used)
            grant_close(&stragglers[i].grant);
    close_direct();
    free(models);
    free(stragglers);
    free(garbage);
    free(got);
}
END_TEST

/* --- at once ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROGUE_SEGMENTS = 1024 };

static struct {
    pthread_mutex_t lock;
    uint8_t *base[ROGUE_SEGMENTS];
    uint64_t bytes[ROGUE_SEGMENTS];
    size_t count;
    atomic_int stop;
} rogue = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Writes all over what its user ever had. */
static void *rogue_main(void *arg)
{
    while (!rogue.stop) {
        pthread_mutex_lock(&rogue.lock);
        size_t count = rogue.count;
        pthread_mutex_unlock(&rogue.lock);
        for (size_t i = 0; i < count; i++)
            for (uint64_t at = 0; at < rogue.bytes[i] && !rogue.stop; at += PAGE)
                memset(rogue.base[i] + at, 0xdd, 64);
        usleep(1000);
    }
    return arg;
}

static void rogue_learn(uint64_t serial, uint32_t uid)
{
    static uint64_t known[ROGUE_SEGMENTS];
    uint64_t bytes;
    size_t i = 0;
    int fd;

    while (i < rogue.count && known[i] != serial)
        i++;
    if (i < rogue.count || i == ROGUE_SEGMENTS || themis_store_segment(store, serial, uid, &fd, &bytes) != THEMIS_OK)
        return;
    known[i] = serial;
    rogue.bytes[i] = bytes;
    rogue.base[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(rogue.base[i] != MAP_FAILED);
    close(fd);
    pthread_mutex_lock(&rogue.lock);
    rogue.count++;
    pthread_mutex_unlock(&rogue.lock);
}

static themis_status_t write_object(uint64_t id, uint32_t uid, uint64_t length, uint8_t value)
{
    themis_store_window_t *window;
    themis_store_object_t *object;
    themis_status_t status = THEMIS_OK;

    REQUIRE(themis_store_window_create(&window) == THEMIS_OK);
    REQUIRE(themis_store_open(store, id, 1, uid, &object) == THEMIS_OK);
    for (uint64_t at = 0; at < length && status == THEMIS_OK; at += window->bytes) {
        window->object = object;
        window->direction = THEMIS_WRITE;
        window->extent_count = 1;
        window->extents[0] = (themis_store_extent_t){at, length - at < MIB ? length - at : MIB};
        status = themis_store_prepare(store, window);
        if (status != THEMIS_OK)
            break;
        window_fill(window, value);
        status = themis_store_finish(store, window, THEMIS_OK);
    }
    themis_store_close(store, object);
    themis_store_window_destroy(window);
    return status;
}

/* The user whose process is the rogue: its objects come and go, so that its segments do. */
static void *rogue_user_main(void *arg)
{
    static themis_store_mapped_t mapped[EXTENTS];
    themis_store_extent_t range = {0, 16 * MIB};
    themis_store_location_t cell;
    themis_store_object_t *object;
    size_t count;

    for (uint64_t round = 0; round < 100; round++) {
        uint64_t id = 1000000 + round;
        write_object(id, ALICE, 6 * MIB, 'r');
        REQUIRE(themis_store_open(store, id, 1, ALICE, &object) == THEMIS_OK);
        if (themis_store_pin(store, object, ALICE, &cell) == THEMIS_OK) {
            rogue_learn(cell.segment, ALICE);
            REQUIRE(themis_store_map(store, object, &range, 0, mapped, EXTENTS, &count) == THEMIS_OK);
            for (size_t i = 0; i < count; i++)
                rogue_learn(mapped[i].location.segment, ALICE);
            themis_store_unpin(store, object, &cell);
        }
        themis_store_close(store, object);
        REQUIRE(themis_store_remove(store, id) == THEMIS_OK);
    }
    return arg;
}

/* Another user: sees its own bytes only, by queue and directly. */
static void *user_main(void *arg)
{
    uint32_t uid = BOB + (uint32_t)(intptr_t)arg;
    unsigned seed = uid;

    for (int round = 0; round < 100; round++) {
        uint64_t id = (uint64_t)uid * 1000 + (uint64_t)round, length = 1 + (uint64_t)rand_r(&seed) % (4 * MIB);
        if (write_object(id, uid, length, (uint8_t)uid) == THEMIS_OK)
            expect(id, 0, length, (uint8_t)uid);
        REQUIRE(themis_store_remove(store, id) == THEMIS_OK);
    }
    return NULL;
}

START_TEST(a_rogue_hurts_its_own_user_only)
{
    pthread_t threads[THREADS], scribbler;
    themis_store_usage_t usage;

    open_direct(32 * MIB, 4 * MIB);
    ck_assert_int_eq(pthread_create(&scribbler, NULL, rogue_main, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, i == 0 ? rogue_user_main : user_main, (void *)(intptr_t)i),
                         0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rogue.stop = 1;
    pthread_join(scribbler, NULL);
    ck_assert_uint_ge(rogue.count, 2);
    ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    ck_assert_uint_eq(usage.used, 0);
    for (size_t i = 0; i < rogue.count; i++)
        munmap(rogue.base[i], rogue.bytes[i]);
    close_direct();
}
END_TEST

/* Pins, maps, queue writes and truncations of one object meet. */
static void *meet_main(void *arg)
{
    unsigned seed = (unsigned)(intptr_t)arg;
    static _Thread_local themis_store_mapped_t mapped[EXTENTS];
    themis_store_location_t cell;
    themis_store_object_t *object;
    size_t count;

    REQUIRE(themis_store_open(store, 1, 1, ALICE, &object) == THEMIS_OK);
    for (int round = 0; round < 300; round++) {
        themis_store_extent_t range = {(uint64_t)rand_r(&seed) % (4 * MIB), 1 + (uint64_t)rand_r(&seed) % MIB};
        uint8_t byte = 1;
        switch (rand_r(&seed) % 4) {
        case 0:
            REQUIRE(transfer(1, THEMIS_WRITE, range.offset, &byte, 1) == THEMIS_OK);
            break;
        case 1:
            REQUIRE(themis_store_truncate(store, object, range.offset) == THEMIS_OK);
            break;
        default:
            REQUIRE(themis_store_pin(store, object, ALICE, &cell) == THEMIS_OK);
            REQUIRE(themis_store_map(store, object, &range, 1, mapped, EXTENTS, &count) == THEMIS_OK);
            for (size_t i = 1; i < count; i++)
                REQUIRE(mapped[i - 1].offset + mapped[i - 1].length <= mapped[i].offset);
            themis_store_unpin(store, object, &cell);
        }
    }
    themis_store_close(store, object);
    return NULL;
}

START_TEST(pins_and_maps_meet_writes_and_truncations)
{
    pthread_t threads[THREADS];

    open_direct(256 * MIB, 4 * MIB);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, meet_main, (void *)(intptr_t)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_uint_eq(used(), 0);
    close_direct();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("direct");

    test_case(
        suite, "direct", 60, NULL, NULL,
        TESTS({stores_that_cannot_say_so, 3}, {nobody_else_is_let_in, 1}, {both_ways_lead_to_the_same_bytes, 1},
              {what_is_mapped_was_never_anything_else, 1}, {what_a_client_says_is_believed_as_far_as_it_can_be_true, 1},
              {pages_that_a_write_has_claimed_are_not_mapped, 1}, {a_straggler_changes_nothing_after_a_truncation, 1},
              {later_pins_keep_nothing_from_before, 1}, {a_removed_object_keeps_its_memory_until_unpinned, 1},
              {a_truncation_without_room_for_what_it_keeps_changes_nothing, 1},
              {blocks_are_zeros_in_memory_of_the_user, 1}, {memory_goes_to_another_user_as_new_memory_only, 1},
              {no_user_is_left_without_space, 1}, {one_user_can_use_all_of_the_space, 1},
              {fresh_files_grow_in_few_steps_without_clearing, 1}, {huge_pages_are_those_that_the_kernel_shows, 1},
              {users_and_stragglers_match_a_model, 3}, {a_rogue_hurts_its_own_user_only, 1},
              {pins_and_maps_meet_writes_and_truncations, 1}));
    return test_run(suite);
}
