/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
/* Direct access: what clients may map, and what it shows. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/arena_object.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/store/grants.h"

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

TEST(stores_that_cannot_say_so)
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

TEST(nobody_else_is_let_in)
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

TEST(both_ways_lead_to_the_same_bytes)
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

TEST(what_is_mapped_was_never_anything_else)
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

TEST(what_a_client_says_is_believed_as_far_as_it_can_be_true)
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

TEST(pages_that_a_write_has_claimed_are_not_mapped)
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

/* One that lost its grant goes on writing until it is unpinned. */
TEST(a_straggler_changes_nothing_after_a_truncation)
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

/* What a truncation takes away is free when those are gone that could know it, whoever has come since. */
TEST(later_pins_keep_nothing_from_before)
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

TEST(a_removed_object_keeps_its_memory_until_unpinned)
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

TEST(a_truncation_without_room_for_what_it_keeps_changes_nothing)
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

TEST(blocks_are_zeros_in_memory_of_the_user)
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

/* All of the space goes from one user to the next. */
TEST(memory_goes_to_another_user_as_new_memory_only)
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

/* More users than segments: those that find none have common memory, and use messages. */
TEST(no_user_is_left_without_space)
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

TEST(one_user_can_use_all_of_the_space)
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

TEST(fresh_files_grow_in_few_steps_without_clearing)
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

TEST(huge_pages_are_those_that_the_kernel_shows)
{
    themis_store_usage_t usage = {0};

    open_direct(1024 * MIB, 32 * MIB);
    /* the last range counts as warm from when the populator begins with it */
    for (int i = 0; i < 500 && (usage.warm < 32 * MIB || usage.huge != smaps_sum("ShmemPmdMapped:")); i++) {
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
              {fresh_files_grow_in_few_steps_without_clearing, 1}, {huge_pages_are_those_that_the_kernel_shows, 1}));
    return test_run(suite);
}
