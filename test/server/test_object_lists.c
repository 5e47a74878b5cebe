/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of the servers that may have objects of a file. */
#define _GNU_SOURCE
#include <check.h>
#include <stdlib.h>
#include "server/object_lists.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"

enum { SERVERS = 400 };

static themis_server_name_db_t *db;
static themis_server_object_lists_t *lists;

static void open_lists(void)
{
    ck_assert_int_eq(themis_server_name_db_open(test_scratch, 0, 2, NULL, &db), THEMIS_OK);
    ck_assert_int_eq(themis_server_object_lists_create(db, SERVERS, &lists), THEMIS_OK);
}

static void close_lists(void)
{
    themis_server_object_lists_destroy(lists);
    themis_server_name_db_close(db);
}

static void set_up(void)
{
    test_scratch_make();
    open_lists();
}

static void tear_down(void)
{
    close_lists();
    test_scratch_remove();
}

/* Returns the index that is lost. Lists are given as they come in messages, little-endian. */
static uint32_t add(uint64_t object, uint32_t index, uint8_t store, int drop)
{
    const uint8_t bytes[12] = {(uint8_t)index, (uint8_t)(index >> 8), 0, 0, store};
    const themis_proto_enlist_t request = {.object = object, .drop = (uint8_t)drop, .count = 1, .list = bytes};
    uint32_t lost = 0;

    ck_assert_int_eq(themis_server_object_lists_add(lists, &request, &lost), THEMIS_OK);
    return lost;
}

/* The store that is listed for an index; 0: none. */
static uint64_t store_of(uint64_t object, uint32_t index)
{
    themis_proto_listed_t *list;
    uint32_t count;
    uint64_t store = 0;

    ck_assert_int_eq(themis_server_object_lists_get(lists, object, &list, &count), THEMIS_OK);
    for (uint32_t i = 0; i < count; i++)
        store = list[i].index == index ? list[i].store : store;
    free(list);
    return store;
}

TEST(an_entry_stays_until_it_is_dropped)
{
    ck_assert_uint_eq(store_of(5, 1), 0);
    ck_assert_uint_eq(add(5, 1, 7, 0), UINT32_MAX);
    ck_assert_uint_eq(add(5, 300, 8, 0), UINT32_MAX);
    ck_assert_uint_eq(add(5, 1, 7, 0), UINT32_MAX);
    ck_assert_uint_eq(add(5, 1, 9, 0), 1);
    ck_assert_uint_eq(store_of(5, 1), 7);
    ck_assert_uint_eq(add(5, 1, 9, 1), UINT32_MAX); /* it is not that one */
    ck_assert_uint_eq(store_of(5, 1), 7);
    ck_assert_uint_eq(add(5, 1, 7, 1), UINT32_MAX);
    ck_assert_uint_eq(store_of(5, 1), 0);
    ck_assert_uint_eq(add(5, 1, 9, 0), UINT32_MAX);
    ck_assert_uint_eq(store_of(5, 1), 9);
    ck_assert_uint_eq(store_of(5, 300), 8);
    ck_assert_uint_eq(store_of(6, 1), 0);
}

TEST(lists_outlive_the_server_but_not_the_object)
{
    add(5, 1, 7, 0);
    add(6, 1, 8, 0);
    close_lists();
    open_lists();
    ck_assert_uint_eq(store_of(5, 1), 7);
    ck_assert_int_eq(themis_server_object_lists_forget(lists, 5), THEMIS_OK);
    ck_assert_int_eq(themis_server_object_lists_forget(lists, 5), THEMIS_OK);
    ck_assert_uint_eq(store_of(5, 1), 0);
    ck_assert_uint_eq(store_of(6, 1), 8);
}

/* As many as there are other servers, and no more. */
TEST(lists_are_bounded)
{
    static const uint8_t bad[][12] = {{0, 0, 0, 0, 1}, {SERVERS & 0xff, SERVERS >> 8, 0, 0, 1}};
    uint32_t lost;

    for (uint32_t i = 1; i < SERVERS; i++)
        add(5, i, 1, 0);
    ck_assert_uint_eq(store_of(5, SERVERS - 1), 1);
    for (int i = 0; i < 2; i++) {
        const themis_proto_enlist_t request = {.object = 6, .count = 1, .list = bad[i]};
        ck_assert_int_eq(themis_server_object_lists_add(lists, &request, &lost), THEMIS_INVALID);
    }
    ck_assert_uint_eq(store_of(6, 0), 0);
}

int main(void)
{
    Suite *suite = suite_create("object lists");

    test_case(suite, "all", 60, set_up, tear_down,
              TESTS({an_entry_stays_until_it_is_dropped, 1}, {lists_outlive_the_server_but_not_the_object, 1},
                    {lists_are_bounded, 1}));
    return test_run(suite);
}
