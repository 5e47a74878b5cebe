/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two judges of a cut that need no cluster: servers reached per aggregator, and conflicts under a lock manager like
 * Lustre's, where each server grants extents of its object as large as it can and takes back what another one asks for.
 */
#include <stdlib.h>
#include <string.h>

#include "aggregation/methods.h"

/* The lock of one aggregator on one server, in stripes of the server's object; it has used [used_low, used_high]. */
typedef struct lock {
    uint64_t low, high, used_low, used_high;
    int held, reached;
} lock_t;

typedef struct judge {
    const themis_aggregation_domains_t *domains;
    uint64_t end;        /* file offset where the judged part stops */
    lock_t *lock;        /* [servers * count] */
    uint64_t *conflicts; /* [servers] */
    themis_aggregation_iterator_t *iterator;
    themis_aggregation_extent_t *extent; /* what is left of the extent that each aggregator is at */
} judge_t;

/* Takes stripe `at` away from a lock: what remains is the side that its holder will need next. */
static void lock_revoke(lock_t *lock, uint64_t at)
{
    if (at > lock->used_high) {
        lock->high = at - 1;
        return;
    }
    lock->low = at + 1;
    lock->used_low = lock->used_low > lock->low ? lock->used_low : lock->low;
    if (lock->low > lock->used_high)
        lock->held = 0;
}

/* The largest extent round `at` that no other lock of the server overlaps. */
static void lock_grant(lock_t *locks, uint32_t count, uint32_t taker, uint64_t at)
{
    lock_t grant = {.high = UINT64_MAX, .used_low = at, .used_high = at, .held = 1, .reached = 1}, *own = &locks[taker];

    for (uint32_t k = 0; k < count; k++) {
        if (k == taker || !locks[k].held)
            continue;
        if (locks[k].high < at && locks[k].high >= grant.low)
            grant.low = locks[k].high + 1;
        if (locks[k].low > at && locks[k].low <= grant.high)
            grant.high = locks[k].low - 1;
    }
    if (own->held && own->used_low >= grant.low && own->used_high <= grant.high) {
        grant.used_low = own->used_low < at ? own->used_low : at;
        grant.used_high = own->used_high > at ? own->used_high : at;
    }
    *own = grant;
}

static void lock_request(lock_t *locks, uint32_t count, uint32_t taker, uint64_t at, uint64_t *conflicts)
{
    lock_t *own = &locks[taker];

    if (own->held && own->low <= at && at <= own->high) {
        own->used_low = own->used_low < at ? own->used_low : at;
        own->used_high = own->used_high > at ? own->used_high : at;
        return;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (k != taker && locks[k].held && locks[k].low <= at && at <= locks[k].high) {
            ++*conflicts;
            lock_revoke(&locks[k], at);
        }
    }
    lock_grant(locks, count, taker, at);
}

/* Lets an aggregator write its next stripe; false when it has none. */
static bool judge_step(judge_t *j, uint32_t domain)
{
    const themis_aggregation_layout_t *layout = &j->domains->layout;
    themis_aggregation_extent_t *extent = &j->extent[domain];
    uint64_t stripe, rest;
    uint32_t server;

    if (extent->length == 0 && !themis_aggregation_iterator_next(&j->iterator[domain], extent))
        return false;
    if (extent->offset >= j->end)
        return false;
    stripe = extent->offset / layout->stripe_size;
    server = themis_aggregation_layout_server(layout, extent->offset);
    lock_request(j->lock + (size_t)server * j->domains->count, j->domains->count, domain, stripe / layout->servers,
                 &j->conflicts[server]);
    rest = (stripe + 1) * layout->stripe_size - extent->offset;
    rest = rest < extent->length ? rest : extent->length;
    extent->offset += rest;
    extent->length -= rest;
    return true;
}

static void judge_run(judge_t *j)
{
    bool any = true;

    for (uint32_t k = 0; k < j->domains->count; k++)
        themis_aggregation_iterator_init(j->domains, k, j->domains->first, &j->iterator[k]);
    while (any) {
        any = false;
        for (uint32_t k = 0; k < j->domains->count; k++)
            any |= judge_step(j, k);
    }
}

/* Stripes in which a domain ends and another begins. Only methods that do not cut at stripes have any. */
static uint64_t shared_stripes(const themis_aggregation_domains_t *d)
{
    uint64_t shared = 0, size = d->layout.stripe_size, last = UINT64_MAX;

    if (d->method != THEMIS_AGGREGATION_EVEN)
        return 0;
    for (uint64_t unit = 1; unit < d->units; unit++) {
        uint64_t at = d->origin + unit * d->unit;

        if (at % size != 0 && at / size != last) {
            last = at / size;
            shared++;
        }
    }
    return shared;
}

static void judge_servers(const judge_t *j, themis_aggregation_verdict_t *v)
{
    uint64_t sum = 0, active = 0;

    for (uint32_t k = 0; k < j->domains->count; k++) {
        uint32_t reached = 0;

        for (uint32_t s = 0; s < j->domains->layout.servers; s++)
            reached += (uint32_t)j->lock[(size_t)s * j->domains->count + k].reached;
        if (reached == 0)
            continue;
        v->servers_least = active == 0 || reached < v->servers_least ? reached : v->servers_least;
        v->servers_most = reached > v->servers_most ? reached : v->servers_most;
        sum += reached;
        active++;
    }
    v->servers_mean = active ? (double)sum / (double)active : 0;
}

static themis_aggregation_verdict_t judge_sum(const judge_t *j)
{
    themis_aggregation_verdict_t v = {.shared_stripes = shared_stripes(j->domains)};

    judge_servers(j, &v);
    for (uint32_t s = 0; s < j->domains->layout.servers; s++) {
        v.conflicts += j->conflicts[s];
        v.conflicts_most = j->conflicts[s] > v.conflicts_most ? j->conflicts[s] : v.conflicts_most;
    }
    for (uint32_t k = 0; k < j->domains->count; k++) {
        uint64_t bytes = themis_aggregation_domains_size(j->domains, k);

        v.bytes_most = bytes > v.bytes_most ? bytes : v.bytes_most;
    }
    return v;
}

themis_status_t themis_aggregation_judge(const themis_aggregation_domains_t *domains, uint64_t limit,
                                         themis_aggregation_verdict_t *verdict)
{
    uint32_t count = domains->count, servers = domains->layout.servers;
    uint64_t stripes = (domains->last - domains->first) / domains->layout.stripe_size + 1;
    judge_t j = {.domains = domains,
                 .end = limit < stripes ? domains->first + limit * domains->layout.stripe_size : domains->last + 1,
                 .lock = calloc((size_t)servers * count, sizeof(lock_t)),
                 .conflicts = calloc(servers, sizeof(uint64_t)),
                 .iterator = calloc(count, sizeof(themis_aggregation_iterator_t)),
                 .extent = calloc(count, sizeof(themis_aggregation_extent_t))};
    themis_status_t status = THEMIS_NO_MEMORY;

    if (j.lock && j.conflicts && j.iterator && j.extent) {
        judge_run(&j);
        *verdict = judge_sum(&j);
        status = THEMIS_OK;
    }
    free(j.lock);
    free(j.conflicts);
    free(j.iterator);
    free(j.extent);
    return status;
}

/* Whether a is better than b, where `least` is the smallest load of the largest domain that any method reaches. */
static bool verdict_better(const themis_aggregation_verdict_t *a, const themis_aggregation_verdict_t *b, uint64_t least)
{
    bool a_even = a->bytes_most <= least + least / 4, b_even = b->bytes_most <= least + least / 4;

    if (a_even != b_even)
        return a_even;
    if (a->conflicts != b->conflicts)
        return a->conflicts < b->conflicts;
    return a->servers_mean < b->servers_mean;
}

themis_status_t themis_aggregation_method_choose(const themis_aggregation_layout_t *layout, uint64_t first,
                                                 uint64_t last, uint32_t aggregators,
                                                 themis_aggregation_method_t *method)
{
    /* in the order of preference where the judges see no difference */
    static const themis_aggregation_method_t candidate[] = {THEMIS_AGGREGATION_GROUP_CYCLIC,
                                                            THEMIS_AGGREGATION_TRANSPOSE, THEMIS_AGGREGATION_ALIGNED,
                                                            THEMIS_AGGREGATION_STATIC_CYCLIC};
    enum { CANDIDATES = sizeof candidate / sizeof *candidate };
    themis_aggregation_verdict_t verdict[CANDIDATES];
    uint64_t wide = aggregators > layout->servers ? aggregators : layout->servers, bound = 8 * wide, least = UINT64_MAX;
    int best = 0;

    if ((last - first) / layout->stripe_size > bound)
        last = first + bound * layout->stripe_size;
    for (int c = 0; c < CANDIDATES; c++) {
        themis_aggregation_domains_t domains;
        themis_status_t status =
            themis_aggregation_domains_init(candidate[c], layout, first, last, aggregators, &domains);

        if (status == THEMIS_OK)
            status = themis_aggregation_judge(&domains, UINT64_MAX, &verdict[c]);
        if (status != THEMIS_OK)
            return status;
        least = verdict[c].bytes_most < least ? verdict[c].bytes_most : least;
    }
    for (int c = 1; c < CANDIDATES; c++)
        if (verdict_better(&verdict[c], &verdict[best], least))
            best = c;
    *method = candidate[best];
    return THEMIS_OK;
}
