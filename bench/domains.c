/* SPDX-License-Identifier: BSD-3-Clause */
/* The evaluation of every file-domain method over a grid of aggregators and servers; JSON rows to standard output. */
#include <stdio.h>
#include <stdlib.h>

#include "themis/aggregation.h"

enum { STRIPE = 1 << 20, ROWS = 64 /* stripes of each aggregator and server */ };

static int row(themis_aggregation_method_t method, uint32_t servers, uint32_t aggregators, const char *before)
{
    themis_aggregation_layout_t layout = {STRIPE, servers, 0};
    themis_aggregation_domains_t d;
    themis_aggregation_evaluation_t v;
    /* not a whole number of stripes, as collective calls are not */
    uint64_t bytes = (uint64_t)ROWS * (servers > aggregators ? servers : aggregators) * STRIPE - STRIPE / 3;

    if (themis_aggregation_domains_init(method, &layout, 0, bytes - 1, aggregators, &d) != THEMIS_OK ||
        themis_aggregation_domains_evaluate(&d, UINT64_MAX, &v) != THEMIS_OK)
        return -1;
    printf(
        "%s{\"servers\": %u, \"aggregators\": %u, \"used_aggregators\": %u, \"method\": \"%s\", "
        "\"servers_per_aggregator_mean\": %.2f, \"servers_per_aggregator_most\": %u, \"conflicts\": %llu, "
        "\"conflicts_worst_server\": %llu, \"shared_stripes\": %llu, \"largest_domain_mib\": %.1f, \"auto\": \"%s\"}",
        before, servers, aggregators, d.count,
        method == THEMIS_AGGREGATION_METHOD_AUTO ? "auto" : themis_aggregation_method_name(method), v.servers_mean,
        v.servers_max, (unsigned long long)v.conflicts, (unsigned long long)v.conflicts_max,
        (unsigned long long)v.shared_stripes, (double)v.bytes_max / (1 << 20),
        method == THEMIS_AGGREGATION_METHOD_AUTO ? themis_aggregation_method_name(d.method) : "");
    return 0;
}

int main(void)
{
    static const uint32_t servers[] = {3, 4, 8, 16}, aggregators[] = {3, 4, 5, 6, 8, 15, 16, 31, 32, 64};
    const char *before = "[\n";

    for (size_t s = 0; s < sizeof servers / sizeof *servers; s++) {
        for (size_t a = 0; a < sizeof aggregators / sizeof *aggregators; a++) {
            for (int m = 0; m <= THEMIS_AGGREGATION_METHOD_AUTO; m++) {
                if (row((themis_aggregation_method_t)m, servers[s], aggregators[a], before) != 0)
                    return EXIT_FAILURE;
                before = ",\n";
            }
        }
    }
    printf("\n]\n");
    return EXIT_SUCCESS;
}
