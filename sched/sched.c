/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's front: queues, charges, the device limit; which job comes next is up to a table of operations. */
#include "sched/sched.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include "sched/draw.h"
#include "sched/shares.h"
#include "util/clock.h"
#include "util/log.h"

/* Bytes below which a data request is charged by time, as metadata is, but never more than this. */
enum { SMALL_BYTES = 4096 };
/* ns of the device's time that a late worker may still use; only where there was work, see enqueue. */
static const double limit_burst = 20e6;

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

static const themis_sched_ops_t *choose_ops(const themis_sched_policy_t *policy, const char *draw)
{
    switch (policy->kind) {
    case THEMIS_SCHED_POLICY_FIFO:
        return &themis_sched_fifo;
    case THEMIS_SCHED_POLICY_GIFT:
        return &themis_sched_gift;
    case THEMIS_SCHED_POLICY_TBF:
        return &themis_sched_tbf;
    default:
        return strcmp(draw, "statistical") == 0 ? &themis_sched_statistical : &themis_sched_stride;
    }
}

static themis_status_t check(const char *text, const char *draw, themis_sched_policy_t *policy, char *error,
                             size_t size)
{
    if (strcmp(draw, "stride") != 0 && strcmp(draw, "statistical") != 0) {
        snprintf(error, size, "draw \"%.40s\": expected \"stride\" or \"statistical\"", draw);
        return THEMIS_PARSE;
    }
    return themis_sched_policy_parse(text, policy, error, size);
}

/* Makes `ops` the way to choose, with all jobs and their queues; on failure everything is as before. */
static themis_status_t install(themis_sched_t *sched, const themis_sched_ops_t *ops, uint64_t now)
{
    const themis_sched_ops_t *old_ops = sched->ops;
    void *old_state = sched->state;

    sched->ops = ops;
    themis_status_t status = ops->create(sched, now);
    if (status == THEMIS_OK && ops->reserve != NULL) {
        status = ops->reserve(sched, sched->count);
        if (status != THEMIS_OK)
            ops->destroy(sched);
    }
    void *new_state = sched->state;
    sched->state = old_state;
    sched->ops = old_ops;
    if (status != THEMIS_OK)
        return status;
    if (old_ops != NULL)
        old_ops->destroy(sched);
    sched->ops = ops;
    sched->state = new_state;
    for (uint32_t i = 0; i < sched->count; i++)
        ops->join(sched, sched->entries[i], now);
    return THEMIS_OK;
}

themis_status_t themis_sched_create(const themis_sched_options_t *options, uint64_t now, char *error, size_t size,
                                    themis_sched_t **sched)
{
    themis_sched_policy_t policy;
    themis_status_t status = check(options->policy, options->draw, &policy, error, size);

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
    made->scanned = made->computed = now;
    made->bandwidth = options->bandwidth > 0 ? (double)options->bandwidth / 1e9 : 1;
    made->limit_free = (double)now;
    status = themis_sched_shares_reserve(made, 1);
    if (status == THEMIS_OK)
        status = install(made, choose_ops(&policy, options->draw), now);
    if (status != THEMIS_OK) {
        snprintf(error, size, "scheduler: %s", themis_status_string(status));
        themis_sched_shares_release(made);
        free(made);
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
    sched->count = 0;
    sched->ops->destroy(sched);
    themis_sched_shares_release(sched);
    free(sched);
}

themis_status_t themis_sched_set_policy(themis_sched_t *sched, const char *policy, const char *draw, uint64_t now,
                                        char *error, size_t size)
{
    themis_sched_policy_t parsed;
    themis_status_t status = check(policy, draw, &parsed, error, size);

    if (status != THEMIS_OK)
        return status;
    const themis_sched_ops_t *ops = choose_ops(&parsed, draw);
    int another = ops != sched->ops;
    if (another && (status = install(sched, ops, now)) != THEMIS_OK) {
        snprintf(error, size, "policy \"%s\": %s", policy, themis_status_string(status));
        return status;
    }
    sched->policy = parsed;
    snprintf(sched->draw, sizeof sched->draw, "%s", draw);
    themis_sched_refresh(sched, now);
    for (uint32_t i = 0; i < sched->count; i++)
        ops->update(sched, sched->entries[i], now);
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

themis_status_t themis_sched_add_job(themis_sched_t *sched, themis_sched_job_t *job, uint64_t now)
{
    themis_sched_entry_t *entry = aligned_alloc(64, (sizeof *entry + 63) / 64 * 64);
    themis_status_t status = entry == NULL ? THEMIS_NO_MEMORY : themis_sched_shares_reserve(sched, sched->count + 1);

    if (status == THEMIS_OK && sched->ops->reserve != NULL)
        status = sched->ops->reserve(sched, sched->count + 1);
    if (status != THEMIS_OK) {
        themis_error("scheduler: no memory for job %s", job->identity.id);
        free(entry);
        return status;
    }
    *entry = (themis_sched_entry_t){
        .job = job, .slot = sched->count, .weight = -1, .quiet_since = now, .metadata_cost = SMALL_BYTES};
    job->sched = entry;
    sched->entries[sched->count++] = entry;
    themis_sched_shares_insert(sched, entry);
    sched->ops->join(sched, entry, now);
    return THEMIS_OK;
}

void themis_sched_remove_job(themis_sched_t *sched, themis_sched_job_t *job, uint64_t now)
{
    themis_sched_entry_t *entry = themis_sched_entry(job), *last = sched->entries[sched->count - 1];

    sched->ops->leave(sched, entry, now);
    themis_sched_shares_remove(sched, entry);
    sched->count--;
    if (last != entry) {
        uint32_t from = last->slot;
        last->slot = entry->slot;
        sched->entries[last->slot] = last;
        if (sched->ops->rename != NULL)
            sched->ops->rename(sched, last, from);
    }
    job->sched = NULL;
    free(entry);
}

void themis_sched_refresh(themis_sched_t *sched, uint64_t now)
{
    themis_sched_shares_sort(sched);
    sched->computed = now - THEMIS_NS_PER_MS;
    themis_sched_shares_refresh(sched, now);
}

int themis_sched_is_busy(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    const themis_sched_entry_t *entry = themis_sched_entry(job);

    return entry != NULL && themis_sched_asks(entry);
}

int themis_sched_has_requested(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    return job->requests > 0 || themis_sched_is_busy(sched, job);
}

static void push_head(themis_sched_entry_t *entry, themis_sched_item_t *item)
{
    item->previous = NULL;
    item->next = entry->head;
    *(entry->head == NULL ? &entry->tail : &entry->head->previous) = item;
    entry->head = item;
}

static void push_tail(themis_sched_entry_t *entry, themis_sched_item_t *item)
{
    item->next = NULL;
    item->previous = entry->tail;
    *(entry->tail == NULL ? &entry->head : &entry->tail->next) = item;
    entry->tail = item;
}

static void take_out(themis_sched_entry_t *entry, themis_sched_item_t *item)
{
    *(item->previous == NULL ? &entry->head : &item->previous->next) = item->next;
    *(item->next == NULL ? &entry->tail : &item->next->previous) = item->previous;
    item->next = item->previous = NULL;
}

/* The counters of what waits: one item more or less. */
static void count_in(themis_sched_t *sched, const themis_sched_item_t *item)
{
    sched->queued++;
    item->job->queued++;
    item->job->queued_bytes += item->bytes;
}

static void count_out(themis_sched_t *sched, const themis_sched_item_t *item)
{
    sched->queued--;
    item->job->queued--;
    item->job->queued_bytes -= item->bytes;
}

/* The queue's head, the account, or whether the entry is held has changed: keeps order. */
static void update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    int listed = themis_sched_waits(entry) && entry->head->total == 0;

    sched->ops->update(sched, entry, now);
    if (listed == entry->listed)
        return;
    entry->listed = (int16_t)listed;
    if (listed)
        DL_APPEND(sched->metadata, entry);
    else
        DL_DELETE(sched->metadata, entry);
}

/* A device without work saves nothing up. */
static void find_idle(themis_sched_t *sched, uint64_t now)
{
    uint64_t since = sched->rested;

    sched->idle = 0;
    if (sched->queued > 0 || sched->serving > 0)
        return;
    if (sched->options.bandwidth > 0 && sched->limit_free > (double)since)
        since = (uint64_t)sched->limit_free;
    sched->idle = now > since ? now - since : 0;
    if (sched->limit_free < (double)now)
        sched->limit_free = (double)now;
}

void themis_sched_enqueue(themis_sched_t *sched, themis_sched_job_t *job, themis_sched_item_t *item, uint64_t now)
{
    themis_sched_entry_t *entry = themis_sched_entry(job);
    int first = entry->head == NULL;

    item->job = job;
    item->enqueued = now;
    item->sequence = ++sched->sequence;
    item->total = item->bytes;
    item->service = 0;
    if (!entry->counted)
        themis_sched_shares_count(sched, entry);
    if (first && entry->serving == 0)
        entry->busy_since = now;
    else
        entry->crowded = now;
    find_idle(sched, now);
    push_tail(entry, item);
    count_in(sched, item);
    if (first) { /* also when what is being served took long: that saves nothing up */
        sched->ops->wake(sched, entry, now);
        update(sched, entry, now);
    }
}

static void rest(themis_sched_entry_t *entry, uint64_t now)
{
    if (themis_sched_asks(entry))
        return;
    entry->busy += now - entry->busy_since;
    entry->quiet_since = now;
}

double themis_sched_head_cost(const themis_sched_t *sched, const themis_sched_entry_t *entry)
{
    const themis_sched_item_t *item = entry->head;

    if (item->total == 0)
        return entry->metadata_cost;
    if (item->total < SMALL_BYTES)
        return SMALL_BYTES;
    return (double)(item->bytes < sched->options.quantum ? item->bytes : sched->options.quantum);
}

/* 1 while the device is still at work on what it was given. */
static int is_limited(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    if (sched->options.bandwidth == 0)
        return 0;
    if (sched->limit_free < (double)now - limit_burst)
        sched->limit_free = (double)now - limit_burst;
    if (sched->limit_free <= (double)now)
        return 0;
    *wake = (uint64_t)sched->limit_free + 1;
    return 1;
}

static void limit_charge(themis_sched_t *sched, double bytes)
{
    if (sched->options.bandwidth > 0)
        sched->limit_free += bytes * 1e9 / (double)sched->options.bandwidth;
}

static void count_wait(themis_sched_job_t *job, uint64_t waited)
{
    job->wait_ns += waited;
    themis_sched_histogram_add(&job->wait, waited);
}

static themis_sched_item_t *dispatch(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now, uint64_t *slice)
{
    themis_sched_item_t *item = entry->head;

    /* With thousands of jobs each of these lines is a cache miss: let them come at once. */
    __builtin_prefetch(item, 1);
    __builtin_prefetch(entry->job, 1);
    __builtin_prefetch(&entry->metadata_cost, 1);
    double cost = themis_sched_head_cost(sched, entry);
    *slice = item->bytes < sched->options.quantum ? item->bytes : sched->options.quantum;
    if (item->service == 0 && item->bytes == item->total)
        count_wait(entry->job, now - item->enqueued);
    count_out(sched, item);
    take_out(entry, item);
    item->reserved = (uint64_t)cost;
    entry->serving++;
    sched->serving++;
    limit_charge(sched, (double)*slice);
    sched->ops->charge(sched, entry, (double)item->reserved);
    update(sched, entry, now);
    return item;
}

themis_sched_item_t *themis_sched_next(themis_sched_t *sched, uint64_t now, uint64_t *slice, uint64_t *wake)
{
    *wake = UINT64_MAX;
    if (sched->queued == 0 || is_limited(sched, now, wake))
        return NULL;
    themis_sched_shares_refresh(sched, now);
    themis_sched_entry_t *entry = sched->ops->pick(sched, now, wake);
    return entry == NULL ? NULL : dispatch(sched, entry, now, slice);
}

themis_sched_item_t *themis_sched_next_metadata(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    themis_sched_entry_t *entry = sched->metadata;
    uint64_t slice;

    *wake = UINT64_MAX;
    if (entry == NULL || is_limited(sched, now, wake))
        return NULL;
    themis_sched_shares_refresh(sched, now);
    DL_DELETE(sched->metadata, entry); /* to the end, if its next one is such, too */
    entry->listed = 0;
    return dispatch(sched, entry, now, &slice);
}

/* Bytes of a worker's bandwidth that `service` ns stand for. */
static double cost_of_time(const themis_sched_t *sched, uint64_t service)
{
    double cost = (double)service * sched->bandwidth, most = 64 * (double)sched->options.quantum;

    return cost < 1 ? 1 : cost > most ? most : cost;
}

static double slice_cost(themis_sched_t *sched, themis_sched_entry_t *entry, const themis_sched_item_t *item,
                         uint64_t moved, uint64_t service)
{
    double cost = (double)moved;

    if (item->total == 0) {
        cost = cost_of_time(sched, service);
        entry->metadata_cost += (cost - entry->metadata_cost) / 8;
    } else if (item->total < SMALL_BYTES || moved == 0) {
        double time = cost_of_time(sched, service);
        cost = time > cost ? time : cost;
        cost = cost > SMALL_BYTES ? SMALL_BYTES : cost;
    }
    return cost;
}

/* Smoothed over large slices; a device limit is what counts where there is one. */
static void measure(themis_sched_t *sched, uint64_t moved, uint64_t service)
{
    if (moved < 16 * SMALL_BYTES || service == 0 || sched->options.bandwidth > 0)
        return;
    sched->bandwidth += ((double)moved / (double)service - sched->bandwidth) / 16;
}

void themis_sched_done(themis_sched_t *sched, themis_sched_item_t *item, uint64_t moved, uint64_t service, uint64_t now)
{
    themis_sched_job_t *job = item->job;
    themis_sched_entry_t *entry = themis_sched_entry(job);
    double cost = slice_cost(sched, entry, item, moved, service);

    measure(sched, moved, service);
    if (item->total >= SMALL_BYTES)
        limit_charge(sched, (double)moved - (double)item->reserved);
    sched->ops->charge(sched, entry, cost - (double)item->reserved);
    job->cost += (uint64_t)cost;
    item->service += service;
    entry->serving--;
    sched->serving--;
    sched->rested = now;
    if (item->bytes > 0) {
        push_head(entry, item);
        count_in(sched, item);
    } else {
        job->requests++;
        job->metadata += item->total == 0;
        job->service_ns += item->service;
        themis_sched_histogram_add(&job->service, item->service);
    }
    update(sched, entry, now);
    rest(entry, now);
}

void themis_sched_cancel(themis_sched_t *sched, themis_sched_item_t *item, uint64_t now)
{
    themis_sched_entry_t *entry = themis_sched_entry(item->job);
    int head = entry->head == item;

    count_out(sched, item);
    take_out(entry, item);
    if (head)
        update(sched, entry, now);
    rest(entry, now);
}

void themis_sched_hold(themis_sched_t *sched, themis_sched_job_t *job, int hold, uint64_t now)
{
    themis_sched_entry_t *entry = themis_sched_entry(job);

    if (entry == NULL || entry->held == (hold != 0))
        return;
    entry->held = hold != 0;
    sched->idle = 0;
    if (!hold && entry->head != NULL)
        sched->ops->wake(sched, entry, now);
    update(sched, entry, now);
}

uint64_t themis_sched_queued(const themis_sched_t *sched)
{
    return sched->queued;
}

double themis_sched_share(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    return job->sched == NULL || sched->policy.kind != THEMIS_SCHED_POLICY_SHARES ? 0 : themis_sched_entry(job)->share;
}

void themis_sched_set_weight(themis_sched_t *sched, themis_sched_job_t *job, double weight)
{
    themis_sched_entry_t *entry = themis_sched_entry(job);

    if (entry->weight == weight || (entry->weight < 0 && weight < 0))
        return;
    entry->weight = weight;
    sched->dirty = 1;
}

uint64_t themis_sched_used(themis_sched_t *sched, themis_sched_job_t *job, uint64_t now, double *busy)
{
    themis_sched_entry_t *entry = themis_sched_entry(job);
    uint64_t used, since;

    *busy = 0;
    if (entry == NULL)
        return 0;
    if (themis_sched_is_busy(sched, job)) {
        entry->busy += now - entry->busy_since;
        entry->busy_since = now;
    }
    since = entry->asked;
    if (now > since)
        *busy = (double)entry->busy / (double)(now - since);
    used = job->cost - entry->asked_cost;
    entry->busy = 0;
    entry->asked = now;
    entry->asked_cost = job->cost;
    return used;
}

char *themis_sched_explain(themis_sched_t *sched, uint64_t now)
{
    themis_sched_policy_tree_t tree = {0};
    const themis_sched_job_identity_t **jobs = sched->counted; /* scratch, as large as the table */
    uint32_t count = 0;

    for (uint32_t i = 0; i < sched->count; i++)
        if (sched->sorted[i]->job->active && themis_sched_has_requested(sched, sched->sorted[i]->job))
            jobs[count++] = &sched->sorted[i]->job->identity;
    if (themis_sched_policy_tree_reserve(&tree, count) != THEMIS_OK) {
        themis_sched_policy_tree_release(&tree);
        return NULL;
    }
    themis_sched_policy_tree_build(&tree, &sched->policy, jobs, count);
    char *text = themis_sched_policy_explain(&sched->policy, &tree, jobs);
    themis_sched_policy_tree_release(&tree);
    return text;
}

uint64_t themis_sched_random(themis_sched_t *sched)
{
    /* splitmix64 */
    uint64_t z = sched->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

double themis_sched_uniform(themis_sched_t *sched)
{
    return (double)(themis_sched_random(sched) >> 11) * 0x1p-53;
}

uint64_t themis_sched_cycle(const themis_sched_t *sched)
{
    return (uint64_t)((double)sched->options.quantum / sched->bandwidth) + 1;
}
