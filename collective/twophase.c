/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages of a two-phase call between the decision and the result, and the plans that are kept. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "collective/op.h"

/* Plans with more than this at any rank are not kept. */
#define PLAN_BYTES (UINT64_C(16) << 20)

/*
 * A pattern is the same when all ranks have the same shapes at the same distances from the call's first byte, which no
 * rank knows when it votes. So places are summed with random factors: the sum of factor x place, less first byte x sum
 * of factors, is the sum of factor x distance.
 */
void themis_collective_twophase_describe(const themis_collective_op_t *op, themis_collective_vote_t *vote)
{
    const themis_util_runs_t *file = op->access.file;
    if (!file->bytes)
        return;
    int rank = op->coll->group->rank;
    uint64_t shape = themis_util_runs_hash(file);
    vote->weight = XXH64(&rank, sizeof rank, 1);
    vote->pattern = XXH64(&shape, sizeof shape, vote->weight) + vote->weight * themis_util_runs_first(file);
}

static uint64_t take_name(const themis_collective_vote_t *vote)
{
    return vote->pattern - vote->weight * vote->first;
}

static void agree_on(themis_collective_op_t *op, themis_collective_stage_t stage)
{
    op->stage = stage;
    op->agreeing = 0;
}

/* A plan of the same pattern becomes the most recent one. All ranks have the same plans in the same order. */
static themis_collective_plan_t *find_plan(themis_collective_t *coll, const themis_aggregation_key_t *key)
{
    for (int i = 0; i < THEMIS_COLLECTIVE_PLANS && coll->plan[i]; i++) {
        themis_collective_plan_t *found = coll->plan[i];
        if (memcmp(&found->key, key, sizeof *key))
            continue;
        memmove(&coll->plan[1], &coll->plan[0], (size_t)i * sizeof coll->plan[0]);
        coll->plan[0] = found;
        return found;
    }
    return NULL;
}

static void keep_plan(themis_collective_t *coll, themis_collective_plan_t *plan)
{
    themis_collective_plan_destroy(coll->plan[THEMIS_COLLECTIVE_PLANS - 1]);
    memmove(&coll->plan[1], &coll->plan[0], (THEMIS_COLLECTIVE_PLANS - 1) * sizeof coll->plan[0]);
    coll->plan[0] = plan;
}

/* Stripes stay with their aggregators from the first static-cyclic plan on: all ranks keep the number, rank 0 the
 * slots. */
static void keep_slots(themis_collective_t *coll, themis_collective_plan_t *plan)
{
    if (plan->domains.method != THEMIS_AGGREGATION_STATIC_CYCLIC || coll->kept == plan->domains.count)
        return;
    free(coll->keep);
    coll->keep = plan->slot;
    coll->kept = plan->domains.count;
    plan->slot = NULL;
}

static void show(themis_collective_t *coll, const themis_collective_plan_t *plan)
{
    themis_collective_info_t *info = &coll->info;
    uint32_t domains = plan->domains.count;
    uint32_t *copy = realloc(coll->shown, domains * sizeof *copy);
    info->mode = THEMIS_COLLECTIVE_TWOPHASE;
    info->method = plan->domains.method;
    info->placement = plan->placement;
    info->cost = plan->cost;
    info->default_cost = plan->default_cost;
    info->moved_bytes = plan->moved_bytes;
    if (!copy)
        return;
    memcpy(copy, plan->aggregator, domains * sizeof *copy);
    coll->shown = copy;
    info->aggregator = copy;
    info->aggregators = domains;
    info->requested = plan->domains.requested;
}

static themis_status_t cut(const themis_collective_op_t *op, themis_aggregation_domains_t *domains)
{
    const themis_collective_t *coll = op->coll;
    const themis_collective_config_t *config = &coll->config;
    themis_aggregation_load_t load = {.bytes = op->result.bytes,
                                      .nodes = coll->group->nodes,
                                      .slots = coll->topology->slot_count,
                                      .most = config->most,
                                      .servers = config->layout.servers,
                                      .stripe_size = config->layout.stripe_size,
                                      .buffer_size = config->buffer_size};
    int fixed = config->method == THEMIS_AGGREGATION_STATIC_CYCLIC;
    /* The first call decides for all that follow, so it counts as a large one. */
    if (fixed && load.bytes < load.slots * load.buffer_size)
        load.bytes = load.slots * load.buffer_size;
    uint32_t count = fixed && coll->kept ? coll->kept : themis_aggregation_count_choose(config->aggregators, &load);
    return themis_aggregation_domains_init(config->method, &config->layout, op->result.first, op->result.end - 1, count,
                                           domains);
}

static void prepare_exchange(themis_collective_op_t *op)
{
    themis_collective_t *coll = op->coll;
    show(coll, op->plan);
    op->status = themis_collective_exchange_create(coll->group, op->plan, op->vote.first, &op->access, coll->sink,
                                                   &coll->buffers, &op->exchange);
    agree_on(op, THEMIS_COLLECTIVE_READY);
}

/* All ranks agreed to go in two phases; op->result holds the range and the pattern. */
void themis_collective_twophase_begin(themis_collective_op_t *op)
{
    themis_collective_t *coll = op->coll;
    themis_aggregation_domains_t domains;
    op->vote = op->result;
    themis_status_t status = cut(op, &domains);
    if (status != THEMIS_OK) {
        /* The same on all ranks. */
        op->status = status;
        agree_on(op, THEMIS_COLLECTIVE_RESULT);
        return;
    }
    themis_aggregation_key_t key = themis_aggregation_key(&domains, coll->config.placement, take_name(&op->vote));
    op->plan = find_plan(coll, &key);
    if (op->plan) {
        coll->info.plans_reused++;
        prepare_exchange(op);
        return;
    }
    coll->info.plans_made++;
    op->status = themis_collective_planner_create(coll->group, &coll->config, coll->topology, op->access.file, &domains,
                                                  &op->planner);
    if (op->status == THEMIS_OK && domains.method == THEMIS_AGGREGATION_STATIC_CYCLIC && coll->kept == domains.count)
        themis_collective_planner_keep(op->planner, coll->keep);
    agree_on(op, THEMIS_COLLECTIVE_PREPARE);
}

static void take_plan(themis_collective_op_t *op)
{
    themis_collective_t *coll = op->coll;
    themis_collective_planner_destroy(op->planner);
    op->planner = NULL;
    op->status = (themis_status_t)op->result.status;
    if (op->status != THEMIS_OK) {
        agree_on(op, THEMIS_COLLECTIVE_ENDED);
        return;
    }
    op->plan->key = themis_aggregation_key(&op->plan->domains, coll->config.placement, take_name(&op->vote));
    keep_slots(coll, op->plan);
    if (op->result.most <= PLAN_BYTES) {
        op->plan->ready = 1;
        keep_plan(coll, op->plan);
    }
    prepare_exchange(op);
}

static void plan_step(themis_collective_op_t *op)
{
    themis_status_t status = themis_collective_planner_step(op->planner, &op->plan);
    if (status == THEMIS_IN_PROGRESS)
        return;
    op->status = status;
    agree_on(op, THEMIS_COLLECTIVE_PLANNED);
}

static void exchange_step(themis_collective_op_t *op)
{
    themis_status_t status = themis_collective_exchange_step(op->exchange, &op->eof);
    op->moves = themis_collective_exchange_moves(op->exchange);
    if (status == THEMIS_IN_PROGRESS)
        return;
    op->status = status;
    agree_on(op, THEMIS_COLLECTIVE_RESULT);
}

void themis_collective_twophase_step(themis_collective_op_t *op)
{
    themis_collective_vote_t vote = THEMIS_COLLECTIVE_VOTE_NONE;
    vote.status = op->status;
    vote.most = op->plan ? op->plan->bytes : 0;
    switch (op->stage) {
    case THEMIS_COLLECTIVE_PREPARE:
        if (!themis_collective_op_agree(op, &vote))
            return;
        op->status = (themis_status_t)op->result.status;
        agree_on(op, op->status == THEMIS_OK ? THEMIS_COLLECTIVE_PLANNING : THEMIS_COLLECTIVE_ENDED);
        return;
    case THEMIS_COLLECTIVE_PLANNING:
        plan_step(op);
        return;
    case THEMIS_COLLECTIVE_PLANNED:
        if (themis_collective_op_agree(op, &vote))
            take_plan(op);
        return;
    case THEMIS_COLLECTIVE_READY:
        if (!themis_collective_op_agree(op, &vote))
            return;
        op->status = (themis_status_t)op->result.status;
        agree_on(op, op->status == THEMIS_OK ? THEMIS_COLLECTIVE_EXCHANGE : THEMIS_COLLECTIVE_ENDED);
        return;
    case THEMIS_COLLECTIVE_EXCHANGE:
        exchange_step(op);
        return;
    default:
        return;
    }
}

void themis_collective_twophase_end(themis_collective_op_t *op)
{
    themis_collective_planner_destroy(op->planner);
    themis_collective_exchange_destroy(op->exchange);
    if (op->plan && !op->plan->ready)
        themis_collective_plan_destroy(op->plan);
    op->planner = NULL;
    op->exchange = NULL;
    op->plan = NULL;
}
