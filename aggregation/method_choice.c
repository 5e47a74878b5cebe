/* SPDX-License-Identifier: BSD-3-Clause */
/* Cutting a range into file domains, where "auto" takes the method that evaluates best. */
#include "aggregation/domains.h"
#include "util/log.h"

typedef themis_aggregation_evaluation_t evaluation_t;

/* Whether a is better than b, where min_bytes is the size of the largest domain under the most even method. */
static bool is_better(const evaluation_t *a, const evaluation_t *b, uint64_t min_bytes)
{
    bool a_even = a->bytes_max <= min_bytes + min_bytes / 4, b_even = b->bytes_max <= min_bytes + min_bytes / 4;

    if (a_even != b_even)
        return a_even;
    if (a->conflicts != b->conflicts)
        return a->conflicts < b->conflicts;
    return a->servers_mean < b->servers_mean;
}

/*
 * The method with the fewest conflicts per stripe, then the fewest servers per aggregator, among those whose largest
 * domain is within 1.25 of the smallest one. Evaluates a part of the range of bounded size.
 */
static themis_status_t method_choose(const themis_aggregation_layout_t *layout, uint64_t first, uint64_t last,
                                     uint32_t aggregators, themis_aggregation_method_t *method)
{
    /* in order of preference among equals */
    static const themis_aggregation_method_t methods[] = {THEMIS_AGGREGATION_GROUP_CYCLIC, THEMIS_AGGREGATION_TRANSPOSE,
                                                          THEMIS_AGGREGATION_ALIGNED, THEMIS_AGGREGATION_STATIC_CYCLIC};
    enum { METHODS = sizeof methods / sizeof *methods };
    evaluation_t evaluation[METHODS];
    uint64_t wide = aggregators > layout->servers ? aggregators : layout->servers, bound = 8 * wide;
    uint64_t min_bytes = UINT64_MAX;
    int best = 0;

    if ((last - first) / layout->stripe_size > bound)
        last = first + bound * layout->stripe_size;
    for (int m = 0; m < METHODS; m++) {
        themis_aggregation_domains_t domains;
        themis_status_t status;

        themis_aggregation_domains_cut(methods[m], layout, first, last, aggregators, &domains);
        status = themis_aggregation_domains_evaluate(&domains, UINT64_MAX, &evaluation[m]);
        if (status != THEMIS_OK)
            return status;
        min_bytes = evaluation[m].bytes_max < min_bytes ? evaluation[m].bytes_max : min_bytes;
    }
    for (int m = 1; m < METHODS; m++)
        if (is_better(&evaluation[m], &evaluation[best], min_bytes))
            best = m;
    *method = methods[best];
    return THEMIS_OK;
}

themis_status_t themis_aggregation_domains_init(themis_aggregation_method_t method,
                                                const themis_aggregation_layout_t *layout, uint64_t first,
                                                uint64_t last, uint32_t aggregators,
                                                themis_aggregation_domains_t *domains)
{
    themis_status_t status = THEMIS_OK;

    if (last < first || last > INT64_MAX || aggregators == 0 || layout->servers == 0 || layout->stripe_size == 0 ||
        method > THEMIS_AGGREGATION_METHOD_AUTO) {
        themis_error("file domains: invalid cut of bytes %llu to %llu for %u aggregators, %u servers, stripe size %llu",
                     (unsigned long long)first, (unsigned long long)last, aggregators, layout->servers,
                     (unsigned long long)layout->stripe_size);
        return THEMIS_INVALID;
    }
    if (method == THEMIS_AGGREGATION_METHOD_AUTO)
        status = method_choose(layout, first, last, aggregators, &method);
    if (status == THEMIS_OK)
        themis_aggregation_domains_cut(method, layout, first, last, aggregators, domains);
    return status;
}
