/* SPDX-License-Identifier: BSD-3-Clause */
#include "persched/fill.h"
#include <math.h>
#include <stdlib.h>

/* Where a first instance is tried whose I/O, at the widest places, leaves no time to compute. */
enum { FIRST_TRIALS = 32 };

/* What an insertion costs beside the pieces that it visits, in the unit of timeline.steps. */
enum { HEAP_STEPS = 8, MAX_INSTANCES = 1 << 20 };

themis_status_t themis_persched_filling_make(themis_persched_filling_t *f, const themis_persched_tasks_t *tasks,
                                             double bandwidth)
{
    f->tasks = tasks;
    f->timeline.bandwidth = bandwidth;
    f->lane = calloc(tasks->count, sizeof *f->lane);
    f->instances = calloc(tasks->count, sizeof *f->instances);
    f->heap = calloc(tasks->count, sizeof *f->heap);
    return f->lane && f->instances && f->heap ? THEMIS_OK : THEMIS_NO_MEMORY;
}

void themis_persched_filling_release(themis_persched_filling_t *f)
{
    themis_persched_timeline_release(&f->timeline);
    themis_persched_takes_release(&f->takes);
    free(f->lane);
    free(f->instances);
    free(f->heap);
}

/* The largest dilation first; among equals the most computation for its I/O. */
static int lane_precedes(const themis_persched_filling_t *f, uint32_t a, uint32_t b)
{
    const themis_persched_task_t *x = &f->tasks->task[a], *y = &f->tasks->task[b];
    double done_x = f->instances[a] * x->duration, done_y = f->instances[b] * y->duration;

    if (done_x != done_y)
        return done_x < done_y;
    double ratio_x = x->compute / x->duration, ratio_y = y->compute / y->duration;
    return ratio_x != ratio_y ? ratio_x > ratio_y : a < b;
}

static void heap_sink(themis_persched_filling_t *f, uint32_t at)
{
    uint32_t lane = f->heap[at];

    for (uint32_t child; (child = 2 * at + 1) < f->heap_count; at = child) {
        if (child + 1 < f->heap_count && lane_precedes(f, f->heap[child + 1], f->heap[child]))
            child++;
        if (!lane_precedes(f, f->heap[child], lane))
            break;
        f->heap[at] = f->heap[child];
    }
    f->heap[at] = lane;
}

static void heap_fill(themis_persched_filling_t *f)
{
    f->heap_count = f->tasks->count;
    for (uint32_t k = 0; k < f->heap_count; k++) {
        f->heap[k] = k;
        f->instances[k] = 0;
    }
    for (uint32_t k = f->heap_count / 2; k-- > 0;)
        heap_sink(f, k);
}

static double takes_end(const themis_persched_takes_t *takes)
{
    return takes->take[takes->count - 1].end;
}

/* The transfer of at most `span` seconds that ends soonest after its begin, of those that begin at some times. */
static themis_status_t first_shortest(themis_persched_filling_t *f, const themis_persched_task_t *task, double span)
{
    double best = -1, shortest = INFINITY;

    for (int i = 0; i < FIRST_TRIALS; i++) {
        double begin = f->timeline.period / FIRST_TRIALS * i;
        themis_status_t status =
            themis_persched_timeline_earliest(&f->timeline, begin, begin + span, task->rate, task->reserve, &f->takes);

        if (status == THEMIS_NO_MEMORY)
            return status;
        if (status != THEMIS_OK || takes_end(&f->takes) - f->takes.take[0].begin >= shortest)
            continue;
        best = begin;
        shortest = takes_end(&f->takes) - f->takes.take[0].begin;
    }
    return best < 0 ? THEMIS_RANGE
                    : themis_persched_timeline_earliest(&f->timeline, best, best + span, task->rate, task->reserve,
                                                        &f->takes);
}

/* A first instance goes where it gets the most bandwidth, if there is time left to compute. */
static themis_status_t first_find(themis_persched_filling_t *f, uint32_t k)
{
    const themis_persched_task_t *task = &f->tasks->task[k];
    double span = f->timeline.period - task->compute;
    themis_status_t status;

    if (span <= 0)
        return THEMIS_RANGE;
    status = themis_persched_timeline_widest(&f->timeline, task->rate, task->reserve, &f->takes);
    if (status != THEMIS_OK || takes_end(&f->takes) - f->takes.take[0].begin <= span)
        return status;
    return first_shortest(f, task, span);
}

static themis_status_t takes_record(themis_persched_filling_t *f, uint32_t k, double compute_begin)
{
    themis_status_t status = THEMIS_OK;

    if (f->draft)
        status = themis_persched_draft_instance(f->draft, k, compute_begin);
    for (uint32_t i = 0; f->draft && i < f->takes.count && status == THEMIS_OK; i++)
        status = themis_persched_draft_window(f->draft, f->takes.take[i].begin, f->takes.take[i].end,
                                              f->takes.take[i].bandwidth);
    return status;
}

/* Insert-In-Pattern: the next instance follows the last one, and ends before the first one's computing begins. */
static themis_status_t instance_insert(themis_persched_filling_t *f, uint32_t k)
{
    const themis_persched_task_t *task = &f->tasks->task[k];
    themis_persched_filling_lane_t *lane = &f->lane[k];
    double io = lane->end + task->compute, compute_begin = lane->end;
    themis_status_t status;

    if (f->limit && f->instances[k] >= f->limit[k])
        return THEMIS_RANGE;
    if (f->instances[k] == 0)
        status = first_find(f, k);
    else
        status =
            themis_persched_timeline_earliest(&f->timeline, io, lane->first_io - task->compute + f->timeline.period,
                                              task->rate, task->reserve, &f->takes);
    if (status != THEMIS_OK)
        return status;
    if (f->instances[k] == 0) {
        lane->first_io = f->takes.take[0].begin;
        compute_begin = lane->first_io - task->compute;
    }
    lane->end = takes_end(&f->takes);
    f->instances[k]++;
    status = takes_record(f, k, compute_begin);
    return status == THEMIS_OK ? themis_persched_timeline_use(&f->timeline, &f->takes) : status;
}

/* Times of a pattern are numbers of 53 bits; a shorter transfer would not be exact to a millionth. */
static int transfers_are_exact(const themis_persched_tasks_t *tasks, double period)
{
    for (uint32_t k = 0; k < tasks->count; k++)
        if (tasks->task[k].reserve / tasks->task[k].rate < 1e-9 * period)
            return 0;
    return 1;
}

themis_status_t themis_persched_filling_run(themis_persched_filling_t *f, double period)
{
    uint32_t inserted = 0;
    themis_status_t status;

    if (!transfers_are_exact(f->tasks, period))
        return THEMIS_RANGE;
    status = themis_persched_timeline_reset(&f->timeline, period, f->timeline.bandwidth);
    heap_fill(f);
    while (f->heap_count > 0 && status == THEMIS_OK) {
        uint32_t k = f->heap[0];

        f->timeline.steps += HEAP_STEPS;
        status = instance_insert(f, k);
        if (status == THEMIS_RANGE && f->instances[k] > 0) {
            f->heap[0] = f->heap[--f->heap_count];
            status = THEMIS_OK;
        }
        if (f->heap_count > 0)
            heap_sink(f, 0);
        if (++inserted == MAX_INSTANCES || (f->last_step != 0 && f->timeline.steps > f->last_step))
            return THEMIS_CANCELED;
    }
    f->efficiency = themis_persched_efficiency(f->tasks, f->instances, period);
    f->dilation = themis_persched_dilation(f->tasks, f->instances, period);
    return status;
}

themis_status_t themis_persched_filling_pattern(themis_persched_filling_t *f, double period,
                                                themis_persched_pattern_t **pattern)
{
    themis_persched_draft_t draft = {0};

    f->draft = &draft;
    themis_status_t status = themis_persched_filling_run(f, period);
    f->draft = NULL;
    if (status == THEMIS_OK)
        status = themis_persched_pattern_make(f->tasks, &draft, period, pattern);
    themis_persched_draft_release(&draft);
    return status;
}
