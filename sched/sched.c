/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/sched.h"
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>
#include "sched/lanes.h"
#include "sched/shares.h"
#include "sched/state.h"
#include "util/clock.h"
#include "util/log.h"

void themis_sched_options_init(themis_sched_options_t *options)
{
    *options = (themis_sched_options_t){
        .policy = "job-fair",
        .draw = "stride",
        .quantum = 1 << 20,
        .seed = 1,
        .gift_interval = 500 * THEMIS_NS_PER_MS,
        .tbf_rate = 10000,
    };
}

/* --- life and policy ---------------------------------------------------------------------------------------------- */

static themis_status_t parse_policy(const char *text, const char *draw, themis_sched_policy_t *policy,
                                    const themis_sched_draw_ops_t **ops, char *error, size_t size)
{
    if (themis_sched_draw_find(THEMIS_SCHED_DRAW_SHARES, draw, ops) != THEMIS_OK) {
        snprintf(error, size, "draw \"%.40s\": expected \"stride\" or \"statistical\"", draw);
        return THEMIS_PARSE;
    }
    themis_status_t status = themis_sched_policy_parse(text, policy, error, size);
    if (status == THEMIS_OK && policy->levels == 0)
        status = themis_sched_draw_find(THEMIS_SCHED_DRAW_POLICY, text, ops);
    return status;
}

static void draw_destroy(const themis_sched_draw_ops_t *ops, void *state)
{
    if (state != NULL && ops->release != NULL)
        ops->release(state);
    free(state);
}

/* Makes `ops` the draw, with all jobs and their queues; the caller updates the entries. On failure nothing changes. */
static themis_status_t draw_install(themis_sched_t *sched, const themis_sched_draw_ops_t *ops, uint64_t now)
{
    void *state = calloc(1, ops->state_bytes + 1); /* a draw without state has a byte, too */
    themis_status_t status = state == NULL ? THEMIS_NO_MEMORY : THEMIS_OK;

    if (status == THEMIS_OK && ops->reserve != NULL)
        status = ops->reserve(state, sched->count);
    if (status != THEMIS_OK) {
        draw_destroy(ops, state);
        return status;
    }
    draw_destroy(sched->ops, sched->state);
    sched->ops = ops;
    sched->state = state;
    if (ops->init != NULL)
        ops->init(sched, now);
    for (uint32_t i = 0; i < sched->count; i++) {
        themis_sched_heap_remove(&sched->order, i);
        sched->entries[i]->last_concurrent = now;
        if (ops->join != NULL)
            ops->join(sched, sched->entries[i], now);
    }
    return THEMIS_OK;
}

static themis_status_t entries_reserve(themis_sched_t *sched, uint32_t jobs)
{
    themis_status_t status = themis_sched_shares_reserve(sched, jobs);

    if (status == THEMIS_OK)
        status = themis_sched_heap_reserve(&sched->order, jobs);
    if (status == THEMIS_OK && sched->ops != NULL && sched->ops->reserve != NULL)
        status = sched->ops->reserve(sched->state, jobs);
    return status;
}

themis_status_t themis_sched_create(const themis_sched_options_t *options, uint64_t now, char *error, size_t size,
                                    themis_sched_t **sched)
{
    const themis_sched_draw_ops_t *ops;
    themis_sched_policy_t policy;
    themis_status_t status = parse_policy(options->policy, options->draw, &policy, &ops, error, size);

    if (status != THEMIS_OK)
        return status;
    themis_sched_t *made = calloc(1, sizeof *made);
    if (made == NULL)
        return THEMIS_NO_MEMORY;
    made->options = *options;
    made->options.quantum = options->quantum == 0 ? 1 << 20 : options->quantum;
    made->policy = policy;
    snprintf(made->draw, sizeof made->draw, "%s", options->draw);
    made->random = options->seed;
    made->idle_checked = made->computed = now;
    made->limit = (themis_sched_bandwidth_limit_t){.bandwidth = options->bandwidth, .free_at = (double)now};
    made->rate = options->bandwidth > 0 ? (double)options->bandwidth / 1e9 : 1;
    status = entries_reserve(made, 1);
    if (status == THEMIS_OK)
        status = draw_install(made, ops, now);
    if (status != THEMIS_OK) {
        snprintf(error, size, "scheduler: %s", themis_status_string(status));
        themis_sched_destroy(made);
        return status;
    }
    *sched = made;
    return THEMIS_OK;
}

void themis_sched_destroy(themis_sched_t *sched)
{
    if (sched == NULL)
        return;
    for (uint32_t i = 0; i < sched->count; i++) {
        sched->entries[i]->job->sched = NULL;
        free(sched->entries[i]);
    }
    draw_destroy(sched->ops, sched->state);
    themis_sched_heap_release(&sched->order);
    themis_sched_shares_release(sched);
    themis_sched_periodic_destroy(sched->plan);
    free(sched);
}

/* The head of the entry's queue, its account, or whether it is held has changed: keeps the order. */
static void entry_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    const themis_sched_draw_ops_t *ops = sched->ops;
    int ready = themis_sched_entry_is_ready(entry), in_metadata = ready && entry->head->total == 0;

    if (ops->key != NULL) {
        if (ready)
            themis_sched_heap_set(&sched->order, entry->slot, ops->key(entry));
        else
            themis_sched_heap_remove(&sched->order, entry->slot);
        if (sched->order.count > 0) /* for the next decision */
            __builtin_prefetch(sched->entries[themis_sched_heap_min(&sched->order)], 1);
    }
    if (ops->update != NULL)
        ops->update(sched, entry, now);
    if (in_metadata == entry->in_metadata)
        return;
    entry->in_metadata = (int16_t)in_metadata;
    if (in_metadata)
        DL_APPEND(sched->metadata, entry);
    else
        DL_DELETE(sched->metadata, entry);
}

themis_status_t themis_sched_set_policy(themis_sched_t *sched, const char *policy, const char *draw, uint64_t now,
                                        char *error, size_t size)
{
    const themis_sched_draw_ops_t *ops;
    themis_sched_policy_t parsed;
    themis_status_t status = parse_policy(policy, draw, &parsed, &ops, error, size);

    if (status != THEMIS_OK)
        return status;
    if (ops != sched->ops && (status = draw_install(sched, ops, now)) != THEMIS_OK) {
        snprintf(error, size, "policy \"%s\": %s", policy, themis_status_string(status));
        return status;
    }
    sched->policy = parsed;
    snprintf(sched->draw, sizeof sched->draw, "%s", draw);
    themis_sched_refresh(sched, now);
    for (uint32_t i = 0; i < sched->count; i++)
        entry_update(sched, sched->entries[i], now);
    return THEMIS_OK;
}

const char *themis_sched_policy(const themis_sched_t *sched)
{
    return sched->policy.text;
}

const char *themis_sched_draw(const themis_sched_t *sched)
{
    return sched->draw;
}

void themis_sched_set_plan(themis_sched_t *sched, themis_sched_periodic_t *plan, uint64_t now)
{
    themis_sched_periodic_destroy(sched->plan);
    sched->plan = plan;
    themis_sched_lanes_clear(sched);
    themis_sched_refresh(sched, now);
}

const themis_sched_periodic_t *themis_sched_plan(const themis_sched_t *sched)
{
    return sched->plan;
}

const char *themis_sched_plan_identity(const themis_sched_t *sched)
{
    return themis_sched_lanes_are_in_force(sched) ? sched->plan->identity : "";
}

double themis_sched_plan_fit(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    const themis_sched_entry_t *entry = job->sched;

    return entry == NULL || !sched->policy.periodic || entry->plan.lane < 0 ? -1 : entry->plan.fit;
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

/* Jobs have come or gone: who has which lane of the plan. */
static void lanes_match(themis_sched_t *sched)
{
    if (themis_sched_lanes_are_in_force(sched))
        themis_sched_lanes_match(sched);
}

themis_status_t themis_sched_add_job(themis_sched_t *sched, themis_sched_job_t *job, uint64_t now)
{
    themis_sched_entry_t *entry = aligned_alloc(64, (sizeof *entry + 63) / 64 * 64);
    themis_status_t status = entry == NULL ? THEMIS_NO_MEMORY : entries_reserve(sched, sched->count + 1);

    if (status != THEMIS_OK) {
        themis_error("scheduler: no memory for job %s", job->identity.id);
        free(entry);
        return status;
    }
    *entry = (themis_sched_entry_t){.job = job,
                                    .slot = sched->count,
                                    .weight = -1,
                                    .plan = {.lane = -1},
                                    .last_concurrent = now, /* it has to show that it has one request at a time */
                                    .idle_since = now,
                                    .metadata_cost = THEMIS_SCHED_SMALL_BYTES};
    job->sched = entry;
    sched->entries[sched->count++] = entry;
    themis_sched_shares_insert(sched, entry);
    if (sched->ops->join != NULL)
        sched->ops->join(sched, entry, now);
    lanes_match(sched);
    return THEMIS_OK;
}

void themis_sched_remove_job(themis_sched_t *sched, themis_sched_job_t *job, uint64_t now)
{
    themis_sched_entry_t *entry = job->sched, *last = sched->entries[sched->count - 1];

    if (sched->ops->leave != NULL)
        sched->ops->leave(sched, entry, now);
    themis_sched_heap_remove(&sched->order, entry->slot);
    themis_sched_shares_remove(sched, entry);
    sched->count--;
    if (last != entry) {
        uint32_t from = last->slot;
        last->slot = entry->slot;
        sched->entries[last->slot] = last;
        themis_sched_heap_move(&sched->order, from, last->slot);
        if (sched->ops->move != NULL)
            sched->ops->move(sched, last, from);
    }
    job->sched = NULL;
    free(entry);
    lanes_match(sched);
}

void themis_sched_refresh(themis_sched_t *sched, uint64_t now)
{
    if (themis_sched_lanes_are_in_force(sched))
        themis_sched_lanes_match(sched);
    else
        themis_sched_lanes_clear(sched);
    themis_sched_shares_sort(sched);
    sched->computed = now - THEMIS_NS_PER_MS;
    themis_sched_shares_refresh(sched, now);
}

int themis_sched_is_busy(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    return job->sched != NULL && themis_sched_entry_is_busy(job->sched);
}

int themis_sched_has_requested(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    return job->requests > 0 || themis_sched_is_busy(sched, job);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* The counters of waiting requests: one item more or less. */
static void count_queued(themis_sched_t *sched, const themis_sched_item_t *item)
{
    sched->queued++;
    item->job->queued++;
    item->job->queued_bytes += item->bytes;
}

static void count_dequeued(themis_sched_t *sched, const themis_sched_item_t *item)
{
    sched->queued--;
    item->job->queued--;
    item->job->queued_bytes -= item->bytes;
}

/* The entry's queue was empty, or it was held. */
static void entry_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    if (sched->ops->wake != NULL)
        sched->ops->wake(sched, entry, now);
}

void themis_sched_enqueue(themis_sched_t *sched, themis_sched_job_t *job, themis_sched_item_t *item, uint64_t now)
{
    themis_sched_entry_t *entry = job->sched;
    int first = entry->head == NULL;

    item->job = job;
    item->enqueued = now;
    item->sequence = ++sched->sequence;
    item->total = item->bytes;
    item->service = 0;
    if (!entry->in_tree)
        themis_sched_shares_activate(sched, entry);
    if (first && entry->serving == 0)
        entry->busy_since = now;
    else
        entry->last_concurrent = now;
    sched->device_idle = 0;
    if (sched->queued == 0 && sched->serving == 0)
        sched->device_idle = themis_sched_bandwidth_limit_end_idle(&sched->limit, sched->last_done, now);
    DL_APPEND(entry->head, item);
    count_queued(sched, item);
    if (first) { /* also when a slice that is still being served takes long: such a job saves nothing up */
        entry_wake(sched, entry, now);
        entry_update(sched, entry, now);
    }
}

static void count_wait(themis_sched_job_t *job, const themis_sched_item_t *item, uint64_t waited)
{
    job->wait_ns += waited;
    job->metadata_wait_ns += item->total == 0 ? waited : 0;
    themis_sched_histogram_add(&job->wait, waited);
}

static void entry_charge(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes)
{
    if (sched->ops->charge != NULL)
        sched->ops->charge(sched, entry, bytes);
}

static themis_sched_item_t *entry_dispatch(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now,
                                           uint64_t *slice)
{
    themis_sched_item_t *item = entry->head;

    /* With thousands of jobs each of these lines is a cache miss: they are loaded at the same time. */
    __builtin_prefetch(item, 1);
    __builtin_prefetch(entry->job, 1);
    __builtin_prefetch(&entry->metadata_cost, 1);
    double cost = themis_sched_entry_head_cost(entry, sched->options.quantum);
    *slice = item->bytes < sched->options.quantum ? item->bytes : sched->options.quantum;
    if (item->service == 0 && item->bytes == item->total)
        count_wait(entry->job, item, now - item->enqueued);
    count_dequeued(sched, item);
    DL_DELETE(entry->head, item);
    item->reserved = (uint64_t)cost;
    entry->serving++;
    sched->serving++;
    themis_sched_bandwidth_limit_charge(&sched->limit, (double)*slice);
    entry_charge(sched, entry, (double)item->reserved);
    entry_update(sched, entry, now);
    return item;
}

themis_sched_item_t *themis_sched_next(themis_sched_t *sched, uint64_t now, uint64_t *slice, uint64_t *wake)
{
    *wake = UINT64_MAX;
    if (sched->queued == 0 || themis_sched_bandwidth_limit_is_busy(&sched->limit, now, wake))
        return NULL;
    themis_sched_shares_refresh(sched, now);
    themis_sched_entry_t *entry = sched->ops->pick(sched, now, wake);
    return entry == NULL ? NULL : entry_dispatch(sched, entry, now, slice);
}

themis_sched_item_t *themis_sched_next_metadata(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    themis_sched_entry_t *entry = sched->metadata;
    uint64_t slice;

    *wake = UINT64_MAX;
    if (entry == NULL || themis_sched_bandwidth_limit_is_busy(&sched->limit, now, wake))
        return NULL;
    themis_sched_shares_refresh(sched, now);
    DL_DELETE(sched->metadata, entry); /* it goes to the end if its next request is a metadata operation, too */
    entry->in_metadata = 0;
    return entry_dispatch(sched, entry, now, &slice);
}

/* Service time as bytes; limited, so that one request that waited for something does not take a job's share for long.
 */
static double cost_of_time(const themis_sched_t *sched, uint64_t service)
{
    double cost = (double)service * sched->rate, max = 64 * (double)sched->options.quantum;

    return cost < 1 ? 1 : cost > max ? max : cost;
}

static double slice_cost(const themis_sched_t *sched, themis_sched_entry_t *entry, const themis_sched_item_t *item,
                         uint64_t moved, uint64_t service)
{
    double cost = (double)moved;

    if (item->total == 0) {
        cost = cost_of_time(sched, service);
        entry->metadata_cost += (cost - entry->metadata_cost) / 8;
    } else if (item->total < THEMIS_SCHED_SMALL_BYTES || moved == 0) {
        double time = cost_of_time(sched, service);
        cost = time > cost ? time : cost;
        cost = cost > THEMIS_SCHED_SMALL_BYTES ? THEMIS_SCHED_SMALL_BYTES : cost;
    }
    return cost;
}

/* Smoothed over large slices; where there is a bandwidth limit, that is the rate. */
static void measure_rate(themis_sched_t *sched, uint64_t moved, uint64_t service)
{
    if (moved < 16 * THEMIS_SCHED_SMALL_BYTES || service == 0 || sched->limit.bandwidth > 0)
        return;
    sched->rate += ((double)moved / (double)service - sched->rate) / 16;
}

static void count_finished(themis_sched_job_t *job, const themis_sched_item_t *item)
{
    job->requests++;
    job->metadata += item->total == 0;
    job->service_ns += item->service;
    themis_sched_histogram_add(&job->service, item->service);
    if (item->total > 0)
        themis_sched_histogram_add(&job->size, item->total);
}

/* A request has left the entry. */
static void entry_rest(themis_sched_entry_t *entry, uint64_t now)
{
    if (themis_sched_entry_is_busy(entry))
        return;
    entry->busy += now - entry->busy_since;
    entry->idle_since = now;
}

void themis_sched_done(themis_sched_t *sched, themis_sched_item_t *item, uint64_t moved, uint64_t service, uint64_t now)
{
    themis_sched_job_t *job = item->job;
    themis_sched_entry_t *entry = job->sched;
    double cost = slice_cost(sched, entry, item, moved, service);

    measure_rate(sched, moved, service);
    if (item->total >= THEMIS_SCHED_SMALL_BYTES)
        themis_sched_bandwidth_limit_charge(&sched->limit, (double)moved - (double)item->reserved);
    entry_charge(sched, entry, cost - (double)item->reserved);
    job->cost += (uint64_t)cost;
    item->service += service;
    entry->serving--;
    sched->serving--;
    sched->last_done = now;
    if (item->bytes > 0) {
        DL_PREPEND(entry->head, item);
        count_queued(sched, item);
    } else {
        count_finished(job, item);
    }
    entry_update(sched, entry, now);
    entry_rest(entry, now);
}

void themis_sched_cancel(themis_sched_t *sched, themis_sched_item_t *item, uint64_t now)
{
    themis_sched_entry_t *entry = item->job->sched;
    int is_head = entry->head == item;

    count_dequeued(sched, item);
    DL_DELETE(entry->head, item);
    if (is_head)
        entry_update(sched, entry, now);
    entry_rest(entry, now);
}

void themis_sched_hold(themis_sched_t *sched, themis_sched_job_t *job, int hold, uint64_t now)
{
    themis_sched_entry_t *entry = job->sched;

    if (entry == NULL || entry->held == (hold != 0))
        return;
    entry->held = hold != 0;
    sched->device_idle = 0;
    if (!hold && entry->head != NULL)
        entry_wake(sched, entry, now);
    entry_update(sched, entry, now);
}

int themis_sched_is_alone(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    uint64_t serving = job->sched == NULL ? 0 : job->sched->serving;

    return sched->queued == job->queued && sched->serving == serving;
}

void themis_sched_charge(themis_sched_t *sched, themis_sched_job_t *job, uint64_t bytes, uint64_t now)
{
    themis_sched_entry_t *entry = job->sched;

    job->cost += bytes;
    if (!entry->in_tree)
        themis_sched_shares_activate(sched, entry);
    if (!themis_sched_entry_is_busy(entry))
        entry->idle_since = now;
    themis_sched_shares_refresh(sched, now);
    if (sched->ops->charge_moved == NULL || themis_sched_is_alone(sched, job))
        return;
    sched->ops->charge_moved(sched, entry, (double)bytes, now);
    entry_update(sched, entry, now);
}

uint64_t themis_sched_queued(const themis_sched_t *sched)
{
    return sched->queued;
}

/* --- shares ------------------------------------------------------------------------------------------------------- */

double themis_sched_share(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    return job->sched == NULL || sched->policy.levels == 0 ? 0 : job->sched->share;
}

void themis_sched_set_weight(themis_sched_t *sched, themis_sched_job_t *job, double weight)
{
    themis_sched_entry_t *entry = job->sched;

    if (entry->weight == weight || (entry->weight < 0 && weight < 0))
        return;
    entry->weight = weight;
    sched->stale = 1;
}

uint64_t themis_sched_collect_usage(themis_sched_t *sched, themis_sched_job_t *job, uint64_t now, double *busy)
{
    themis_sched_entry_t *entry = job->sched;

    *busy = 0;
    if (entry == NULL)
        return 0;
    if (themis_sched_entry_is_busy(entry)) {
        entry->busy += now - entry->busy_since;
        entry->busy_since = now;
    }
    if (now > entry->collected)
        *busy = (double)entry->busy / (double)(now - entry->collected);
    uint64_t used = job->cost - entry->collected_cost;
    entry->busy = 0;
    entry->collected = now;
    entry->collected_cost = job->cost;
    return used;
}

char *themis_sched_explain(themis_sched_t *sched, uint64_t now)
{
    themis_sched_policy_tree_t tree = {0};
    const themis_sched_job_identity_t **jobs = sched->identities; /* as many as there are entries */
    char *text = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < sched->count; i++)
        if (sched->sorted[i]->job->active && themis_sched_entry_has_requested(sched->sorted[i]))
            jobs[count++] = &sched->sorted[i]->job->identity;
    if (themis_sched_policy_tree_reserve(&tree, count) == THEMIS_OK) {
        themis_sched_policy_tree_build(&tree, &sched->policy, jobs, count);
        text = themis_sched_policy_tree_explain(&tree, &sched->policy, jobs);
    }
    themis_sched_policy_tree_release(&tree);
    return text;
}
