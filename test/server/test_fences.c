/* SPDX-License-Identifier: BSD-3-Clause */
/* Epochs of objects: which accesses under locks pass. */
#include <check.h>
#include "server/fences.h"
#include "test/lib/run.h"
#include "util/clock.h"

static const uint64_t now = UINT64_C(1700000000) * THEMIS_NS_PER_S;
static themis_server_fences_t *fences, *other;

static void set_up(void)
{
    ck_assert_int_eq(themis_server_fences_create(0, &fences), THEMIS_OK);
    ck_assert_int_eq(themis_server_fences_create(0, &other), THEMIS_OK);
}

static void tear_down(void)
{
    themis_server_fences_destroy(fences);
    themis_server_fences_destroy(other);
}

static themis_status_t pass(themis_server_fences_t *at, uint64_t object, uint64_t epoch)
{
    return themis_server_fences_pass(at, object, epoch, now);
}

TEST(who_held_a_lost_lock_does_not_pass)
{
    uint64_t before = themis_server_fences_epoch(fences, 7);

    ck_assert_int_eq(pass(fences, 7, before), THEMIS_OK);
    themis_server_fences_raise(fences, 7, now);
    uint64_t after = themis_server_fences_epoch(fences, 7);
    ck_assert_uint_gt(after, before);
    ck_assert_int_eq(pass(fences, 7, before), THEMIS_LOCKED);
    ck_assert_int_eq(pass(fences, 7, after), THEMIS_OK);
    ck_assert_int_eq(pass(fences, 7, 0), THEMIS_OK); /* under no lock */
    ck_assert_int_eq(pass(fences, 8, before), THEMIS_OK);
    themis_server_fences_raise(fences, 7, now - 5); /* a clock that was set back */
    ck_assert_uint_gt(themis_server_fences_epoch(fences, 7), after);
}

/* Another server learns of a loss from the next holder's accesses. */
TEST(the_next_holder_raises_the_fence_elsewhere)
{
    uint64_t before = themis_server_fences_epoch(fences, 7);

    themis_server_fences_raise(fences, 7, now);
    uint64_t after = themis_server_fences_epoch(fences, 7);
    ck_assert_int_eq(pass(other, 7, before), THEMIS_OK);
    ck_assert_int_eq(pass(other, 7, after), THEMIS_OK);
    ck_assert_int_eq(pass(other, 7, before), THEMIS_LOCKED);
    themis_server_fences_forget(other, 7);
    ck_assert_uint_eq(themis_server_fences_count(other), 0);
}

/* Its locks may still be in use, and what it granted before has a lower epoch. */
TEST(a_server_that_starts_again_grants_later_epochs)
{
    themis_server_fences_t *again;

    themis_server_fences_raise(fences, 7, now);
    ck_assert_int_eq(pass(other, 7, themis_server_fences_epoch(fences, 7)), THEMIS_OK);
    ck_assert_int_eq(themis_server_fences_create(now + 1, &again), THEMIS_OK);
    ck_assert_int_eq(pass(other, 7, themis_server_fences_epoch(again, 7)), THEMIS_OK);
    ck_assert_int_eq(pass(other, 7, themis_server_fences_epoch(fences, 7)), THEMIS_LOCKED);
    themis_server_fences_destroy(again);
}

TEST(what_is_remembered_is_bounded)
{
    for (uint64_t object = 1; object <= THEMIS_SERVER_FENCES_MAX + 10; object++)
        themis_server_fences_raise(fences, object, now + object);
    ck_assert_uint_eq(themis_server_fences_count(fences), THEMIS_SERVER_FENCES_MAX);
    ck_assert_uint_eq(themis_server_fences_epoch(fences, 1), now + 10); /* not below what it was */
    for (uint64_t object = 1; object < 1000; object++)                  /* none of these is worth memory */
        ck_assert_int_eq(pass(other, object, 1), THEMIS_OK);
    ck_assert_uint_eq(themis_server_fences_count(other), 0);
}

TEST(an_invented_epoch_is_not_remembered)
{
    ck_assert_int_eq(pass(fences, 7, UINT64_MAX), THEMIS_OK);
    ck_assert_int_eq(pass(fences, 7, now + 301 * THEMIS_NS_PER_S), THEMIS_OK);
    ck_assert_int_eq(pass(fences, 7, 1), THEMIS_OK);
    ck_assert_uint_eq(themis_server_fences_count(fences), 0);
}

int main(void)
{
    Suite *suite = suite_create("fences");

    test_case(suite, "all", 30, set_up, tear_down,
              TESTS({who_held_a_lost_lock_does_not_pass, 1}, {the_next_holder_raises_the_fence_elsewhere, 1},
                    {a_server_that_starts_again_grants_later_epochs, 1}, {what_is_remembered_is_bounded, 1},
                    {an_invented_epoch_is_not_remembered, 1}));
    return test_run(suite);
}
