/* SPDX-License-Identifier: BSD-3-Clause */
/* Extents that clients get before all their pages are valid. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/lib/run.h"
#include "test/store/grants.h"

enum { FILLING = THEMIS_STORE_MAP_ALLOCATE | THEMIS_STORE_MAP_INCOMPLETE };

/* The only extent that is mapped, which begins at 0. */
static _Atomic uint8_t *states(const grant_t *grant)
{
    REQUIRE(grant->count > 0 && grant->mapped[0].offset == 0 && grant->mapped[0].pages.segment > 0);
    return (_Atomic uint8_t *)reach(grant->uid, grant->mapped[0].pages);
}

static uint8_t *memory(const grant_t *grant)
{
    REQUIRE(grant->count > 0 && grant->mapped[0].offset == 0);
    return reach(grant->uid, grant->mapped[0].location);
}

/* As a client does: the page as a whole, and again where somebody else has made it valid meanwhile. */
static void fill_page(uint8_t *at, _Atomic uint8_t *state, uint8_t value)
{
    uint8_t invalid = THEMIS_UTIL_DIRECT_PAGE_INVALID;

    memset(at, value, PAGE);
    if (atomic_compare_exchange_strong(state, &invalid, THEMIS_UTIL_DIRECT_PAGE_VALID))
        return;
    while (atomic_load(state) != THEMIS_UTIL_DIRECT_PAGE_VALID)
        sched_yield();
    memset(at, value, PAGE);
}

/* Object 1 with 1 MiB of used memory, of which no page is valid. */
static void open_incomplete(grant_t *grant)
{
    open_direct(64 * MIB, 0);
    soil(56 * MIB);
    ck_assert_int_eq(grant_open(grant, 1, ALICE), THEMIS_OK);
    ck_assert_int_eq(grant_map(grant, 0, MIB, FILLING), THEMIS_OK);
    ck_assert(all_are((uint8_t *)states(grant), MIB / PAGE, THEMIS_UTIL_DIRECT_PAGE_INVALID));
    ck_assert(all_are(memory(grant), MIB, 's'));
}

static void close_and_check(grant_t *grant)
{
    grant_close(grant);
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_uint_eq(used(), 0);
    close_direct();
}

TEST(pages_are_zeros_until_somebody_fills_them)
{
    grant_t grant;

    open_incomplete(&grant);
    expect(1, 0, MIB, 0);
    fill_page(memory(&grant) + 3 * PAGE, states(&grant) + 3, 'a');
    expect(1, 0, 3 * PAGE, 0);
    expect(1, 3 * PAGE, PAGE, 'a');
    expect(1, 4 * PAGE, MIB - 4 * PAGE, 0);
    put(1, 5 * PAGE + 10, 10, 'b'); /* a page by queue, in part */
    put(1, 7 * PAGE, PAGE, 'c');    /* and one as a whole */
    ck_assert_int_eq(atomic_load(states(&grant) + 5), THEMIS_UTIL_DIRECT_PAGE_VALID);
    ck_assert_int_eq(atomic_load(states(&grant) + 7), THEMIS_UTIL_DIRECT_PAGE_VALID);
    ck_assert(all_are(memory(&grant) + 5 * PAGE, 10, 0));
    ck_assert(all_are(memory(&grant) + 5 * PAGE + 10, 10, 'b'));
    ck_assert(all_are(memory(&grant) + 5 * PAGE + 20, PAGE - 20, 0));
    ck_assert_int_eq(atomic_load(states(&grant) + 6), THEMIS_UTIL_DIRECT_PAGE_INVALID);
    expect(1, 6 * PAGE, PAGE, 0);
    close_and_check(&grant);
}

TEST(who_asks_for_valid_pages_gets_them)
{
    grant_t grant, other;

    open_incomplete(&grant);
    fill_page(memory(&grant) + 3 * PAGE, states(&grant) + 3, 'a');
    _Atomic uint8_t *first = states(&grant);
    ck_assert_int_eq(grant_open(&other, 1, ALICE), THEMIS_OK);
    ck_assert_int_eq(grant_map(&other, 0, MIB, 0), THEMIS_OK);
    ck_assert_uint_eq(other.mapped[0].pages.segment, 0);
    ck_assert(all_are(memory(&other), 3 * PAGE, 0));
    ck_assert(all_are(memory(&other) + 3 * PAGE, PAGE, 'a'));
    ck_assert(all_are(memory(&other) + 4 * PAGE, MIB - 4 * PAGE, 0));
    ck_assert(all_are((uint8_t *)first, MIB / PAGE, THEMIS_UTIL_DIRECT_PAGE_VALID));
    /* and now so does who can deal with others */
    ck_assert_int_eq(grant_map(&grant, 0, MIB, FILLING), THEMIS_OK);
    ck_assert_uint_eq(grant.mapped[0].pages.segment, 0);
    grant_close(&other);
    close_and_check(&grant);
}

TEST(an_extent_that_is_full_needs_no_states)
{
    grant_t grant;

    open_incomplete(&grant);
    for (uint64_t page = 0; page < grant.mapped[0].length / PAGE; page++)
        fill_page(memory(&grant) + page * PAGE, states(&grant) + page, 'a');
    ck_assert_int_eq(grant_map(&grant, 0, MIB, THEMIS_STORE_MAP_INCOMPLETE), THEMIS_OK);
    ck_assert_uint_eq(grant.mapped[0].pages.segment, 0);
    expect(1, 0, MIB, 'a');
    close_and_check(&grant);
}

TEST(small_extents_are_cleared_at_once)
{
    grant_t grant;

    open_direct(64 * MIB, 0);
    soil(56 * MIB);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    ck_assert_int_eq(grant_map(&grant, 0, PAGE, FILLING), THEMIS_OK);
    ck_assert_uint_eq(grant.mapped[0].pages.segment, 0);
    ck_assert(all_are(memory(&grant), PAGE, 0));
    close_and_check(&grant);
}

TEST(a_truncation_discards_what_clients_have_filled)
{
    grant_t grant;

    open_incomplete(&grant);
    for (int page = 0; page < 8; page++)
        fill_page(memory(&grant) + page * PAGE, states(&grant) + page, 'a');
    grant_close(&grant);
    truncate_to(1, 3 * PAGE + 100);
    truncate_to(1, MIB);
    expect(1, 0, 3 * PAGE + 100, 'a');
    expect(1, 3 * PAGE + 100, MIB - 3 * PAGE - 100, 0);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    ck_assert_int_eq(grant_map(&grant, 0, MIB, 0), THEMIS_OK);
    ck_assert(all_are(memory(&grant) + 3 * PAGE + 100, grant.mapped[0].length - 3 * PAGE - 100, 0));
    close_and_check(&grant);
}

TEST(a_straggler_fills_what_is_no_longer_the_objects)
{
    grant_t grant;

    open_incomplete(&grant);
    uint8_t *old = memory(&grant);
    _Atomic uint8_t *state = states(&grant);
    fill_page(old + PAGE, state + 1, 'a');
    truncate_to(1, 2 * PAGE + 100);
    fill_page(old, state, 'l');
    fill_page(old + 2 * PAGE, state + 2, 'l');
    fill_page(old + 9 * PAGE, state + 9, 'l');
    truncate_to(1, MIB);
    expect(1, 0, PAGE, 0);
    expect(1, PAGE, PAGE, 'a');
    expect(1, 2 * PAGE, MIB - 2 * PAGE, 0);
    close_and_check(&grant);
}

TEST(a_straggler_from_before_two_truncations_changes_nothing)
{
    grant_t grant;

    open_direct(64 * MIB, 0);
    ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
    grant_put(&grant, 0, MIB, 'a');
    uint8_t *old = memory(&grant);
    put(1, 2 * MIB, MIB, 'b');
    truncate_to(1, 2 * MIB + MIB / 2); /* leaves the first extent as it is */
    truncate_to(1, MIB / 2);
    put(1, MIB - 2 * PAGE, 1, 'c');
    memset(old + MIB / 2, 'l', MIB / 2);
    expect(1, 0, MIB / 2, 'a');
    expect(1, MIB / 2, MIB / 2 - 2 * PAGE, 0);
    expect(1, MIB - 2 * PAGE, 1, 'c');
    expect(1, MIB - 2 * PAGE + 1, 2 * PAGE - 1, 0);
    close_and_check(&grant);
}

TEST(garbage_in_the_states_ends_nothing)
{
    grant_t grant;

    open_incomplete(&grant);
    for (uint64_t page = 0; page < MIB / PAGE; page++)
        atomic_store(states(&grant) + page, (uint8_t)page);
    put(1, 10, 10, 'a'); /* page 0 is not valid, 1 is being cleared for ever */
    put(1, PAGE + 10, 10, 'b');
    put(1, 3 * PAGE, PAGE, 'c');
    expect(1, 0, 10, 0);
    expect(1, 10, 10, 'a');
    expect(1, PAGE + 10, 10, 'b');
    expect(1, 3 * PAGE, PAGE, 'c');
    for (uint64_t page = 0; page < MIB / PAGE; page++)
        atomic_store(states(&grant) + page, (uint8_t)(page % 2));
    ck_assert_int_eq(grant_map(&grant, 0, MIB, 0), THEMIS_OK);
    expect(1, 3 * PAGE, PAGE, 'c');
    close_and_check(&grant);
}

/* A child that fills all pages once `go` is 2; it has set it to 1 by then. */
static pid_t fork_filler(uint8_t *at, _Atomic uint8_t *pages, _Atomic int *go)
{
    pid_t child = fork();

    if (child != 0)
        return child;
    atomic_store(go, 1);
    while (atomic_load(go) != 2)
        sched_yield();
    for (uint64_t page = 0; page < MIB / PAGE; page++)
        fill_page(at + page * PAGE, pages + page, 'a');
    _exit(0);
}

/* A process fills pages while another one writes a byte to each by queue, for which the page is cleared: it takes no
 * other byte with it. */
TEST(no_clearing_takes_what_was_filled)
{
    enum { ROUNDS = 200 };
    _Atomic int *go = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    grant_t grant;
    int status;

    ck_assert_ptr_ne((void *)go, MAP_FAILED);
    open_incomplete(&grant);
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t *at = memory(&grant);
        atomic_store(go, 0);
        pid_t child = fork_filler(at, states(&grant), go);
        ck_assert_int_gt(child, 0);
        while (atomic_load(go) != 1)
            sched_yield();
        atomic_store(go, 2);
        for (uint64_t page = 0; page < MIB / PAGE; page++)
            put(1, page * PAGE + 7, 1, 'b');
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
        for (uint64_t page = 0; page < MIB / PAGE; page++) {
            ck_assert(all_are(at + page * PAGE, 7, 'a'));
            ck_assert(all_are(at + page * PAGE + 8, PAGE - 8, 'a'));
        }
        grant_close(&grant);
        ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
        ck_assert_int_eq(grant_open(&grant, 1, ALICE), THEMIS_OK);
        ck_assert_int_eq(grant_map(&grant, 0, MIB, FILLING), THEMIS_OK);
    }
    munmap((void *)go, PAGE);
    close_and_check(&grant);
}

int main(void)
{
    Suite *suite = suite_create("pages");

    test_case(suite, "pages", 60, NULL, NULL,
              TESTS({pages_are_zeros_until_somebody_fills_them, 1}, {who_asks_for_valid_pages_gets_them, 1},
                    {an_extent_that_is_full_needs_no_states, 1}, {small_extents_are_cleared_at_once, 1},
                    {a_truncation_discards_what_clients_have_filled, 1},
                    {a_straggler_fills_what_is_no_longer_the_objects, 1},
                    {a_straggler_from_before_two_truncations_changes_nothing, 1},
                    {garbage_in_the_states_ends_nothing, 1}, {no_clearing_takes_what_was_filled, 1}));
    return test_run(suite);
}
