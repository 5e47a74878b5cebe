/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/call_plan.h"
#include <stdlib.h>
#include "collective/domain_extents.h"

void themis_collective_call_plan_destroy(themis_collective_call_plan_t *plan)
{
    if (!plan)
        return;
    for (uint32_t p = 0; p < plan->parts; p++) {
        for (uint32_t r = 0; r < plan->part[p].ranks; r++)
            themis_util_runs_free(&plan->part[p].runs[r]);
        free(plan->part[p].runs);
    }
    free(plan->part);
    free(plan->aggregator);
    free(plan->candidate);
    free(plan);
}

themis_aggregation_domains_t themis_collective_call_plan_move(const themis_collective_call_plan_t *plan, uint64_t first)
{
    themis_aggregation_domains_t moved;
    const themis_aggregation_domains_t *was = &plan->domains;
    uint64_t last = first + (was->last - was->first);
    if (themis_aggregation_domains_init(was->method, &was->layout, first, last, was->requested, &moved) != THEMIS_OK)
        moved = *was; /* cannot happen: the same arguments were good before */
    return moved;
}

uint64_t themis_collective_call_plan_part_bytes(const themis_collective_call_plan_t *plan,
                                                const themis_aggregation_domains_t *domains, uint64_t round,
                                                const themis_collective_part_t *part)
{
    const themis_collective_round_t mine = {domains, plan->mine, round, plan->round_bytes};
    uint64_t bytes = 0;
    for (uint32_t r = 0; r < part->ranks; r++)
        bytes += themis_collective_domain_rows_bytes(&mine, &part->runs[r], domains->first);
    return bytes;
}
