/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluates a cut by simulation: servers used by each aggregator, and conflicts under a lock manager like Lustre's,
 * where each server grants extents of its object as large as possible and revokes what another aggregator requests.
 */
#include <stdlib.h>

#include "themis/aggregation.h"

/* The lock of one aggregator on one server, in stripes of the server's object; it has used [used_low, used_high]. */
typedef struct lock {
    uint64_t low, high, used_low, used_high;
    int held, reached;
} lock_t;

typedef struct simulation {
    const themis_aggregation_domains_t *domains;
    uint64_t end;        /* file offset where the evaluated part ends */
    lock_t *lock;        /* [servers * count] */
    uint64_t *conflicts; /* [servers] */
    themis_aggregation_iterator_t *iterator;
    themis_aggregation_extent_t *extent; /* the rest of each aggregator's current extent */
} simulation_t;

/* Revokes stripe `at` of a lock: its holder keeps the side that it needs next. */
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

/* Grants the largest extent around `at` that overlaps no other lock of the server. */
static void lock_grant(lock_t *locks, uint32_t count, uint32_t requester, uint64_t at)
{
    lock_t grant = {.high = UINT64_MAX, .used_low = at, .used_high = at, .held = 1, .reached = 1},
           *own = &locks[requester];

    for (uint32_t k = 0; k < count; k++) {
        if (k == requester || !locks[k].held)
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

static void lock_request(lock_t *locks, uint32_t count, uint32_t requester, uint64_t at, uint64_t *conflicts)
{
    lock_t *own = &locks[requester];

    if (own->held && own->low <= at && at <= own->high) {
        own->used_low = own->used_low < at ? own->used_low : at;
        own->used_high = own->used_high > at ? own->used_high : at;
        return;
    }
    for (uint32_t k = 0; k < count; k++) {
        if (k != requester && locks[k].held && locks[k].low <= at && at <= locks[k].high) {
            ++*conflicts;
            lock_revoke(&locks[k], at);
        }
    }
    lock_grant(locks, count, requester, at);
}

/* One aggregator writes its next stripe; false when it has none. */
static bool simulation_step(simulation_t *sim, uint32_t domain)
{
    const themis_aggregation_layout_t *layout = &sim->domains->layout;
    themis_aggregation_extent_t *extent = &sim->extent[domain];
    uint64_t stripe, rest;
    uint32_t server;

    if (extent->length == 0 && !themis_aggregation_iterator_next(&sim->iterator[domain], extent))
        return false;
    if (extent->offset >= sim->end)
        return false;
    stripe = extent->offset / layout->stripe_size;
    server = themis_aggregation_layout_server(layout, extent->offset);
    lock_request(sim->lock + (size_t)server * sim->domains->count, sim->domains->count, domain,
                 stripe / layout->servers, &sim->conflicts[server]);
    rest = (stripe + 1) * layout->stripe_size - extent->offset;
    rest = rest < extent->length ? rest : extent->length;
    extent->offset += rest;
    extent->length -= rest;
    return true;
}

static void simulation_run(simulation_t *sim)
{
    bool any = true;

    for (uint32_t k = 0; k < sim->domains->count; k++)
        themis_aggregation_iterator_init(sim->domains, k, sim->domains->first, &sim->iterator[k]);
    while (any) {
        any = false;
        for (uint32_t k = 0; k < sim->domains->count; k++)
            any |= simulation_step(sim, k);
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

static void servers_evaluate(const simulation_t *sim, themis_aggregation_evaluation_t *v)
{
    uint64_t sum = 0, active = 0;

    for (uint32_t k = 0; k < sim->domains->count; k++) {
        uint32_t reached = 0;

        for (uint32_t s = 0; s < sim->domains->layout.servers; s++)
            reached += (uint32_t)sim->lock[(size_t)s * sim->domains->count + k].reached;
        if (reached == 0)
            continue;
        v->servers_max = reached > v->servers_max ? reached : v->servers_max;
        sum += reached;
        active++;
    }
    v->servers_mean = active ? (double)sum / (double)active : 0;
}

static themis_aggregation_evaluation_t simulation_result(const simulation_t *sim)
{
    themis_aggregation_evaluation_t v = {.shared_stripes = shared_stripes(sim->domains)};

    servers_evaluate(sim, &v);
    for (uint32_t s = 0; s < sim->domains->layout.servers; s++) {
        v.conflicts += sim->conflicts[s];
        v.conflicts_max = sim->conflicts[s] > v.conflicts_max ? sim->conflicts[s] : v.conflicts_max;
    }
    for (uint32_t k = 0; k < sim->domains->count; k++) {
        uint64_t bytes = themis_aggregation_domains_size(sim->domains, k);

        v.bytes_max = bytes > v.bytes_max ? bytes : v.bytes_max;
    }
    return v;
}

themis_status_t themis_aggregation_domains_evaluate(const themis_aggregation_domains_t *domains, uint64_t limit,
                                                    themis_aggregation_evaluation_t *evaluation)
{
    uint32_t count = domains->count, servers = domains->layout.servers;
    uint64_t stripes = (domains->last - domains->first) / domains->layout.stripe_size + 1;
    simulation_t sim = {.domains = domains,
                        .end =
                            limit < stripes ? domains->first + limit * domains->layout.stripe_size : domains->last + 1,
                        .lock = calloc((size_t)servers * count, sizeof(lock_t)),
                        .conflicts = calloc(servers, sizeof(uint64_t)),
                        .iterator = calloc(count, sizeof(themis_aggregation_iterator_t)),
                        .extent = calloc(count, sizeof(themis_aggregation_extent_t))};
    themis_status_t status = THEMIS_NO_MEMORY;

    if (sim.lock && sim.conflicts && sim.iterator && sim.extent) {
        simulation_run(&sim);
        *evaluation = simulation_result(&sim);
        status = THEMIS_OK;
    }
    free(sim.lock);
    free(sim.conflicts);
    free(sim.iterator);
    free(sim.extent);
    return status;
}
