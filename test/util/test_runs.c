/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of strided runs and flattened types, against byte-by-byte models. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "util/flat_type.h"
#include "test/lib/run.h"

enum { SPACE = 3000 };

static uint64_t state = 7;
static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

/* Random pieces in order; where[p] is the offset of stream byte p. Returns their number of bytes. */
static uint64_t make(themis_util_runs_t *runs, uint64_t *where)
{
    uint64_t at = draw(50), bytes = 0, regular = draw(2), length = 1 + draw(9), gap = draw(9);
    while (at < SPACE - 100) {
        if (!regular || draw(20) == 0) {
            length = 1 + draw(40);
            gap = draw(3) ? 1 + draw(30) : 0;
        }
        ck_assert_int_eq(themis_util_runs_add(runs, at, length), THEMIS_OK);
        for (uint64_t i = 0; i < length; i++)
            where[bytes++] = at + i;
        at += length + gap;
    }
    return bytes;
}

TEST(pieces_of_a_vector_are_one_run)
{
    themis_util_runs_t runs = {0};
    for (uint64_t i = 0; i < 1000; i++)
        ck_assert_int_eq(themis_util_runs_add(&runs, 64 + i * 256, 64), THEMIS_OK);
    ck_assert_uint_eq(runs.count, 1);
    ck_assert_uint_eq(runs.run[0].count, 1000);
    ck_assert_uint_eq(runs.run[0].stride, 256);
    ck_assert_uint_eq(runs.bytes, 64000);
    ck_assert_int_eq(runs.unordered, 0);
    ck_assert_int_eq(themis_util_runs_add(&runs, 0, 1), THEMIS_OK);
    ck_assert_int_eq(runs.unordered, 1);
    themis_util_runs_free(&runs);
}

/* Adds an extent in random parts: pieces of its own size where it can be a run, or cut anywhere. */
static void add_in_parts(themis_util_runs_t *runs, const themis_run_t *run)
{
    uint64_t pieces = draw(run->count + 1);
    themis_run_t rest = {run->offset + pieces * run->stride, run->length, run->stride, run->count - pieces};

    for (uint64_t i = 0; i < pieces; i++) {
        uint64_t offset = run->offset + i * run->stride, part = draw(run->length + 1);
        ck_assert_int_eq(themis_util_runs_add(runs, offset, part), THEMIS_OK);
        ck_assert_int_eq(themis_util_runs_add(runs, offset + part, run->length - part), THEMIS_OK);
    }
    ck_assert_int_eq(themis_util_runs_add_run(runs, &rest), THEMIS_OK);
}

TEST(lists_depend_on_their_bytes_only)
{
    for (int round = 0; round < 5000; round++) {
        themis_util_runs_t one = {0}, other = {0};
        uint64_t at = draw(50), length = 1 + draw(5), gap = draw(5);
        for (uint64_t i = draw(12); i > 0; i--) {
            themis_run_t run = {at, length, length + gap, 1 + draw(4)};
            add_in_parts(&one, &run);
            add_in_parts(&other, &run);
            at += (run.count - 1) * run.stride + length + (draw(3) ? gap : draw(5));
            length = draw(3) ? length : 1 + draw(5);
        }
        ck_assert_uint_eq(one.count, other.count);
        ck_assert_uint_eq(one.bytes, other.bytes);
        ck_assert_uint_eq(themis_util_runs_hash(&one), themis_util_runs_hash(&other));
        for (size_t i = 0; i < one.count; i++)
            ck_assert_uint_eq(one.start[i], other.start[i]);
        themis_util_runs_free(&one);
        themis_util_runs_free(&other);
    }
}

TEST(clips_are_what_lies_in_the_range)
{
    static uint64_t where[SPACE];
    for (int round = 0; round < 2000; round++) {
        themis_util_runs_t runs = {0};
        themis_util_runs_clip_t clip;
        themis_util_runs_row_t row;
        uint64_t bytes = make(&runs, where), low = draw(SPACE), high = low + draw(SPACE), next = 0, last = 0;
        ck_assert_uint_eq(runs.bytes, bytes);
        while (next < bytes && where[next] < low)
            next++;
        themis_util_runs_clip_begin(&clip, &runs, low, high);
        while (themis_util_runs_clip_next(&clip, &row))
            for (uint64_t piece = 0; piece < row.count; piece++)
                for (uint64_t i = 0; i < row.length; i++, next++) {
                    last = row.offset + piece * row.stride + i + 1;
                    ck_assert_uint_eq(where[next], last - 1);
                    ck_assert_uint_eq(row.position + piece * row.length + i, next);
                }
        ck_assert(next == bytes || where[next] >= high);
        if (last)
            ck_assert_uint_eq(themis_util_runs_last_before(&runs, high), last);
        themis_util_runs_free(&runs);
    }
}

TEST(offsets_and_copies_follow_the_stream)
{
    static uint64_t where[SPACE];
    static unsigned char memory[SPACE], packed[SPACE], copy[SPACE];
    for (int round = 0; round < 300; round++) {
        themis_util_runs_t runs = {0};
        uint64_t bytes = make(&runs, where), from = draw(bytes), part = draw(bytes - from + 1);
        for (uint64_t i = 0; i < SPACE; i++)
            memory[i] = (unsigned char)draw(256);
        themis_util_runs_copy(&runs, memory, from, packed, part, THEMIS_WRITE);
        memset(copy, 0, sizeof copy);
        themis_util_runs_copy(&runs, copy, from, packed, part, THEMIS_READ);
        for (uint64_t p = 0; p < bytes; p++) {
            ck_assert_uint_eq(themis_util_runs_offset(&runs, p), where[p]);
            ck_assert_uint_eq(copy[where[p]], p >= from && p < from + part ? memory[where[p]] : 0);
        }
        themis_util_runs_free(&runs);
    }
}

TEST(the_hash_does_not_see_the_place)
{
    themis_util_runs_t a = {0}, b = {0};
    themis_util_runs_add_run(&a, &(themis_run_t){100, 8, 32, 10});
    themis_util_runs_add_run(&b, &(themis_run_t){5100, 8, 32, 10});
    ck_assert_uint_eq(themis_util_runs_hash(&a), themis_util_runs_hash(&b));
    themis_util_runs_add(&b, 90000, 1);
    ck_assert_uint_ne(themis_util_runs_hash(&a), themis_util_runs_hash(&b));
    themis_util_runs_free(&a);
    themis_util_runs_free(&b);
}

/* A type of random blocks, with bounds marked by empty blocks as ROMIO does, and extents that leave gaps. */
TEST(types_are_tiled)
{
    for (int round = 0; round < 500; round++) {
        int64_t offset[12], length[12], at = (int64_t)draw(20);
        size_t blocks = 1 + draw(9), n = 0;
        uint64_t size = 0;
        for (size_t i = 0; i < blocks; i++) {
            offset[n] = at;
            length[n] = draw(5) ? 1 + (int64_t)draw(12) : 0;
            size += (uint64_t)length[n];
            at += length[n++] + (int64_t)draw(9);
        }
        if (!size)
            continue;
        themis_util_flat_type_t type;
        themis_util_runs_t runs = {0};
        int64_t extent = at + (int64_t)draw(10);
        ck_assert_int_eq(themis_util_flat_type_create(offset, length, n, extent, &type), THEMIS_OK);
        uint64_t position = draw(3 * size), bytes = 1 + draw(4 * size), p = 0;
        ck_assert_int_eq(themis_util_flat_type_expand(&type, 1000, position, bytes, SIZE_MAX, &runs), THEMIS_OK);
        ck_assert_uint_eq(runs.bytes, bytes);
        for (uint64_t instance = 0; p < position + bytes; instance++)
            for (size_t b = 0; b < n; b++)
                for (int64_t i = 0; i < length[b]; i++, p++) {
                    uint64_t place = instance * (uint64_t)extent + (uint64_t)(offset[b] + i);
                    ck_assert_uint_eq(themis_util_flat_type_offset(&type, p), place);
                    ck_assert_uint_eq(themis_util_flat_type_position(&type, place), p);
                    if (p >= position && p < position + bytes)
                        ck_assert_uint_eq(themis_util_runs_offset(&runs, p - position), 1000 + place);
                }
        themis_util_runs_free(&runs);
        themis_util_flat_type_destroy(&type);
    }
}

TEST(ranges_of_types_have_all_bytes)
{
    int64_t offset[] = {4, 20, 10}, length[] = {4, 5, 2};

    for (size_t blocks = 2; blocks <= 3; blocks++) /* in order, and not */
        for (uint64_t position = 0; position < 30; position++)
            for (uint64_t bytes = 1; bytes < 30; bytes++) {
                themis_util_flat_type_t type;
                uint64_t first, end, lowest = UINT64_MAX, highest = 0;
                ck_assert_int_eq(themis_util_flat_type_create(offset, length, blocks, blocks == 2 ? 22 : 12, &type),
                                 THEMIS_OK);
                for (uint64_t p = position; p < position + bytes; p++) {
                    uint64_t at = themis_util_flat_type_offset(&type, p);
                    lowest = at < lowest ? at : lowest;
                    highest = at > highest ? at : highest;
                }
                themis_util_flat_type_range(&type, position, bytes, &first, &end);
                ck_assert(first <= lowest && end > highest);
                if (blocks == 2)
                    ck_assert(first == lowest && end == highest + 1);
                themis_util_flat_type_destroy(&type);
            }
}

TEST(types_are_expanded_as_far_as_wanted)
{
    int64_t offset[] = {0, 10, 30}, length[] = {4, 5, 2};
    themis_util_flat_type_t type;
    themis_util_runs_t all = {0}, some = {0};

    ck_assert_int_eq(themis_util_flat_type_create(offset, length, 3, 40, &type), THEMIS_OK);
    ck_assert_int_eq(themis_util_flat_type_expand(&type, 7, 3, 1000, SIZE_MAX, &all), THEMIS_OK);
    for (uint64_t done = 0; done < 1000; done += some.bytes) {
        themis_util_runs_clear(&some);
        ck_assert_int_eq(themis_util_flat_type_expand(&type, 7, 3 + done, 1000 - done, 10, &some), THEMIS_OK);
        ck_assert(some.count >= 10 || done + some.bytes == 1000);
        ck_assert_uint_le(some.count, 12);
        ck_assert_uint_eq(themis_util_runs_first(&some), themis_util_runs_offset(&all, done));
    }
    themis_util_runs_free(&all);
    themis_util_runs_free(&some);
    themis_util_flat_type_destroy(&type);
}

TEST(a_type_without_data_has_no_bytes)
{
    int64_t zero = 0;
    themis_util_flat_type_t type;
    themis_util_runs_t runs = {0};
    ck_assert_int_eq(themis_util_flat_type_create(&zero, &zero, 1, 8, &type), THEMIS_OK);
    ck_assert_int_eq(themis_util_flat_type_expand(&type, 0, 0, 0, SIZE_MAX, &runs), THEMIS_OK);
    ck_assert_int_eq(themis_util_flat_type_expand(&type, 0, 0, 1, SIZE_MAX, &runs), THEMIS_INVALID);
    themis_util_flat_type_destroy(&type);
    themis_util_runs_free(&runs);
}

int main(void)
{
    Suite *suite = suite_create("runs");
    test_case(suite, "runs", 60, NULL, NULL,
              TESTS({pieces_of_a_vector_are_one_run, 1}, {lists_depend_on_their_bytes_only, 1},
                    {clips_are_what_lies_in_the_range, 1}, {offsets_and_copies_follow_the_stream, 1},
                    {the_hash_does_not_see_the_place, 1}, {types_are_tiled, 1}, {ranges_of_types_have_all_bytes, 1},
                    {types_are_expanded_as_far_as_wanted, 1}, {a_type_without_data_has_no_bytes, 1}));
    return test_run(suite);
}
