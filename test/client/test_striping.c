/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement, run compression and paths, against brute force. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "client/path.h"
#include "client/striping.h"
#include "util/runs.h"
#include "test/client/random.h"
#include "test/lib/run.h"

enum { ROUNDS = 3000, MAX_OBJECTS = 5, MAX_BYTES = 4096 };

/* --- runs --------------------------------------------------------------------------------------------------------- */

/* Writes the offsets of all bytes of a list in order; returns their number. */
static size_t flatten(const themis_run_t *runs, size_t count, uint64_t *bytes)
{
    size_t used = 0;

    for (size_t r = 0; r < count; r++)
        for (uint64_t i = 0; i < runs[r].count; i++)
            for (uint64_t b = 0; b < runs[r].length; b++)
                bytes[used++] = runs[r].offset + i * runs[r].stride + b;
    return used;
}

static themis_run_t random_run(void)
{
    themis_run_t run = {draw(200), 1 + draw(6), 0, 1 + draw(5)};

    run.stride = draw(3) ? run.length + draw(6) : draw(10);
    return run;
}

TEST(runs_keep_every_byte_in_order)
{
    static uint64_t wanted[MAX_BYTES], got[MAX_BYTES];
    themis_run_t input[20];
    themis_util_runs_t runs = {0};

    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + draw(20);
        themis_util_runs_clear(&runs);
        for (size_t i = 0; i < count; i++) {
            input[i] = random_run();
            if (i > 0 && draw(2)) /* often regular, often adjacent */
                input[i].offset = input[i - 1].offset + input[i - 1].count * input[i - 1].stride;
            ck_assert_int_eq(themis_util_runs_add_run(&runs, &input[i]), THEMIS_OK);
        }
        size_t bytes = flatten(input, count, wanted);
        ck_assert_uint_eq(runs.bytes, bytes);
        ck_assert_uint_eq(flatten(runs.run, runs.count, got), bytes);
        ck_assert_mem_eq(got, wanted, bytes * sizeof *got);
        for (size_t i = 0; i < runs.count; i++)
            ck_assert(runs.run[i].count == 1 || runs.run[i].stride >= runs.run[i].length);
    }
    themis_util_runs_free(&runs);
}

TEST(regular_extents_become_one_run)
{
    themis_util_runs_t runs = {0};

    for (uint64_t i = 0; i < 1000; i++) { /* each piece given in two adjacent halves */
        themis_util_runs_add(&runs, 64 + i * 256, 32);
        themis_util_runs_add(&runs, 64 + i * 256 + 32, 32);
    }
    ck_assert_uint_eq(runs.count, 1);
    ck_assert_uint_eq(runs.run[0].offset, 64);
    ck_assert_uint_eq(runs.run[0].length, 64);
    ck_assert_uint_eq(runs.run[0].stride, 256);
    ck_assert_uint_eq(runs.run[0].count, 1000);
    themis_util_runs_free(&runs);
}

/* --- placement ---------------------------------------------------------------------------------------------------- */

typedef struct seen {
    const themis_layout_t *layout;
    uint64_t bytes[MAX_BYTES]; /* file offset of each byte of the list, by its position */
    size_t count;
} seen_t;

/* Turns a piece of an object back into file offsets. */
static themis_status_t see(void *arg, uint32_t index, const themis_run_t *run, uint64_t position)
{
    seen_t *seen = arg;
    uint64_t size = seen->layout->stripe_size;

    ck_assert_uint_lt(index, seen->layout->count);
    for (uint64_t i = 0; i < run->count; i++)
        for (uint64_t b = 0; b < run->length; b++) {
            uint64_t at = run->offset + i * run->stride + b;
            ck_assert_uint_eq(position, seen->count);
            seen->bytes[seen->count++] = (at / size * seen->layout->count + index) * size + at % size;
            position++;
        }
    return THEMIS_OK;
}

TEST(placement_covers_every_byte)
{
    static uint64_t wanted[MAX_BYTES];
    static seen_t seen;

    for (int round = 0; round < ROUNDS; round++) {
        themis_layout_t layout = {1 + draw(24), 1 + (uint32_t)draw(MAX_OBJECTS), 0};
        themis_run_t run = {draw(300), 1 + draw(60), draw(80), 1 + draw(12)};
        seen.layout = &layout;
        seen.count = 0;
        ck_assert_int_eq(themis_client_striping_run(&layout, &run, 0, see, &seen), THEMIS_OK);
        size_t bytes = flatten(&run, 1, wanted);
        ck_assert_uint_eq(seen.count, bytes);
        ck_assert_mem_eq(seen.bytes, wanted, bytes * sizeof *wanted);
    }
}

TEST(ends_agree_with_brute_force)
{
    for (int round = 0; round < ROUNDS; round++) {
        themis_layout_t layout = {1 + draw(20), 1 + (uint32_t)draw(MAX_OBJECTS), 0};
        uint64_t size = draw(400), ends[MAX_OBJECTS] = {0}, largest = 0;
        for (uint64_t at = 0; at < size; at++) {
            uint64_t stripe = at / layout.stripe_size;
            ends[stripe % layout.count] = stripe / layout.count * layout.stripe_size + at % layout.stripe_size + 1;
        }
        for (uint32_t index = 0; index < layout.count; index++) {
            uint64_t end = themis_client_striping_object_end(&layout, index, size);
            uint64_t file_end = themis_client_striping_file_end(&layout, index, end);
            ck_assert_uint_eq(end, ends[index]);
            largest = file_end > largest ? file_end : largest;
        }
        ck_assert_uint_eq(largest, size);
    }
}

TEST(bytes_before_the_end)
{
    static uint64_t flat[MAX_BYTES];
    themis_run_t runs[6];

    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + draw(6);
        uint64_t size = draw(260), sum = 0, wanted = 0;
        for (size_t i = 0; i < count; i++)
            runs[i] = random_run();
        size_t bytes = flatten(runs, count, flat);
        while (wanted < bytes && flat[wanted] < size)
            wanted++;
        ck_assert_uint_eq(themis_client_striping_bytes_before(runs, count, size), wanted);
        ck_assert_int_eq(themis_client_striping_bytes(runs, count, &sum), THEMIS_OK);
        ck_assert_uint_eq(sum, bytes);
    }
}

TEST(sums_that_overflow_are_refused)
{
    const themis_run_t bad[] = {{UINT64_MAX, 1, 1, 1},
                                {INT64_MAX, 1, 1, 1},
                                {0, UINT64_MAX, 0, 1},
                                {0, 1, UINT64_MAX / 2, 4},
                                {0, UINT64_C(1) << 40, 0, UINT64_C(1) << 30}};
    const themis_run_t good = {INT64_MAX - 1, 1, 1, 1};
    uint64_t bytes = 7;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(themis_client_striping_bytes(&bad[i], 1, &bytes), THEMIS_RANGE);
    ck_assert_uint_eq(bytes, 7);
    ck_assert_int_eq(themis_client_striping_bytes(&good, 1, &bytes), THEMIS_OK);
    ck_assert_uint_eq(bytes, 1);
}

/* One list for each object, as a request builds it. */
static themis_status_t collect(void *arg, uint32_t index, const themis_run_t *run, uint64_t position)
{
    return themis_util_runs_add_run((themis_util_runs_t *)arg + index, run);
}

TEST(a_vector_stays_small_over_servers)
{
    themis_layout_t layout = {65536, 1, 0};
    themis_run_t run = {4096, 64, 256, 100000};

    for (layout.count = 1; layout.count <= 4; layout.count++) {
        themis_util_runs_t runs[4] = {0};
        for (uint64_t step = 0; step < 2; step++) {
            run.offset = 4096 + step * 64;
            themis_client_striping_run(&layout, &run, 0, collect, runs);
        }
        for (uint32_t index = 0; index < layout.count; index++) {
            ck_assert_uint_le(runs[index].count, 4);
            themis_util_runs_free(&runs[index]);
        }
    }
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

TEST(paths_are_normalised)
{
    static const char *const pairs[][2] = {{"/", "/"},
                                           {"//", "/"},
                                           {"/a", "/a"},
                                           {"/a/", "/a"},
                                           {"/a//b/./c", "/a/b/c"},
                                           {"/a/../b", "/b"},
                                           {"/..", "/"},
                                           {"/../../x", "/x"},
                                           {"/a/b/../..", "/"},
                                           {"/...", "/..."},
                                           {"/.a/..b", "/.a/..b"},
                                           {"/a/.", "/a"}};
    char normal[THEMIS_PATH_BYTES];

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ck_assert_int_eq(themis_client_path_normalise(pairs[i][0], normal), THEMIS_OK);
        ck_assert_str_eq(normal, pairs[i][1]);
    }
    ck_assert_int_eq(themis_client_path_normalise("a", normal), THEMIS_BAD_NAME);
    ck_assert_int_eq(themis_client_path_normalise("", normal), THEMIS_BAD_NAME);
    ck_assert_int_eq(themis_client_path_normalise(NULL, normal), THEMIS_BAD_NAME);
}

TEST(long_names_are_refused)
{
    char normal[THEMIS_PATH_BYTES], path[6000];

    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[256] = '\0'; /* 255 bytes of name */
    ck_assert_int_eq(themis_client_path_normalise(path, normal), THEMIS_OK);
    path[256] = 'x';
    path[257] = '\0';
    ck_assert_int_eq(themis_client_path_normalise(path, normal), THEMIS_NAME_TOO_LONG);
    for (size_t i = 0; i < sizeof path; i++)
        path[i] = i % 2 ? 'y' : '/';
    path[4096] = '\0';
    ck_assert_int_eq(themis_client_path_normalise(path, normal), THEMIS_OK);
    path[4096] = '/';
    path[4098] = '\0';
    ck_assert_int_eq(themis_client_path_normalise(path, normal), THEMIS_NAME_TOO_LONG);
}

TEST(paths_are_cut_and_joined)
{
    char directory[THEMIS_PATH_BYTES], path[THEMIS_PATH_BYTES];
    const char *name;

    ck_assert_int_eq(themis_client_path_split("/a/b", directory, &name), THEMIS_OK);
    ck_assert_str_eq(directory, "/a");
    ck_assert_str_eq(name, "b");
    ck_assert_int_eq(themis_client_path_split("/a", directory, &name), THEMIS_OK);
    ck_assert_str_eq(directory, "/");
    ck_assert_int_eq(themis_client_path_split("/", directory, &name), THEMIS_INVALID);
    ck_assert_int_eq(themis_client_path_join("/", "x", path), THEMIS_OK);
    ck_assert_str_eq(path, "/x");
    ck_assert_int_eq(themis_client_path_join("/a", "x", path), THEMIS_OK);
    ck_assert_str_eq(path, "/a/x");
    ck_assert(themis_client_path_is_below("/a/b", "/a"));
    ck_assert(themis_client_path_is_below("/a", "/a"));
    ck_assert(themis_client_path_is_below("/a", "/"));
    ck_assert(!themis_client_path_is_below("/ab", "/a"));
}

int main(void)
{
    Suite *suite = suite_create("client placement");

    test_case(suite, "all", 60, NULL, NULL,
              TESTS({runs_keep_every_byte_in_order, 1}, {regular_extents_become_one_run, 1},
                    {placement_covers_every_byte, 1}, {ends_agree_with_brute_force, 1}, {bytes_before_the_end, 1},
                    {sums_that_overflow_are_refused, 1}, {a_vector_stays_small_over_servers, 1},
                    {paths_are_normalised, 1}, {long_names_are_refused, 1}, {paths_are_cut_and_joined, 1}));
    return test_run(suite);
}
