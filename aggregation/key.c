/* SPDX-License-Identifier: BSD-3-Clause */
/* What two calls have to have in common for the plan of one to serve the other. */
#include "themis/aggregation.h"

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* After how many bytes the domains and servers look the same again. */
static uint64_t period(const themis_aggregation_domains_t *d)
{
    uint64_t row = d->layout.servers;

    if (d->method == THEMIS_AGGREGATION_STATIC_CYCLIC)
        row = row / common_divisor(row, d->count) * d->count;
    return row * d->layout.stripe_size;
}

themis_aggregation_key_t themis_aggregation_key(const themis_aggregation_domains_t *domains,
                                                themis_aggregation_placement_t placement, uint64_t pattern)
{
    return (themis_aggregation_key_t){.pattern = pattern,
                                      .length = domains->last - domains->first,
                                      .phase = domains->first % period(domains),
                                      .count = domains->count,
                                      .method = domains->method,
                                      .placement = placement};
}
