/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
/* All stores: most tests run once for each. */
#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/store/objects.h"
#include "util/log.h"

/* The last one: an arena with direct access. */
static const char *const types[] = {"arena", "posix", "arena"};
enum { ARENA = 0, DIRECT = 2, TYPES = 3 };

static void open_store(int type, uint64_t size, uint64_t warm)
{
    test_scratch_make();
    themis_store_options_t options = {.type = types[type],
                                      .size = size,
                                      .path = strcmp(types[type], "posix") == 0 ? test_scratch : NULL,
                                      .warm = warm,
                                      .reserve_step = 64 << 10,
                                      .direct = type == DIRECT};
    ck_assert_int_eq(themis_store_create(&options, &store), THEMIS_OK);
}

static void close_store(void)
{
    themis_store_destroy(store);
    test_scratch_remove();
}

TEST(bytes_come_back)
{
    open_store(_i, 64 * MIB, 0);
    put(1, 0, 10, 'a');
    put(1, 10, 3 * MIB, 'b');
    put(1, 5, 3, 'c');
    expect(1, 0, 5, 'a');
    expect(1, 5, 3, 'c');
    expect(1, 8, 2, 'a');
    expect(1, 10, 3 * MIB, 'b');
    ck_assert_uint_eq(size_of(1).end, 3 * MIB + 10);
    ck_assert_uint_ge(size_of(1).allocated, 3 * MIB);
    ck_assert_uint_ne(size_of(1).modified, 0);
    close_store();
}

TEST(holes_read_as_zeros)
{
    open_store(_i, 64 * MIB, 0);
    put(1, 100000, 7, 'a');
    put(1, 2 * MIB + 5, 10000, 'b');
    expect(1, 0, 100000, 0);
    expect(1, 100000, 7, 'a');
    expect(1, 100007, 2 * MIB + 5 - 100007, 0);
    expect(1, 2 * MIB + 5, 10000, 'b');
    close_store();
}

TEST(space_that_was_used_before_shows_nothing_old)
{
    open_store(_i, 8 * MIB, 0);
    for (uint64_t id = 1; id <= 4; id++) {
        put(id, 0, 6 * MIB, 's');
        ck_assert_int_eq(themis_store_remove(store, id), THEMIS_OK);
    }
    put(9, 4096 + 10, 20, 'x');
    put(9, 3 * 4096 - 5, 10, 'y');
    truncate_to(9, MIB);
    expect(9, 0, 4096 + 10, 0);
    expect(9, 4096 + 10, 20, 'x');
    expect(9, 4096 + 30, 2 * 4096 - 35, 0);
    expect(9, 3 * 4096 - 5, 10, 'y');
    expect(9, 3 * 4096 + 5, MIB - 3 * 4096 - 5, 0);
    close_store();
}

/* A write of the extent to a new object, under way, in space that has old bytes. */
static themis_store_window_t *prepare_over_used_space(uint64_t id, themis_store_extent_t extent)
{
    themis_store_window_t *window;

    put(1, 0, 6 * MIB, 's');
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_int_eq(themis_store_window_create(&window), THEMIS_OK);
    ck_assert_int_eq(themis_store_open(store, id, 1, owner, &window->object), THEMIS_OK);
    window->direction = THEMIS_WRITE;
    window->extent_count = 1;
    window->extents[0] = extent;
    ck_assert_int_eq(themis_store_prepare(store, window), THEMIS_OK);
    return window;
}

/* After finish. */
static void window_end(themis_store_window_t *window)
{
    themis_store_object_t *object = window->object;

    themis_store_window_destroy(window);
    themis_store_close(store, object);
}

TEST(a_failed_write_shows_nothing_old)
{
    open_store(_i, 8 * MIB, 0);
    themis_store_window_t *window = prepare_over_used_space(2, (themis_store_extent_t){10, MIB / 2});
    ck_assert_int_eq(themis_store_finish(store, window, THEMIS_DISCONNECTED), THEMIS_DISCONNECTED);
    window_end(window);
    ck_assert_uint_eq(size_of(2).end, 0);
    put(2, MIB, 1, 'x');
    expect(2, 0, MIB, 0);
    close_store();
}

/* The write is treated as if it came before the truncation, which ends inside a page. */
TEST(a_truncation_keeps_what_a_write_under_way_has_below_it)
{
    enum { WRITTEN = 8192, KEPT = 6000 };
    open_store(_i == 0 ? ARENA : DIRECT, 8 * MIB, 0);
    themis_store_window_t *window = prepare_over_used_space(2, (themis_store_extent_t){0, WRITTEN});
    ck_assert_uint_eq(window->bytes, WRITTEN);
    for (size_t i = 0; i < window->piece_count; i++)
        memset(window->pieces[i].iov_base, 'a', window->pieces[i].iov_len);
    truncate_to(2, KEPT);
    ck_assert_int_eq(themis_store_finish(store, window, THEMIS_OK), THEMIS_OK);
    window_end(window);
    ck_assert_uint_eq(size_of(2).end, KEPT);
    expect(2, 0, KEPT, 'a');
    truncate_to(2, WRITTEN);
    expect(2, 0, KEPT, 'a');
    expect(2, KEPT, WRITTEN - KEPT, 0);
    close_store();
}

TEST(truncation_cuts_and_grows)
{
    open_store(_i, 64 * MIB, 0);
    put(1, 0, MIB, 'a');
    truncate_to(1, 5000);
    ck_assert_uint_eq(size_of(1).end, 5000);
    truncate_to(1, 2 * MIB);
    ck_assert_uint_eq(size_of(1).end, 2 * MIB);
    expect(1, 0, 5000, 'a');
    expect(1, 5000, 2 * MIB - 5000, 0);
    truncate_to(1, 0);
    ck_assert_uint_eq(size_of(1).end, 0);
    put(1, 8192, 1, 'z');
    expect(1, 0, 8192, 0);
    close_store();
}

TEST(a_time_that_is_set_holds_until_the_next_write)
{
    open_store(_i, 64 * MIB, 0);
    put(1, 0, 10, 'a');
    themis_store_object_t *object;
    ck_assert_int_eq(themis_store_open(store, 1, 0, THEMIS_STORE_COMMON, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_set_modified(store, object, UINT64_C(1234567890123456789)), THEMIS_OK);
    themis_store_close(store, object);
    ck_assert_uint_eq(size_of(1).modified, UINT64_C(1234567890123456789));
    put(1, 0, 10, 'b');
    ck_assert_uint_gt(size_of(1).modified, UINT64_C(1234567890123456789));
    close_store();
}

TEST(files_beyond_a_tebibyte_are_sparse)
{
    uint64_t far = (UINT64_C(1) << 41) + 12345;

    open_store(_i, 64 * MIB, 0);
    put(1, far, 10000, 'f');
    put(1, 0, 10, 'n');
    ck_assert_uint_eq(size_of(1).end, far + 10000);
    ck_assert_uint_le(size_of(1).allocated, MIB);
    expect(1, far, 10000, 'f');
    expect(1, far - 100000, 100000, 0);
    close_store();
}

TEST(allocation_reserves_and_keeps)
{
    themis_store_object_t *object;
    themis_store_extent_t range = {4096, MIB};

    open_store(_i, 64 * MIB, 0);
    put(1, 8000, 1000, 'a');
    ck_assert_int_eq(themis_store_open(store, 1, 1, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_allocate(store, object, &range), THEMIS_OK);
    themis_store_close(store, object);
    ck_assert_uint_eq(size_of(1).end, 4096 + MIB);
    ck_assert_uint_ge(size_of(1).allocated, MIB);
    expect(1, 0, 8000, 0);
    expect(1, 8000, 1000, 'a');
    expect(1, 9000, MIB - 9000, 0);
    close_store();
}

/* What the object had stays, with its bytes. */
TEST(a_failed_allocation_keeps_nothing)
{
    themis_store_object_t *object;
    themis_store_extent_t range = {0, 96 * MIB};
    themis_store_usage_t before, after;

    open_store(_i == 0 ? ARENA : DIRECT, 64 * MIB, 0);
    put(1, 8 * MIB, 1000, 'a');
    uint64_t allocated = size_of(1).allocated, end = size_of(1).end;
    ck_assert_int_eq(themis_store_usage(store, &before), THEMIS_OK);
    ck_assert_int_eq(themis_store_open(store, 1, 1, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_allocate(store, object, &range), THEMIS_NO_SPACE);
    themis_store_close(store, object);
    ck_assert_int_eq(themis_store_usage(store, &after), THEMIS_OK);
    ck_assert_uint_eq(after.used, before.used);
    ck_assert_uint_eq(size_of(1).allocated, allocated);
    ck_assert_uint_eq(size_of(1).end, end);
    put(2, 0, 40 * MIB, 'b');
    expect(1, 0, 8 * MIB, 0);
    expect(1, 8 * MIB, 1000, 'a');
    close_store();
}

TEST(an_object_that_is_not_there)
{
    themis_store_object_t *object;

    open_store(_i, MIB, 0);
    ck_assert_int_eq(themis_store_open(store, 77, 0, owner, &object), THEMIS_NO_ENTRY);
    ck_assert_int_eq(themis_store_remove(store, 77), THEMIS_OK);
    close_store();
}

TEST(a_removed_object_lives_until_closed)
{
    themis_store_object_t *object;
    themis_store_size_t size;

    open_store(_i, 8 * MIB, 0);
    put(1, 0, MIB, 'a');
    ck_assert_int_eq(themis_store_open(store, 1, 0, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_int_eq(themis_store_size(store, object, &size), THEMIS_OK);
    ck_assert_uint_eq(size.end, MIB);
    themis_store_close(store, object);
    ck_assert_int_eq(themis_store_open(store, 1, 0, owner, &object), THEMIS_NO_ENTRY);
    close_store();
}

/* Against a plain array, at random places and lengths. */
TEST(random_writes_match_an_array)
{
    enum { BYTES = 1 << 19, ROUNDS = 3000 };
    uint8_t *model = calloc(1, BYTES), *got = malloc(BYTES), *bytes = malloc(BYTES);
    unsigned seed = 12345 + (unsigned)_i;
    uint64_t end = 0;

    open_store(_i, 4 * MIB, 0);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t offset = (uint64_t)rand_r(&seed) % BYTES, length = 1 + (uint64_t)rand_r(&seed) % (BYTES - offset);
        if (length > 20000 && rand_r(&seed) % 20)
            length %= 20000;
        length += length == 0;
        switch (rand_r(&seed) % 8) {
        case 0:
            truncate_to(1, offset);
            memset(model + offset, 0, BYTES - offset);
            end = offset;
            break;
        case 1:
            if (offset + length > end)
                break;
            ck_assert_int_eq(transfer(1, THEMIS_READ, offset, got, length), THEMIS_OK);
            ck_assert_mem_eq(got, model + offset, length);
            break;
        default:
            for (uint64_t i = 0; i < length; i++)
                bytes[i] = (uint8_t)rand_r(&seed);
            memcpy(model + offset, bytes, length);
            ck_assert_int_eq(transfer(1, THEMIS_WRITE, offset, bytes, length), THEMIS_OK);
            end = offset + length > end ? offset + length : end;
        }
    }
    truncate_to(1, BYTES);
    ck_assert_int_eq(transfer(1, THEMIS_READ, 0, got, BYTES), THEMIS_OK);
    ck_assert_mem_eq(got, model, BYTES);
    free(model);
    free(got);
    free(bytes);
    close_store();
}

/* A window of many small extents, as from a vector datatype. */
TEST(scattered_extents_in_one_window)
{
    themis_store_object_t *object;
    themis_store_window_t *window;
    uint8_t counter = 0;

    open_store(_i, 64 * MIB, 0);
    ck_assert_int_eq(themis_store_open(store, 1, 1, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_window_create(&window), THEMIS_OK);
    for (int direction = THEMIS_WRITE; direction >= THEMIS_READ; direction--) {
        window->object = object;
        window->direction = (themis_direction_t)direction;
        window->extent_count = THEMIS_STORE_WINDOW_EXTENTS;
        for (uint64_t i = 0; i < THEMIS_STORE_WINDOW_EXTENTS; i++)
            window->extents[i] = (themis_store_extent_t){i * 1000, 64};
        ck_assert_int_eq(themis_store_prepare(store, window), THEMIS_OK);
        ck_assert_uint_eq(window->bytes, 64 * THEMIS_STORE_WINDOW_EXTENTS);
        counter = 0;
        for (size_t i = 0; i < window->piece_count; i++)
            for (size_t k = 0; k < window->pieces[i].iov_len; k++) {
                uint8_t *byte = (uint8_t *)window->pieces[i].iov_base + k;
                if (direction == THEMIS_WRITE)
                    *byte = ++counter;
                else
                    REQUIRE(*byte == (uint8_t)++counter);
            }
        ck_assert_int_eq(themis_store_finish(store, window, THEMIS_OK), THEMIS_OK);
    }
    themis_store_window_destroy(window);
    themis_store_close(store, object);
    expect(1, 64, 936, 0);
    close_store();
}

TEST(a_full_arena_keeps_what_was_written)
{
    uint8_t *bytes = calloc(1, 4 * MIB);
    themis_store_usage_t usage;

    open_store(_i == 0 ? ARENA : DIRECT, 2 * MIB, 0);
    put(1, 0, MIB, 'a');
    ck_assert_int_eq(transfer(2, THEMIS_WRITE, 0, bytes, 4 * MIB), THEMIS_NO_SPACE);
    ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    ck_assert_uint_eq(usage.used, 2 * MIB);
    ck_assert_uint_eq(usage.objects, 2);
    expect(1, 0, MIB, 'a');
    ck_assert_uint_eq(size_of(2).end, MIB);
    ck_assert_int_eq(themis_store_remove(store, 2), THEMIS_OK);
    put(1, MIB, MIB, 'b');
    expect(1, 0, MIB, 'a');
    expect(1, MIB, MIB, 'b');
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    ck_assert_uint_eq(usage.used, 0);
    free(bytes);
    close_store();
}

TEST(an_arena_holds_many_small_objects)
{
    open_store(_i == 0 ? ARENA : DIRECT, 64 * MIB, 0);
    for (uint64_t id = 1; id <= 16384; id++)
        put(id, 0, 100, (uint8_t)id);
    for (uint64_t id = 1; id <= 16384; id += 97)
        expect(id, 0, 100, (uint8_t)id);
    uint8_t byte = 0;
    ck_assert_int_eq(transfer(20000, THEMIS_WRITE, 0, &byte, 1), THEMIS_NO_SPACE);
    close_store();
}

/* A thread of a low priority that holds the kernel's lock of the address space would stop all others. */
static void expect_one_priority(void)
{
    DIR *threads = opendir("/proc/self/task");
    int own = getpriority(PRIO_PROCESS, 0), count = 0;
    const struct dirent *entry;

    ck_assert_ptr_nonnull(threads);
    while ((entry = readdir(threads)))
        if (entry->d_name[0] != '.') {
            ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)atoi(entry->d_name)), own);
            count++;
        }
    closedir(threads);
    ck_assert_int_ge(count, 2);
}

TEST(an_arena_is_touched_ahead_by_what_was_asked)
{
    themis_store_usage_t usage = {0};

    open_store(_i == 0 ? ARENA : DIRECT, 64 * MIB, 8 * MIB);
    for (int i = 0; i < 500 && usage.warm < 8 * MIB; i++) {
        usleep(10000);
        ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    }
    ck_assert_uint_ge(usage.warm, 8 * MIB);
    ck_assert_uint_le(usage.warm, 10 * MIB);
    expect_one_priority();
    close_store();
}

enum { THREADS = 4, SLICE = 3000, SLICES = 400 };

/* Thread k writes every k-th slice of one object and reads it back; slices share pages. */
static void *slices_main(void *arg)
{
    int thread = (int)(intptr_t)arg;
    uint8_t bytes[SLICE], got[SLICE];

    for (int round = 0; round < 2; round++)
        for (int i = thread; i < SLICES; i += THREADS) {
            memset(bytes, 'A' + thread + round, SLICE);
            ck_assert_int_eq(transfer(1, THEMIS_WRITE, (uint64_t)i * SLICE, bytes, SLICE), THEMIS_OK);
            ck_assert_int_eq(transfer(1, THEMIS_READ, (uint64_t)i * SLICE, got, SLICE), THEMIS_OK);
            ck_assert_mem_eq(bytes, got, SLICE);
        }
    return NULL;
}

TEST(neighbours_write_one_object_at_once)
{
    pthread_t threads[THREADS];

    open_store(_i, 64 * MIB, MIB);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, slices_main, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SLICES; i++)
        expect(1, (uint64_t)i * SLICE, SLICE, (uint8_t)('A' + i % THREADS + 1));
    close_store();
}

/* Objects are created and removed while others write: a reader sees its own bytes or zeros. */
static void *churn_main(void *arg)
{
    uint64_t id = 10 + (uint64_t)(intptr_t)arg;
    unsigned seed = (unsigned)id;
    uint8_t *got = malloc(MIB), *wanted = malloc(MIB);

    for (int round = 0; round < 60; round++) {
        uint64_t length = 1 + (uint64_t)rand_r(&seed) % (MIB / 2), offset = (uint64_t)rand_r(&seed) % (MIB / 2);
        put(id, offset, length, (uint8_t)id);
        truncate_to(id, MIB);
        ck_assert_int_eq(transfer(id, THEMIS_READ, 0, got, MIB), THEMIS_OK);
        memset(wanted, 0, MIB);
        memset(wanted + offset, (int)id, length);
        ck_assert_int_eq(memcmp(got, wanted, MIB), 0);
        if (round % 3 == 0)
            truncate_to(id, 0);
        else
            ck_assert_int_eq(themis_store_remove(store, id), THEMIS_OK);
    }
    free(wanted);
    free(got);
    return NULL;
}

TEST(objects_come_and_go_at_once)
{
    pthread_t threads[THREADS];

    open_store(_i, 16 * MIB, MIB);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn_main, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    close_store();
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

enum { LISTED = 700, PAGE_OF_LIST = 32 };

/* How often each of the ids from 1 on below LISTED is listed; `between` (NULL: nothing) comes after each page. */
static void list_all(int times[LISTED], void (*between)(const themis_store_listed_t *listed, size_t count))
{
    themis_store_listed_t listed[PAGE_OF_LIST];
    uint64_t position = 0, last;
    size_t count;

    memset(times, 0, LISTED * sizeof *times);
    do {
        last = position;
        ck_assert_int_eq(themis_store_list(store, &position, listed, PAGE_OF_LIST, &count), THEMIS_OK);
        ck_assert(position > last && count <= PAGE_OF_LIST);
        for (size_t i = 0; i < count; i++) {
            ck_assert(listed[i].id > 0 && listed[i].id < LISTED);
            ck_assert(listed[i].end == listed[i].id && listed[i].modified != 0);
            times[listed[i].id]++;
        }
        if (between)
            between(listed, count);
    } while (position < UINT64_MAX);
    ck_assert_int_eq(themis_store_list(store, &position, listed, PAGE_OF_LIST, &count), THEMIS_OK);
    ck_assert_uint_eq(count, 0);
}

/* Those that a posix store has open are fewer. */
TEST(every_object_is_listed_once)
{
    themis_store_object_t *object;
    int times[LISTED];

    open_store(_i, 64 * MIB, 0);
    list_all(times, NULL);
    for (uint64_t id = 1; id < LISTED; id++) {
        ck_assert_int_eq(times[id], 0);
        ck_assert_int_eq(themis_store_open(store, id, 1, owner, &object), THEMIS_OK);
        ck_assert_int_eq(themis_store_truncate(store, object, id), THEMIS_OK);
        themis_store_close(store, object);
    }
    ck_assert_int_eq(themis_store_open(store, 5, 0, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_remove(store, 5), THEMIS_OK); /* it is open, but gone */
    list_all(times, NULL);
    for (uint64_t id = 1; id < LISTED; id++)
        ck_assert_int_eq(times[id], id != 5);
    themis_store_close(store, object);
    if (strcmp(types[_i], "posix") == 0) {
        const themis_store_options_t options = {.type = "posix", .path = test_scratch};
        themis_store_destroy(store);
        ck_assert_int_eq(themis_store_create(&options, &store), THEMIS_OK);
        list_all(times, NULL);
        for (uint64_t id = 1; id < LISTED; id++)
            ck_assert_int_eq(times[id], id != 5);
    }
    close_store();
}

/* Removes every second one of a page, the last one included, and adds others. */
static void change_between(const themis_store_listed_t *listed, size_t count)
{
    static uint64_t next = LISTED;
    themis_store_object_t *object;

    for (size_t i = count; i > 0; i -= i > 1 ? 2 : 1)
        ck_assert_int_eq(themis_store_remove(store, listed[i - 1].id), THEMIS_OK);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(themis_store_open(store, next, 1, owner, &object), THEMIS_OK);
        ck_assert_int_eq(themis_store_remove(store, next++), THEMIS_OK);
        themis_store_close(store, object);
    }
}

TEST(a_list_goes_on_while_objects_come_and_go)
{
    int times[LISTED];

    open_store(_i, 64 * MIB, 0);
    for (uint64_t id = 1; id < LISTED; id++)
        truncate_to(id, id);
    list_all(times, change_between);
    for (uint64_t id = 1; id < LISTED; id++)
        ck_assert_int_eq(times[id], 1);
    close_store();
}

/* What cannot be read is no end. */
TEST(a_list_that_fails_says_so)
{
    themis_store_listed_t listed[1];
    uint64_t position = 0;
    size_t count;
    char path[4096 + 8];

    open_store(1, MIB, 0);
    truncate_to(1, 1);
    snprintf(path, sizeof path, "%s/00", test_scratch);
    ck_assert_int_eq(symlink("00", path), 0); /* to itself */
    themis_util_log_set_level(THEMIS_LOG_ERROR);
    ck_assert_int_ne(themis_store_list(store, &position, listed, 1, &count), THEMIS_OK);
    ck_assert_uint_eq(position, 0);
    close_store();
}

/* As many claims of one page as a counter of 16 bits would carry into its next use. */
TEST(many_windows_over_one_page_do_not_make_it_valid)
{
    enum { WINDOWS = 128, RUNS = 256, PAGE = 4096 };
    themis_store_window_t *windows[WINDOWS];
    themis_store_object_t *object;

    open_store(ARENA, 8 * MIB, 0);
    put(1, 0, 6 * MIB, 's');
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_int_eq(themis_store_open(store, 2, 1, owner, &object), THEMIS_OK);
    for (int i = 0; i < WINDOWS; i++) {
        ck_assert_int_eq(themis_store_window_create(&windows[i]), THEMIS_OK);
        windows[i]->object = object;
        windows[i]->direction = THEMIS_WRITE;
        windows[i]->extent_count = RUNS;
        for (int k = 0; k < RUNS; k++)
            windows[i]->extents[k] = (themis_store_extent_t){0, PAGE};
        ck_assert_int_eq(themis_store_prepare(store, windows[i]), THEMIS_OK);
        ck_assert_uint_eq(windows[i]->bytes, (uint64_t)RUNS * PAGE);
        expect(2, 0, PAGE, 0);
    }
    for (int i = 0; i < WINDOWS; i++) {
        ck_assert_int_eq(themis_store_finish(store, windows[i], THEMIS_DISCONNECTED), THEMIS_DISCONNECTED);
        expect(2, 0, PAGE, 0);
        themis_store_window_destroy(windows[i]);
    }
    themis_store_close(store, object);
    close_store();
}

TEST(wrong_options_are_refused)
{
    themis_store_options_t options = {.type = "floppy", .size = MIB};

    themis_util_log_set_level(THEMIS_LOG_ERROR);
    ck_assert_int_eq(themis_store_create(&options, &store), THEMIS_CONFIG);
    options = (themis_store_options_t){.type = "arena", .size = 100};
    ck_assert_int_eq(themis_store_create(&options, &store), THEMIS_CONFIG);
    options = (themis_store_options_t){.type = "posix", .path = "/no/such/directory"};
    ck_assert_int_eq(themis_store_create(&options, &store), THEMIS_CONFIG);
    themis_store_destroy(NULL);
}

int main(void)
{
    Suite *suite = suite_create("store");
    const int count = TYPES;

    test_case(suite, "all stores", 60, NULL, NULL,
              TESTS({bytes_come_back, count}, {holes_read_as_zeros, count},
                    {space_that_was_used_before_shows_nothing_old, count}, {a_failed_write_shows_nothing_old, count},
                    {truncation_cuts_and_grows, count}, {a_time_that_is_set_holds_until_the_next_write, count},
                    {files_beyond_a_tebibyte_are_sparse, count}, {allocation_reserves_and_keeps, count},
                    {an_object_that_is_not_there, count}, {a_removed_object_lives_until_closed, count},
                    {random_writes_match_an_array, count}, {scattered_extents_in_one_window, count},
                    {neighbours_write_one_object_at_once, count}, {objects_come_and_go_at_once, count},
                    {every_object_is_listed_once, count}, {a_list_goes_on_while_objects_come_and_go, count},
                    {a_list_that_fails_says_so, 1}));
    test_case(suite, "arena", 60, NULL, NULL,
              TESTS({a_truncation_keeps_what_a_write_under_way_has_below_it, 2},
                    {a_full_arena_keeps_what_was_written, 2}, {a_failed_allocation_keeps_nothing, 2},
                    {an_arena_holds_many_small_objects, 2}, {an_arena_is_touched_ahead_by_what_was_asked, 2},
                    {many_windows_over_one_page_do_not_make_it_valid, 1}, {wrong_options_are_refused, 1}));
    return test_run(suite);
}
