/* SPDX-License-Identifier: BSD-3-Clause */
/* File domains: for random parameters every operation agrees with a walk over all bytes; figure 2 of the paper. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/methods.h"
#include "test/aggregation/draw.h"
#include "test/lib/run.h"
#include "themis/aggregation.h"

typedef themis_aggregation_domains_t domains_t;

static domains_t cut(themis_aggregation_method_t method, uint64_t stripe, uint32_t servers, uint64_t first,
                     uint64_t last, uint32_t aggregators)
{
    themis_aggregation_layout_t layout = {stripe, servers, (uint32_t)draw(servers)};
    domains_t d;

    ck_assert_int_eq(themis_aggregation_domains_init(method, &layout, first, last, aggregators, &d), THEMIS_OK);
    return d;
}

static uint32_t owner(const domains_t *d, uint64_t offset)
{
    uint64_t end;

    return themis_aggregation_domains_locate(d, offset, &end);
}

/* Every byte has one owner; runs, positions, seeks and sizes all say the same. */
static void check_bytes(const domains_t *d)
{
    uint64_t *position = calloc(d->count, sizeof *position);

    for (uint64_t at = d->first; at <= d->last; at++) {
        uint64_t end;
        uint32_t k = themis_aggregation_domains_locate(d, at, &end);

        ck_assert_uint_lt(k, d->count);
        ck_assert(end > at && end <= d->last + 1);
        ck_assert_uint_eq(owner(d, end - 1), k);
        ck_assert_uint_eq(themis_aggregation_domains_position(d, k, at), position[k]);
        ck_assert_uint_eq(themis_aggregation_domains_seek(d, k, position[k]), at);
        position[k]++;
        k = (uint32_t)draw(d->count);
        ck_assert_uint_eq(themis_aggregation_domains_position(d, k, at + 1), position[k]);
    }
    for (uint32_t k = 0; k < d->count; k++)
        ck_assert_uint_eq(themis_aggregation_domains_size(d, k), position[k]);
    free(position);
}

static uint64_t check_iterator(const domains_t *d, uint32_t k)
{
    themis_aggregation_iterator_t it;
    themis_aggregation_extent_t e;
    uint64_t from = d->first, sum = 0;

    themis_aggregation_iterator_init(d, k, 0, &it);
    while (themis_aggregation_iterator_next(&it, &e)) {
        ck_assert(e.length > 0 && e.offset >= from);
        if (d->method == THEMIS_AGGREGATION_STRIPE_SIZE)
            ck_assert_uint_eq(e.offset / d->unit, (e.offset + e.length - 1) / d->unit);
        else
            ck_assert(e.offset > from || sum == 0);
        for (uint64_t at = e.offset; at < e.offset + e.length; at++)
            ck_assert_uint_eq(owner(d, at), k);
        from = e.offset + e.length;
        sum += e.length;
    }
    ck_assert_uint_eq(sum, themis_aggregation_domains_size(d, k));
    return sum;
}

static void check_extents(const domains_t *d)
{
    uint64_t total = 0;

    for (uint32_t k = 0; k < d->count; k++)
        total += check_iterator(d, k);
    ck_assert_uint_eq(total, d->last - d->first + 1);
}

static void check_shares(const domains_t *d)
{
    uint64_t *want = calloc(d->layout.servers, sizeof *want), *got = calloc(d->layout.servers, sizeof *got);

    for (uint32_t k = 0; k < d->count; k++) {
        memset(want, 0, d->layout.servers * sizeof *want);
        memset(got, 0, d->layout.servers * sizeof *got);
        for (uint64_t at = d->first; at <= d->last; at++)
            want[themis_aggregation_layout_server(&d->layout, at)] += owner(d, at) == k;
        d->ops->shares(d, k, got);
        for (uint32_t s = 0; s < d->layout.servers; s++)
            ck_assert(got[s] >= want[s] && got[s] <= want[s] + 2 * d->layout.stripe_size);
    }
    free(want);
    free(got);
}

/* Domains meet on stripe boundaries, and differ by at most one stripe, or two halves of one at the ends of groups. */
static void check_promises(const domains_t *d)
{
    uint64_t min = UINT64_MAX, max = 0;

    if (d->method == THEMIS_AGGREGATION_EVEN)
        return;
    for (uint64_t at = d->first; at < d->last; at++)
        if ((at + 1) % d->unit != 0)
            ck_assert_uint_eq(owner(d, at), owner(d, at + 1));
    for (uint32_t k = 0; k < d->count; k++) {
        uint64_t units = d->ops->before(d, k, d->units);

        min = units < min ? units : min;
        max = units > max ? units : max;
    }
    ck_assert_uint_le(max - min, 1);
}

TEST(operations_agree)
{
    draw_state = (uint64_t)_i;
    for (int round = 0; round < 250; round++) {
        uint64_t stripe = 1 + draw(9), first = draw(100), last = first + draw(300);
        domains_t d =
            cut((themis_aggregation_method_t)_i, stripe, 1 + (uint32_t)draw(7), first, last, 1 + (uint32_t)draw(14));

        check_bytes(&d);
        check_extents(&d);
        check_shares(&d);
        check_promises(&d);
    }
}

TEST(large_ranges_stay_exact)
{
    draw_state = 11;
    for (int round = 0; round < 500; round++) {
        uint64_t first = draw(INT64_MAX / 2), last = first + draw(INT64_MAX / 2), sum = 0;
        domains_t d = cut((themis_aggregation_method_t)_i, 1 + draw(1 << 20), 1 + (uint32_t)draw(300), first, last,
                          1 + (uint32_t)draw(300));

        for (uint32_t k = 0; k < d.count; k++) {
            uint64_t size = themis_aggregation_domains_size(&d, k), at, position;

            sum += size;
            if (size == 0)
                continue;
            position = draw(size);
            at = themis_aggregation_domains_seek(&d, k, position);
            ck_assert_uint_eq(owner(&d, at), k);
            ck_assert_uint_eq(themis_aggregation_domains_position(&d, k, at), position);
        }
        ck_assert_uint_eq(sum, last - first + 1);
    }
}

/* 12 stripes of 10 bytes, 3 servers, the first stripe on server 0. */
static void figure(themis_aggregation_method_t method, uint32_t aggregators, const uint32_t *want)
{
    themis_aggregation_layout_t layout = {10, 3, 0};
    domains_t d;

    ck_assert_int_eq(themis_aggregation_domains_init(method, &layout, 0, 119, aggregators, &d), THEMIS_OK);
    for (uint64_t s = 0; s < 12; s++)
        ck_assert_msg(owner(&d, 10 * s) == want[s], "stripe %d: %u, not %u", (int)s, owner(&d, 10 * s), want[s]);
}

TEST(figure_2_of_the_paper)
{
    /* stripe s is on server s mod 3, in its row s / 3 */
    static const uint32_t cyclic[] = {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5};
    static const uint32_t group[] = {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5};
    static const uint32_t transpose[] = {0, 1, 3, 0, 2, 3, 0, 2, 4, 1, 2, 4};
    static const uint32_t aligned[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};

    figure(THEMIS_AGGREGATION_STATIC_CYCLIC, 6, cyclic);
    figure(THEMIS_AGGREGATION_GROUP_CYCLIC, 6, group);
    figure(THEMIS_AGGREGATION_TRANSPOSE, 5, transpose);
    figure(THEMIS_AGGREGATION_ALIGNED, 6, aligned);
}

TEST(static_cyclic_is_fixed_over_calls)
{
    uint32_t seen[64];
    bool known[64] = {false};

    draw_state = 12;
    for (int round = 0; round < 200; round++) {
        uint64_t first = draw(64 * 10), last = first + draw(64 * 10 - first);
        domains_t d = cut(THEMIS_AGGREGATION_STATIC_CYCLIC, 10, 3, first, last, 5);

        for (uint64_t at = first; at <= last; at++) {
            ck_assert(!known[at / 10] || seen[at / 10] == owner(&d, at));
            seen[at / 10] = owner(&d, at);
            known[at / 10] = true;
        }
    }
}

TEST(group_cyclic_adjusts_and_says_so)
{
    static const uint32_t cases[][3] = {/* servers, asked for, used */
                                        {3, 6, 6}, {3, 7, 6}, {3, 8, 6}, {3, 9, 9}, {6, 4, 3},  {6, 5, 3},
                                        {6, 6, 6}, {7, 5, 1}, {4, 2, 2}, {4, 3, 2}, {5, 23, 20}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        domains_t d = cut(THEMIS_AGGREGATION_GROUP_CYCLIC, 10, cases[i][0], 0, 9999, cases[i][1]);

        ck_assert_uint_eq(d.count, cases[i][2]);
        ck_assert_uint_eq(d.requested, cases[i][1]);
    }
}

TEST(bad_cuts_are_refused)
{
    themis_aggregation_layout_t good = {10, 2, 0}, no_servers = {10, 0, 0}, no_stripe = {0, 2, 0};
    const themis_aggregation_method_t even = THEMIS_AGGREGATION_EVEN;
    themis_aggregation_method_t m;
    domains_t d;

    ck_assert_int_eq(themis_aggregation_domains_init(even, &good, 5, 4, 1, &d), THEMIS_INVALID);
    ck_assert_int_eq(themis_aggregation_domains_init(even, &good, 0, 4, 0, &d), THEMIS_INVALID);
    ck_assert_int_eq(themis_aggregation_domains_init(even, &no_servers, 0, 4, 1, &d), THEMIS_INVALID);
    ck_assert_int_eq(themis_aggregation_domains_init(even, &no_stripe, 0, 4, 1, &d), THEMIS_INVALID);
    ck_assert_int_eq(themis_aggregation_domains_init(even, &good, 0, UINT64_MAX, 1, &d), THEMIS_INVALID);
    ck_assert_int_eq(themis_aggregation_method_parse("odd", &m), THEMIS_INVALID);
    for (int k = 0; k <= THEMIS_AGGREGATION_METHOD_AUTO; k++) {
        const char *name = themis_aggregation_method_name((themis_aggregation_method_t)k);

        ck_assert_int_eq(themis_aggregation_method_parse(name, &m), THEMIS_OK);
        ck_assert_int_eq(m, k);
    }
}

int main(void)
{
    Suite *suite = suite_create("domains");

    test_case(suite, "domains", 60, NULL, NULL,
              TESTS({operations_agree, THEMIS_AGGREGATION_METHODS},
                    {large_ranges_stay_exact, THEMIS_AGGREGATION_METHODS}, {figure_2_of_the_paper, 1},
                    {static_cyclic_is_fixed_over_calls, 1}, {group_cyclic_adjusts_and_says_so, 1},
                    {bad_cuts_are_refused, 1}));
    return test_run(suite);
}
