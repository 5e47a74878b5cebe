/* SPDX-License-Identifier: BSD-3-Clause */
/* Consistent hashing of paths over servers. */
#include <check.h>
#include <stdio.h>
#include "test/lib/run.h"
#include "util/hash_ring.h"

enum { NAMES = 20000 };

static uint32_t home(const themis_util_hash_ring_t *ring, int number)
{
    char path[64];
    int length = snprintf(path, sizeof path, "/some/directory/file.%d", number);

    return themis_util_hash_ring_home(ring, path, (size_t)length);
}

TEST(names_spread_evenly)
{
    uint32_t counts[8] = {0};
    themis_util_hash_ring_t *ring;

    ck_assert_int_eq(themis_util_hash_ring_create(8, &ring), THEMIS_OK);
    for (int i = 0; i < NAMES; i++) {
        uint32_t server = home(ring, i);
        ck_assert_uint_lt(server, 8);
        counts[server]++;
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_uint_gt(counts[i], NAMES / 8 * 7 / 10);
        ck_assert_uint_lt(counts[i], NAMES / 8 * 13 / 10);
    }
    themis_util_hash_ring_destroy(ring);
}

TEST(an_appended_server_takes_its_part_and_nothing_else_moves)
{
    themis_util_hash_ring_t *before, *after;
    int moved = 0;

    ck_assert_int_eq(themis_util_hash_ring_create(4, &before), THEMIS_OK);
    ck_assert_int_eq(themis_util_hash_ring_create(5, &after), THEMIS_OK);
    for (int i = 0; i < NAMES; i++) {
        uint32_t now = home(after, i);
        if (home(before, i) == now)
            continue;
        ck_assert_uint_eq(now, 4);
        moved++;
    }
    ck_assert_int_gt(moved, NAMES / 5 * 7 / 10);
    ck_assert_int_lt(moved, NAMES / 5 * 13 / 10);
    themis_util_hash_ring_destroy(before);
    themis_util_hash_ring_destroy(after);
}

TEST(one_server_owns_all_and_none_is_refused)
{
    themis_util_hash_ring_t *ring = NULL;

    ck_assert_int_eq(themis_util_hash_ring_create(0, &ring), THEMIS_INVALID);
    ck_assert_ptr_null(ring);
    ck_assert_int_eq(themis_util_hash_ring_create(1, &ring), THEMIS_OK);
    ck_assert_uint_eq(themis_util_hash_ring_home(ring, "/", 1), 0);
    ck_assert_uint_eq(themis_util_hash_ring_home(ring, "", 0), 0);
    themis_util_hash_ring_destroy(ring);
    themis_util_hash_ring_destroy(NULL);
}

int main(void)
{
    Suite *suite = suite_create("ring");

    test_case(suite, "all", 20, NULL, NULL,
              TESTS({names_spread_evenly, 1}, {an_appended_server_takes_its_part_and_nothing_else_moves, 1},
                    {one_server_owns_all_and_none_is_refused, 1}));
    return test_run(suite);
}
