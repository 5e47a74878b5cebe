/* SPDX-License-Identifier: BSD-3-Clause */
/* What users have in a store, and what is refused at a limit. */
#define _GNU_SOURCE
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "store/accounts.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/store/objects.h"

enum { ALICE = 1000, BOB = 1001, TYPES = 3, POSIX = 1, DURABLE = 2 };
static const char *const types[] = {"arena", "posix", "arena"};

static const _Atomic int no_stop;
static themis_store_identity_t identity; /* of a durable arena */
static themis_store_accounts_t *accounts;
static uint32_t remembered[8]; /* owners of objects, as of the records of a server */

static uint32_t owner_of(void *arg, uint64_t id)
{
    (void)arg;
    return id < 8 ? remembered[id] : THEMIS_STORE_NOBODY;
}

static void begin(int type)
{
    const themis_store_options_t options = {.type = types[type],
                                            .size = 64 * MIB,
                                            .path = type == POSIX ? test_scratch : NULL,
                                            .directory = type == DURABLE ? test_scratch : NULL,
                                            .reserve_step = 64 << 10,
                                            .accounts = accounts,
                                            .identity = type == DURABLE ? &identity : NULL,
                                            .owner_of = owner_of};

    ck_assert_int_eq(themis_store_create(&options, &store), THEMIS_OK);
}

static void open_store(int type)
{
    test_scratch_make();
    themis_store_identity_make(&identity);
    memset(remembered, 0xff, sizeof remembered);
    ck_assert_int_eq(themis_store_accounts_create(&accounts), THEMIS_OK);
    begin(type);
    ck_assert_int_eq(themis_store_recount(store, &no_stop), THEMIS_OK); /* of nothing */
    owner = THEMIS_STORE_COMMON;
}

static void close_store(void)
{
    themis_store_destroy(store);
    themis_store_accounts_destroy(accounts);
    test_scratch_remove();
}

/* The store ends and begins again, with accounts that are empty. */
static void restart(int type)
{
    themis_store_destroy(store);
    themis_store_accounts_destroy(accounts);
    ck_assert_int_eq(themis_store_accounts_create(&accounts), THEMIS_OK);
    begin(type);
    ck_assert_int_eq(themis_store_recount(store, &no_stop), THEMIS_OK);
}

static themis_store_account_t *account(uint32_t uid)
{
    return themis_store_accounts_get(accounts, uid);
}

static uint64_t has(uint32_t uid)
{
    int64_t bytes = account(uid)->bytes;

    ck_assert_int_ge(bytes, 0);
    return (uint64_t)bytes;
}

static void give(uint64_t id, uint32_t uid)
{
    themis_store_object_t *object;

    ck_assert_int_eq(themis_store_open(store, id, 1, owner, &object), THEMIS_OK);
    int is_kept = themis_store_set_owner(store, object, uid);
    ck_assert_uint_eq(themis_store_owner(store, object), uid);
    remembered[id] = is_kept ? THEMIS_STORE_NOBODY : uid;
    themis_store_close(store, object);
}

static themis_status_t write_to(uint64_t id, uint64_t offset, uint64_t length)
{
    uint8_t *bytes = calloc(length, 1);
    themis_status_t status = transfer(id, THEMIS_WRITE, offset, bytes, length);

    free(bytes);
    size_of(id); /* as the end of a request asks for it */
    return status;
}

TEST(bytes_count_for_the_owner)
{
    open_store(_i);
    put(1, 0, MIB, 'a');
    size_of(1);
    ck_assert_uint_eq(has(ALICE), 0); /* nobody knows yet */
    give(1, ALICE);
    ck_assert_uint_eq(has(ALICE), size_of(1).allocated);
    give(2, BOB);
    ck_assert_int_eq(write_to(2, 0, 2 * MIB), THEMIS_OK);
    ck_assert_uint_eq(has(BOB), size_of(2).allocated);
    ck_assert_uint_ge(has(BOB), 2 * MIB);
    put(1, 0, MIB, 'b');
    ck_assert_uint_eq(has(ALICE), size_of(1).allocated);
    truncate_to(2, 4096);
    ck_assert_uint_eq(has(BOB), size_of(2).allocated);
    close_store();
}

TEST(an_object_is_given_away)
{
    open_store(_i);
    give(1, ALICE);
    ck_assert_int_eq(write_to(1, 0, MIB), THEMIS_OK);
    uint64_t bytes = has(ALICE);
    give(1, BOB);
    ck_assert_uint_eq(has(ALICE), 0);
    ck_assert_uint_eq(has(BOB), bytes);
    close_store();
}

/* Removed while it is open, closed, or never opened. */
TEST(what_is_removed_counts_no_more)
{
    themis_store_object_t *object;

    open_store(_i);
    for (uint64_t id = 1; id <= 3; id++) {
        give(id, ALICE);
        ck_assert_int_eq(write_to(id, 0, MIB), THEMIS_OK);
    }
    ck_assert_int_eq(themis_store_open(store, 1, 0, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    themis_store_close(store, object);
    ck_assert_int_eq(themis_store_remove(store, 2), THEMIS_OK);
    ck_assert_uint_eq(has(ALICE), size_of(3).allocated);
    ck_assert_int_eq(themis_store_remove(store, 3), THEMIS_OK);
    ck_assert_uint_eq(has(ALICE), 0);
    close_store();
}

static uint64_t limit(uint32_t uid, uint64_t bytes)
{
    account(uid)->byte_limit = (int64_t)bytes;
    return bytes;
}

TEST(nothing_is_added_beyond_the_limit)
{
    open_store(_i);
    give(1, ALICE);
    give(2, BOB);
    ck_assert_int_eq(write_to(1, 0, MIB), THEMIS_OK);
    uint64_t most = limit(ALICE, 3 * MIB);
    ck_assert_int_eq(write_to(1, MIB, 8 * MIB), THEMIS_QUOTA);
    ck_assert_uint_le(has(ALICE), most);
    ck_assert_uint_ge(has(ALICE), most - 64 * 1024);
    ck_assert_int_eq(write_to(1, 16 * MIB, 4096), THEMIS_QUOTA);
    ck_assert_int_eq(write_to(2, 0, 8 * MIB), THEMIS_OK); /* another user */
    put(1, 0, 2 * MIB, 'c');                              /* what is there */
    expect(1, 0, 2 * MIB, 'c');
    truncate_to(1, 32 * MIB); /* needs no space */
    truncate_to(1, 4096);
    ck_assert_int_eq(write_to(1, 4096, MIB), THEMIS_OK);
    close_store();
}

TEST(reserving_is_refused_as_a_whole)
{
    const themis_store_extent_t fits = {0, MIB}, large = {MIB, 4 * MIB};
    themis_store_object_t *object;

    open_store(_i);
    give(1, ALICE);
    limit(ALICE, 3 * MIB);
    ck_assert_int_eq(themis_store_open(store, 1, 0, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_allocate(store, object, &fits), THEMIS_OK);
    uint64_t before = has(ALICE);
    ck_assert_int_eq(themis_store_allocate(store, object, &large), THEMIS_QUOTA);
    ck_assert_uint_eq(has(ALICE), before);
    themis_store_close(store, object);
    ck_assert_uint_eq(size_of(1).end, MIB);
    close_store();
}

/* Of those that outlive their process. In an arena what is in a user's memory is his, other objects have records. */
TEST(counts_come_back)
{
    int type = _i + 1;

    open_store(type);
    for (uint64_t id = 1; id <= 6; id++) {
        owner = type == DURABLE && id % 2 ? ALICE : THEMIS_STORE_COMMON;
        give(id, id < 4 ? ALICE : BOB);
        ck_assert_int_eq(write_to(id, 0, id * 100000), THEMIS_OK);
    }
    uint64_t alice = has(ALICE), bob = has(BOB);
    restart(type);
    for (uint64_t id = 1; type == DURABLE && id <= 6; id++)
        if (remembered[id] != THEMIS_STORE_NOBODY)
            give(id, remembered[id]);
    ck_assert_uint_eq(has(ALICE), alice);
    ck_assert_uint_eq(has(BOB), bob);
    ck_assert_int_eq(write_to(1, 0, MIB), THEMIS_OK);
    ck_assert_uint_gt(has(ALICE), alice);
    close_store();
}

/* Objects of a posix store that change before they are looked at. */
TEST(what_changes_before_it_is_counted)
{
    uint64_t expected = 0;

    open_store(POSIX);
    for (uint64_t id = 1; id < 7; id++) {
        give(id, ALICE);
        ck_assert_int_eq(write_to(id, 0, MIB), THEMIS_OK);
    }
    themis_store_destroy(store);
    account(ALICE)->bytes = 0;
    begin(POSIX);
    ck_assert_int_eq(write_to(1, 0, 2 * MIB), THEMIS_OK); /* is larger */
    ck_assert_int_eq(themis_store_remove(store, 2), THEMIS_OK);
    ck_assert_int_eq(write_to(3, 0, MIB), THEMIS_OK);
    ck_assert_int_eq(themis_store_remove(store, 3), THEMIS_OK);
    give(7, ALICE); /* is new */
    ck_assert_int_eq(write_to(7, 0, MIB), THEMIS_OK);
    give(4, BOB);
    ck_assert_int_eq(themis_store_recount(store, &no_stop), THEMIS_OK);
    for (uint64_t id = 1; id < 8; id++)
        if (id != 2 && id != 3 && id != 4)
            expected += size_of(id).allocated;
    ck_assert_uint_eq(has(ALICE), expected);
    ck_assert_uint_eq(has(BOB), size_of(4).allocated);
    close_store();
}

enum { WRITERS = 4 };

/* Writes to an object of its own until that is refused, and removes it in between. */
static void *writer(void *arg)
{
    uint64_t id = (uint64_t)(uintptr_t)arg;
    uint8_t *bytes = calloc(1, 64 << 10);
    themis_store_object_t *object;

    for (int round = 0; round < 20; round++) {
        REQUIRE(themis_store_open(store, id, 1, owner, &object) == THEMIS_OK);
        themis_store_set_owner(store, object, ALICE);
        for (uint64_t at = 0; transfer(id, THEMIS_WRITE, at, bytes, 64 << 10) == THEMIS_OK; at += 64 << 10)
            ;
        if (round < 19)
            REQUIRE(themis_store_remove(store, id) == THEMIS_OK);
        themis_store_close(store, object);
    }
    free(bytes);
    return NULL;
}

/* In a posix store each may have one window more, which is counted when it is written. */
TEST(many_write_at_the_limit)
{
    pthread_t threads[WRITERS];
    uint64_t sum = 0, most = 4 * MIB;

    open_store(_i);
    limit(ALICE, most);
    for (uintptr_t i = 0; i < WRITERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, writer, (void *)(i + 1)), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    for (uint64_t id = 1; id <= WRITERS; id++)
        sum += size_of(id).allocated;
    ck_assert_uint_eq(has(ALICE), sum);
    ck_assert_uint_le(sum, most + (_i == POSIX ? WRITERS * (64 << 10) : 0));
    close_store();
}

TEST(accounts_are_in_order)
{
    themis_store_account_t *list[64];

    ck_assert_int_eq(themis_store_accounts_create(&accounts), THEMIS_OK);
    for (uint32_t i = 0; i < 50; i++)
        ck_assert_uint_eq(account(i * 7919 % 50)->uid, i * 7919 % 50);
    ck_assert_uint_eq(themis_store_accounts_list(accounts, 0, list, 64), 51);
    for (uint32_t i = 0; i < 50; i++)
        ck_assert_uint_eq(list[i]->uid, i);
    ck_assert_uint_eq(list[50]->uid, THEMIS_STORE_NOBODY);
    ck_assert_uint_eq(themis_store_accounts_list(accounts, 40, list, 5), 5);
    ck_assert_uint_eq(list[4]->uid, 44);
    ck_assert_ptr_null(themis_store_accounts_find(accounts, 50));
    themis_store_accounts_destroy(accounts);
}

/* Whoever comes when the table is full counts as nobody. */
TEST(there_are_not_too_many)
{
    ck_assert_int_eq(themis_store_accounts_create(&accounts), THEMIS_OK);
    for (uint32_t i = 0; i < THEMIS_STORE_ACCOUNTS_MAX; i++)
        ck_assert_uint_eq(account(i)->uid, i);
    ck_assert_uint_eq(account(THEMIS_STORE_ACCOUNTS_MAX)->uid, THEMIS_STORE_NOBODY);
    ck_assert_uint_eq(account(5)->uid, 5);
    themis_store_accounts_destroy(accounts);
}

int main(void)
{
    Suite *suite = suite_create("accounts");

    test_case(suite, "accounts", 60, NULL, NULL,
              TESTS({bytes_count_for_the_owner, TYPES}, {an_object_is_given_away, TYPES},
                    {what_is_removed_counts_no_more, TYPES}, {nothing_is_added_beyond_the_limit, TYPES},
                    {reserving_is_refused_as_a_whole, TYPES}, {counts_come_back, 2}, {many_write_at_the_limit, 2},
                    {what_changes_before_it_is_counted, 1}, {accounts_are_in_order, 1}, {there_are_not_too_many, 1}));
    return test_run(suite);
}
