/* SPDX-License-Identifier: BSD-3-Clause */
/* Byte-range locks: who gets them, in which order, and when a wait is refused. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "server/locks.h"
#include "test/lib/run.h"
#include "util/clock.h"

static themis_server_locks_t *locks;
static char granted[256]; /* waiters in the order of the callbacks, "a b! " with ! for canceled */

static void on_granted(void *arg, void *waiter, themis_status_t status)
{
    (void)arg;
    sprintf(granted + strlen(granted), "%s%s ", (const char *)waiter, status == THEMIS_OK ? "" : "!");
}

static void on_lost(void *arg, uint64_t object)
{
    (void)arg;
    sprintf(granted + strlen(granted), "lost:%d ", (int)object);
}

static const themis_server_lock_events_t events = {.granted = on_granted, .lost = on_lost};

static void set_up(void)
{
    *granted = 0;
    ck_assert_int_eq(themis_server_locks_create(&events, NULL, &locks), THEMIS_OK);
}

static void tear_down(void)
{
    themis_server_locks_destroy(locks);
}

enum { SHARED = 0, EXCLUSIVE = 1 };

static themis_status_t lock(uint64_t object, uint64_t offset, uint64_t length, uint64_t session, int exclusive,
                            const char *waiter)
{
    themis_server_lock_range_t range = {offset, length};
    themis_server_lock_owner_t owner = {session, 1};

    return themis_server_locks_lock(locks, object, &range, &owner, exclusive, (void *)(uintptr_t)waiter);
}

static void unlock(uint64_t object, uint64_t offset, uint64_t length, uint64_t session)
{
    themis_server_lock_range_t range = {offset, length};
    themis_server_lock_owner_t owner = {session, 1};

    ck_assert_int_eq(themis_server_locks_unlock(locks, object, &range, &owner), THEMIS_OK);
}

static void expect_usage(uint64_t held, uint64_t waiting)
{
    uint64_t h, w;

    themis_server_locks_usage(locks, &h, &w);
    ck_assert_uint_eq(h, held);
    ck_assert_uint_eq(w, waiting);
}

static themis_status_t replace(uint64_t offset, uint64_t length, uint64_t session, int exclusive)
{
    themis_server_lock_range_t range = {offset, length};
    themis_server_lock_owner_t owner = {session, 1};

    return themis_server_locks_replace(locks, 1, &range, &owner, exclusive);
}

static themis_status_t probe(uint64_t offset, uint64_t length, uint64_t session, int exclusive)
{
    themis_server_lock_range_t range = {offset, length};
    themis_server_lock_owner_t owner = {session, 1};

    return themis_server_locks_test(locks, 1, &range, &owner, exclusive);
}

/* As fcntl's: a weaker lock takes the place of a stronger one at once, in the middle of it as well. */
TEST(locks_are_replaced)
{
    ck_assert_int_eq(replace(0, 100, 1, EXCLUSIVE), THEMIS_OK);
    ck_assert_int_eq(probe(10, 10, 2, SHARED), THEMIS_LOCKED);
    ck_assert_int_eq(probe(10, 10, 1, EXCLUSIVE), THEMIS_OK);
    ck_assert_int_eq(probe(100, 10, 2, EXCLUSIVE), THEMIS_OK);
    ck_assert_int_eq(lock(1, 45, 1, 3, SHARED, "r"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 45, 1, 4, EXCLUSIVE, "w"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(replace(40, 20, 1, SHARED), THEMIS_OK); /* though others wait */
    ck_assert_str_eq(granted, "r ");
    expect_usage(4, 1);
    ck_assert_int_eq(probe(0, 40, 2, SHARED), THEMIS_LOCKED);
    ck_assert_int_eq(probe(40, 20, 2, SHARED), THEMIS_OK);
    ck_assert_int_eq(replace(0, 100, 1, EXCLUSIVE), THEMIS_LOCKED); /* a reader has come */
    ck_assert_int_eq(probe(40, 20, 2, SHARED), THEMIS_OK);          /* and nothing has changed */
    unlock(1, 0, UINT64_MAX, 1);
    unlock(1, 45, 1, 3);
    ck_assert_str_eq(granted, "r w ");
    unlock(1, 45, 1, 4);
    expect_usage(0, 0);
    ck_assert_int_eq(probe(0, 1, 2, EXCLUSIVE), THEMIS_OK);
}

/* Others may reclaim theirs yet; a stronger lock in place of a weaker one may conflict with these. */
TEST(replaced_and_tested_in_the_grace_period)
{
    const themis_server_lock_range_t range = {0, 100};
    const themis_server_lock_owner_t owner = {1, 1};

    themis_server_locks_begin_grace(locks);
    ck_assert_int_eq(replace(0, 100, 1, SHARED), THEMIS_LOCKED);
    ck_assert_int_eq(probe(0, 100, 1, SHARED), THEMIS_LOCKED);
    ck_assert_int_eq(themis_server_locks_reclaim(locks, 1, &range, &owner, EXCLUSIVE, 1), THEMIS_OK);
    ck_assert_int_eq(replace(10, 10, 1, SHARED), THEMIS_OK);
    ck_assert_int_eq(replace(0, 100, 1, EXCLUSIVE), THEMIS_LOCKED);
    ck_assert_int_eq(probe(10, 10, 1, SHARED), THEMIS_OK);
    expect_usage(3, 0);
    themis_server_locks_end_grace(locks);
    ck_assert_int_eq(probe(10, 10, 2, SHARED), THEMIS_OK);
    ck_assert_int_eq(probe(0, 10, 2, SHARED), THEMIS_LOCKED);
    ck_assert_int_eq(replace(0, 100, 1, EXCLUSIVE), THEMIS_OK);
    expect_usage(1, 0);
}

/* Nobody may fill the server's lists. */
TEST(locks_are_limited)
{
    const themis_server_lock_owner_t owner = {1, 1}, other = {2, 1};

    for (uint64_t i = 0; i < THEMIS_SERVER_LOCKS_OF_ONE; i++) {
        ck_assert(!themis_server_locks_are_full(locks, 7, &owner));
        ck_assert_int_eq(lock(7, UINT64_MAX / 2 - 2 * i, 1, 1, SHARED, NULL), THEMIS_OK); /* in front of the others */
    }
    ck_assert(themis_server_locks_are_full(locks, 7, &owner) && themis_server_locks_are_full(locks, 7, &other));
    ck_assert(themis_server_locks_are_full(locks, 8, &owner) && !themis_server_locks_are_full(locks, 8, &other));
    unlock(7, UINT64_MAX / 2, 1, 1);
    ck_assert(!themis_server_locks_are_full(locks, 7, &owner));
}

TEST(ranges_conflict_where_they_overlap)
{
    ck_assert_int_eq(lock(1, 0, 100, 1, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 100, 100, 2, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 99, 2, 3, SHARED, NULL), THEMIS_LOCKED);
    ck_assert_int_eq(lock(2, 99, 2, 3, SHARED, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 200, UINT64_MAX, 3, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, UINT64_MAX - 1, 1, 1, SHARED, NULL), THEMIS_LOCKED);
    ck_assert_int_eq(lock(1, 50, 0, 5, EXCLUSIVE, NULL), THEMIS_OK);
    expect_usage(4, 0);
}

TEST(readers_share)
{
    ck_assert_int_eq(lock(1, 0, 100, 1, SHARED, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 50, 100, 2, SHARED, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 50, 10, 3, EXCLUSIVE, NULL), THEMIS_LOCKED);
}

TEST(a_repeated_lock_is_granted_and_counts_once)
{
    ck_assert_int_eq(lock(1, 0, 100, 1, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 0, 100, 1, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 10, 20, 1, SHARED, NULL), THEMIS_OK);
    expect_usage(1, 0);
    unlock(1, 0, 100, 1);
    expect_usage(0, 0);
    unlock(1, 0, 100, 1);
}

TEST(first_come_first_served)
{
    ck_assert_int_eq(lock(1, 0, 100, 1, SHARED, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 0, 100, 2, EXCLUSIVE, "writer"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 0, 100, 3, SHARED, "late"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 0, 100, 4, SHARED, "later"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 0, 100, 5, SHARED, NULL), THEMIS_LOCKED);
    unlock(1, 0, 100, 1);
    ck_assert_str_eq(granted, "writer ");
    unlock(1, 0, 100, 2);
    ck_assert_str_eq(granted, "writer late later ");
    expect_usage(2, 0);
}

TEST(a_lock_without_conflict_does_not_wait)
{
    ck_assert_int_eq(lock(1, 0, 100, 1, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 50, 100, 2, EXCLUSIVE, "two"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 200, 10, 3, EXCLUSIVE, "three"), THEMIS_OK);
    ck_assert_int_eq(lock(1, 140, 5, 4, EXCLUSIVE, "four"), THEMIS_IN_PROGRESS);
    unlock(1, 0, 100, 1);
    ck_assert_str_eq(granted, "two ");
    unlock(1, 50, 90, 2);
    unlock(1, 140, 10, 2);
    ck_assert_str_eq(granted, "two four ");
}

TEST(parts_can_be_released)
{
    ck_assert_int_eq(lock(1, 0, 100, 1, EXCLUSIVE, NULL), THEMIS_OK);
    unlock(1, 40, 20, 1);
    expect_usage(2, 0);
    ck_assert_int_eq(lock(1, 40, 20, 2, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 39, 1, 2, EXCLUSIVE, NULL), THEMIS_LOCKED);
    ck_assert_int_eq(lock(1, 60, 1, 2, EXCLUSIVE, NULL), THEMIS_LOCKED);
    unlock(1, 0, UINT64_MAX, 1);
    expect_usage(1, 0);
}

TEST(a_session_ends_with_all_its_locks)
{
    ck_assert_int_eq(lock(1, 0, 100, 1, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(2, 0, 100, 1, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 0, 100, 2, EXCLUSIVE, "two"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(2, 0, 100, 3, EXCLUSIVE, "three"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(2, 0, 100, 2, EXCLUSIVE, "two again"), THEMIS_IN_PROGRESS);
    themis_server_locks_end_session(locks, 2);
    ck_assert_str_eq(granted, "two! two again! ");
    themis_server_locks_end_session(locks, 1);
    ck_assert_str_eq(granted, "two! two again! lost:1 lost:2 three ");
    expect_usage(1, 0);
}

TEST(a_deadlock_is_refused)
{
    ck_assert_int_eq(lock(1, 0, 10, 1, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(2, 0, 10, 2, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(3, 0, 10, 3, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(2, 0, 10, 1, EXCLUSIVE, "one"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(3, 0, 10, 2, EXCLUSIVE, "two"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 0, 10, 3, EXCLUSIVE, "three"), THEMIS_LOCKED);
    ck_assert_int_eq(lock(1, 0, 10, 4, EXCLUSIVE, "four"), THEMIS_IN_PROGRESS);
    unlock(3, 0, 10, 3);
    ck_assert_str_eq(granted, "two ");
}

/* One holds what three wants, and comes behind two, who waits only for three. Were one to wait, all would for ever. */
TEST(a_circle_through_the_queue_is_cut)
{
    ck_assert_int_eq(lock(1, 0, 10, 1, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(2, 0, 10, 3, SHARED, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(2, 0, 10, 2, EXCLUSIVE, "two"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 0, 10, 3, EXCLUSIVE, "three"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(2, 0, 10, 1, SHARED, "one"), THEMIS_OK);
    unlock(1, 0, 10, 1);
    unlock(2, 0, 10, 3);
    ck_assert_str_eq(granted, "three ");
    unlock(2, 0, 10, 1);
    ck_assert_str_eq(granted, "three two ");
}

/* Two locks of one owner wait, as those of two threads do; who waits behind the first one does not hold up the second
 * for ever. */
TEST(threads_of_one_owner_may_wait)
{
    ck_assert_int_eq(lock(1, 0, 10, 1, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(2, 0, 10, 2, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 0, 10, 3, EXCLUSIVE, "first"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 0, 10, 2, EXCLUSIVE, "two"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(2, 0, 10, 3, EXCLUSIVE, "second"), THEMIS_IN_PROGRESS);
    unlock(1, 0, 10, 1);
    unlock(1, 0, 10, 3);
    unlock(2, 0, 10, 2);
    ck_assert_str_eq(granted, "first two second ");
}

/* Threads of one owner take one lock each; what one of them holds delays another's lock only by who waits for it. */
TEST(threads_of_one_owner_do_not_refuse_each_other)
{
    ck_assert_int_eq(lock(1, 0, 100, 1, EXCLUSIVE, NULL), THEMIS_OK);
    ck_assert_int_eq(lock(1, 50, 100, 2, EXCLUSIVE, "two"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 120, 80, 1, EXCLUSIVE, "one"), THEMIS_OK);
    unlock(1, 0, 100, 1);
    ck_assert_str_eq(granted, "");
    unlock(1, 120, 80, 1);
    ck_assert_str_eq(granted, "two ");
}

/* All wait in one queue: each new search passes all locks that came before, within its bound. */
TEST(a_long_queue_is_searched_in_bounds)
{
    enum { OWNERS = 2000 };
    uint64_t before = themis_util_clock_thread();

    ck_assert_int_eq(lock(1, 0, 10, OWNERS, EXCLUSIVE, NULL), THEMIS_OK);
    for (uint64_t i = 1; i < OWNERS; i++) {
        ck_assert_int_eq(lock(i + 1, 0, 10, i, SHARED, NULL), THEMIS_OK);
        ck_assert_int_eq(lock(1, 0, 10, i, EXCLUSIVE, "x"), THEMIS_IN_PROGRESS);
    }
    ck_assert_uint_lt(themis_util_clock_thread() - before, 20 * THEMIS_NS_PER_S);
    expect_usage(OWNERS, OWNERS - 1);
}

/* A circle that is longer than any that programs make by mistake. */
TEST(a_long_circle_is_refused)
{
    enum { OWNERS = 1000 };

    for (uint64_t i = 1; i <= OWNERS; i++)
        ck_assert_int_eq(lock(i, 0, 10, i, EXCLUSIVE, NULL), THEMIS_OK);
    for (uint64_t i = 1; i < OWNERS; i++)
        ck_assert_int_eq(lock(i + 1, 0, 10, i, EXCLUSIVE, "one"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 0, 10, OWNERS, EXCLUSIVE, "last"), THEMIS_LOCKED);
}

/* 25 owners share a lock of each object and wait for the next object's: 25^8 ways through 9 objects, none a circle. */
TEST(the_search_for_deadlocks_takes_no_way_twice)
{
    enum { OBJECTS = 9, WIDTH = 25 };
    uint64_t before = themis_util_clock_thread();

    for (uint64_t object = OBJECTS; object > 0; object--)
        for (uint64_t i = 0; i < WIDTH; i++)
            ck_assert_int_eq(lock(object, 0, 10, 100 * object + i, SHARED, NULL), THEMIS_OK);
    for (uint64_t object = OBJECTS - 1; object > 0; object--)
        for (uint64_t i = 0; i < WIDTH; i++)
            ck_assert_int_eq(lock(object + 1, 0, 10, 100 * object + i, EXCLUSIVE, "x"), THEMIS_IN_PROGRESS);
    ck_assert_uint_lt(themis_util_clock_thread() - before, 5 * THEMIS_NS_PER_S);
    expect_usage(OBJECTS * WIDTH, (OBJECTS - 1) * WIDTH);
}

TEST(a_wait_ends_when_the_lock_is_held_too_long)
{
    const uint64_t longest = 10;

    themis_util_clock_set_manual(1000);
    ck_assert_int_eq(lock(1, 0, 10, 1, EXCLUSIVE, NULL), THEMIS_OK);
    themis_util_clock_advance(5);
    ck_assert_int_eq(lock(1, 0, 10, 2, EXCLUSIVE, "two"), THEMIS_IN_PROGRESS);
    ck_assert_int_eq(lock(1, 5, 10, 3, EXCLUSIVE, "three"), THEMIS_IN_PROGRESS);
    themis_util_clock_advance(5);
    themis_server_locks_expire_waits(locks, longest); /* it has not waited for so long */
    ck_assert_str_eq(granted, "");
    unlock(1, 0, 10, 1);
    ck_assert_str_eq(granted, "two ");
    themis_util_clock_advance(5);
    themis_server_locks_expire_waits(locks, longest); /* the lock is not held for so long */
    ck_assert_str_eq(granted, "two ");
    themis_util_clock_advance(5);
    themis_server_locks_expire_waits(locks, 0);
    ck_assert_str_eq(granted, "two ");
    ck_assert_int_eq(lock(1, 12, 10, 4, EXCLUSIVE, "four"), THEMIS_IN_PROGRESS);
    themis_server_locks_expire_waits(locks, longest);
    ck_assert_str_eq(granted, "two three! four ");
    expect_usage(2, 0);
    themis_util_clock_set_real();
}

/* Many owners lock random ranges; an array of bytes shows whether two hold the same one. */
TEST(no_range_is_held_by_two_owners)
{
    enum { BYTES = 200, OWNERS = 8, ROUNDS = 20000 };
    int owner_of[BYTES] = {0};
    unsigned seed = 7;

    for (int round = 0; round < ROUNDS; round++) {
        int owner = 1 + rand_r(&seed) % OWNERS, from = rand_r(&seed) % BYTES, length = 1 + rand_r(&seed) % 40;
        int behind = from + length < BYTES ? from + length : BYTES, free_for_me = 1;
        if (rand_r(&seed) % 2) {
            unlock(1, (uint64_t)from, (uint64_t)(behind - from), (uint64_t)owner);
            for (int i = from; i < behind; i++)
                owner_of[i] = owner_of[i] == owner ? 0 : owner_of[i];
            continue;
        }
        for (int i = from; i < behind; i++)
            free_for_me &= owner_of[i] == 0 || owner_of[i] == owner;
        themis_status_t status = lock(1, (uint64_t)from, (uint64_t)(behind - from), (uint64_t)owner, EXCLUSIVE, NULL);
        ck_assert_int_eq(status, free_for_me ? THEMIS_OK : THEMIS_LOCKED);
        for (int i = from; i < behind && free_for_me; i++)
            owner_of[i] = owner;
    }
}

int main(void)
{
    Suite *suite = suite_create("locks");

    test_case(suite, "all", 30, set_up, tear_down,
              TESTS({ranges_conflict_where_they_overlap, 1}, {locks_are_replaced, 1}, {locks_are_limited, 1},
                    {replaced_and_tested_in_the_grace_period, 1}, {readers_share, 1},
                    {a_repeated_lock_is_granted_and_counts_once, 1}, {first_come_first_served, 1},
                    {a_lock_without_conflict_does_not_wait, 1}, {parts_can_be_released, 1},
                    {a_session_ends_with_all_its_locks, 1}, {a_deadlock_is_refused, 1},
                    {a_circle_through_the_queue_is_cut, 1}, {threads_of_one_owner_may_wait, 1},
                    {threads_of_one_owner_do_not_refuse_each_other, 1}, {a_long_queue_is_searched_in_bounds, 1},
                    {a_long_circle_is_refused, 1}, {the_search_for_deadlocks_takes_no_way_twice, 1},
                    {a_wait_ends_when_the_lock_is_held_too_long, 1}, {no_range_is_held_by_two_owners, 1}));
    return test_run(suite);
}
