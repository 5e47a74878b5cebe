/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/twophase.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Plans with more than this at any rank are not kept. */
#define MAX_PLAN_BYTES (UINT64_C(16) << 20)

/*
 * A pattern is the same when all ranks have the same shapes at the same distances from the call's first byte, which no
 * rank knows when it fills in its record. So places are summed with random factors: the sum of factor x place, less
 * first byte x sum of factors, is the sum of factor x distance.
 */
void themis_collective_twophase_describe(const themis_collective_operation_t *op,
                                         themis_collective_consensus_record_t *record)
{
    const themis_util_runs_t *file = op->access.file;
    int rank = op->coll->group->rank;
    uint64_t shape = themis_util_runs_hash(file);
    record->weight = XXH64(&rank, sizeof rank, 1);
    record->pattern = XXH64(&shape, sizeof shape, record->weight) + record->weight * themis_util_runs_first(file);
}

static themis_aggregation_plan_key_t key_of(const themis_collective_operation_t *op,
                                            const themis_aggregation_domains_t *domains)
{
    const themis_collective_consensus_record_t *decision = &op->decision;
    uint64_t pattern = decision->pattern - decision->weight * decision->first;
    return themis_aggregation_plan_key(domains, op->coll->options.placement, pattern);
}

/* A plan of the same pattern becomes the most recent one. All ranks have the same plans in the same order. */
static themis_collective_call_plan_t *find_plan(themis_collective_t *coll, const themis_aggregation_plan_key_t *key)
{
    for (int i = 0; i < THEMIS_COLLECTIVE_PLANS && coll->plan[i]; i++) {
        themis_collective_call_plan_t *found = coll->plan[i];
        if (memcmp(&found->key, key, sizeof *key))
            continue;
        memmove(&coll->plan[1], &coll->plan[0], (size_t)i * sizeof coll->plan[0]);
        coll->plan[0] = found;
        return found;
    }
    return NULL;
}

static void keep_plan(themis_collective_t *coll, themis_collective_call_plan_t *plan)
{
    themis_collective_call_plan_destroy(coll->plan[THEMIS_COLLECTIVE_PLANS - 1]);
    memmove(&coll->plan[1], &coll->plan[0], (THEMIS_COLLECTIVE_PLANS - 1) * sizeof coll->plan[0]);
    coll->plan[0] = plan;
    plan->kept = 1;
}

/* Stripes stay with their aggregators from the first static-cyclic plan on: all ranks keep the number, rank 0 the
 * candidates. */
static void keep_candidates(themis_collective_t *coll, themis_collective_call_plan_t *plan)
{
    if (plan->domains.method != THEMIS_AGGREGATION_STATIC_CYCLIC || coll->cyclic_count == plan->domains.count)
        return;
    free(coll->cyclic_candidate);
    coll->cyclic_candidate = plan->candidate;
    coll->cyclic_count = plan->domains.count;
    plan->candidate = NULL;
}

static void show_plan(themis_collective_t *coll, const themis_collective_call_plan_t *plan)
{
    themis_collective_info_t *info = &coll->info;
    uint32_t domains = plan->domains.count;
    uint32_t *copy = realloc(coll->shown_aggregator, domains * sizeof *copy);
    info->mode = THEMIS_COLLECTIVE_TWOPHASE;
    info->method = plan->domains.method;
    info->placement = plan->placement;
    info->cost = plan->cost;
    info->default_cost = plan->default_cost;
    info->moved_bytes = plan->moved_bytes;
    if (!copy)
        return;
    memcpy(copy, plan->aggregator, domains * sizeof *copy);
    coll->shown_aggregator = copy;
    info->aggregator = copy;
    info->aggregators = domains;
}

static themis_status_t cut_domains(const themis_collective_operation_t *op, themis_aggregation_domains_t *domains)
{
    const themis_collective_t *coll = op->coll;
    const themis_collective_options_t *options = &coll->options;
    themis_aggregation_count_input_t load = {.bytes = op->decision.bytes,
                                             .nodes = coll->group->nodes,
                                             .candidates = coll->candidates->count,
                                             .max = options->max_aggregators,
                                             .servers = options->layout.servers,
                                             .stripe_size = options->layout.stripe_size,
                                             .buffer_size = options->buffer_size};
    int cyclic = options->method == THEMIS_AGGREGATION_STATIC_CYCLIC;
    /* The first call decides for all that follow, so it counts as a large one. */
    if (cyclic && load.bytes < load.candidates * load.buffer_size)
        load.bytes = load.candidates * load.buffer_size;
    uint32_t count = cyclic && coll->cyclic_count ? coll->cyclic_count
                                                  : themis_aggregation_aggregator_count(options->aggregators, &load);
    return themis_aggregation_domains_init(options->method, &options->layout, op->decision.first, op->decision.end - 1,
                                           count, domains);
}

static void prepare_shuffle(themis_collective_operation_t *op)
{
    show_plan(op->coll, op->plan);
    op->status =
        themis_collective_shuffle_create(&op->coll->shuffle, op->plan, op->decision.first, &op->access, &op->shuffle);
    op->stage = THEMIS_COLLECTIVE_READY;
}

void themis_collective_twophase_begin(themis_collective_operation_t *op)
{
    themis_collective_t *coll = op->coll;
    themis_aggregation_domains_t domains;
    op->decision = op->consensus.record;
    op->status = cut_domains(op, &domains);
    if (op->status != THEMIS_OK) {
        /* The same on all ranks. */
        op->stage = THEMIS_COLLECTIVE_RESULT;
        return;
    }
    themis_aggregation_plan_key_t key = key_of(op, &domains);
    op->plan = find_plan(coll, &key);
    if (op->plan) {
        coll->info.plans_reused++;
        prepare_shuffle(op);
        return;
    }
    coll->info.plans_made++;
    op->status = themis_collective_planner_create(coll->group, &coll->options, coll->candidates, op->access.file,
                                                  &domains, &op->planner);
    if (op->status == THEMIS_OK && domains.method == THEMIS_AGGREGATION_STATIC_CYCLIC &&
        coll->cyclic_count == domains.count)
        themis_collective_planner_keep(op->planner, coll->cyclic_candidate);
    op->stage = THEMIS_COLLECTIVE_PREPARE;
}

/* All ranks have the plan. */
static void take_plan(themis_collective_operation_t *op)
{
    themis_collective_planner_destroy(op->planner);
    op->planner = NULL;
    op->plan->key = key_of(op, &op->plan->domains);
    keep_candidates(op->coll, op->plan);
    if (op->consensus.record.max_bytes <= MAX_PLAN_BYTES)
        keep_plan(op->coll, op->plan);
    prepare_shuffle(op);
}

/* A stage that ends with a consensus. */
static void consensus_step(themis_collective_operation_t *op)
{
    themis_collective_consensus_record_t record = THEMIS_COLLECTIVE_STATUS_RECORD(op->status);
    record.max_bytes = op->plan ? op->plan->bytes : 0;
    if (!themis_collective_operation_agree(op, &record))
        return;
    if (op->status != THEMIS_OK)
        op->stage = THEMIS_COLLECTIVE_ENDED;
    else if (op->stage == THEMIS_COLLECTIVE_PLANNED)
        take_plan(op);
    else
        op->stage = op->stage == THEMIS_COLLECTIVE_PREPARE ? THEMIS_COLLECTIVE_PLANNING : THEMIS_COLLECTIVE_SHUFFLE;
}

void themis_collective_twophase_step(themis_collective_operation_t *op)
{
    themis_status_t status;
    switch (op->stage) {
    case THEMIS_COLLECTIVE_PREPARE:
    case THEMIS_COLLECTIVE_PLANNED:
    case THEMIS_COLLECTIVE_READY:
        consensus_step(op);
        return;
    case THEMIS_COLLECTIVE_PLANNING:
        status = themis_collective_planner_step(op->planner, &op->plan);
        if (status == THEMIS_IN_PROGRESS)
            return;
        op->stage = THEMIS_COLLECTIVE_PLANNED;
        break;
    case THEMIS_COLLECTIVE_SHUFFLE:
        status = themis_collective_shuffle_step(op->shuffle, &op->eof);
        op->progress = themis_collective_shuffle_progress(op->shuffle);
        if (status == THEMIS_IN_PROGRESS)
            return;
        op->stage = THEMIS_COLLECTIVE_RESULT;
        break;
    default:
        return;
    }
    op->status = status;
}

void themis_collective_twophase_end(themis_collective_operation_t *op)
{
    themis_collective_planner_destroy(op->planner);
    themis_collective_shuffle_destroy(op->shuffle);
    if (op->plan && !op->plan->kept)
        themis_collective_call_plan_destroy(op->plan);
}

void themis_collective_twophase_free(themis_collective_t *coll)
{
    for (int i = 0; i < THEMIS_COLLECTIVE_PLANS; i++)
        themis_collective_call_plan_destroy(coll->plan[i]);
    themis_collective_shuffle_file_free(&coll->shuffle);
    themis_collective_candidates_destroy(coll->candidates);
    free(coll->cyclic_candidate);
    free(coll->shown_aggregator);
}
