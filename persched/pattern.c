/* SPDX-License-Identifier: BSD-3-Clause */
#include "persched/pattern.h"
#include <math.h>
#include <stdlib.h>

/* Room for one more; `size` is that of an element. */
static themis_status_t array_grow(void **array, uint32_t count, uint32_t *capacity, size_t size)
{
    uint32_t wanted = *capacity ? 2 * *capacity : 64;
    void *grown;

    if (count < *capacity)
        return THEMIS_OK;
    grown = realloc(*array, wanted * size);
    if (!grown)
        return THEMIS_NO_MEMORY;
    *array = grown;
    *capacity = wanted;
    return THEMIS_OK;
}

themis_status_t themis_persched_draft_instance(themis_persched_draft_t *d, uint32_t lane, double compute_begin)
{
    void *array = d->instance;
    themis_status_t status = array_grow(&array, d->instances, &d->instance_capacity, sizeof *d->instance);

    d->instance = array;
    if (status == THEMIS_OK)
        d->instance[d->instances++] = (themis_persched_draft_instance_t){lane, d->windows, 0, compute_begin};
    return status;
}

themis_status_t themis_persched_draft_window(themis_persched_draft_t *d, double begin, double end, double bandwidth)
{
    themis_persched_draft_instance_t *instance = &d->instance[d->instances - 1];
    themis_persched_window_t *last = instance->windows ? &d->window[d->windows - 1] : NULL;
    void *array = d->window;

    if (last && begin - last->end <= 1e-12 * end && fabs(last->bandwidth - bandwidth) <= 1e-9 * bandwidth) {
        last->end = end;
        return THEMIS_OK;
    }
    themis_status_t status = array_grow(&array, d->windows, &d->window_capacity, sizeof *d->window);
    d->window = array;
    if (status != THEMIS_OK)
        return status;
    d->window[d->windows++] = (themis_persched_window_t){begin, end, bandwidth};
    instance->windows++;
    return THEMIS_OK;
}

void themis_persched_draft_release(themis_persched_draft_t *d)
{
    free(d->instance);
    free(d->window);
}

/* One allocation: the pattern, its lanes, instances and windows. */
typedef struct whole {
    themis_persched_pattern_t pattern;
    themis_persched_lane_t *lane;
    themis_persched_instance_t *instance;
    themis_persched_window_t *window;
} whole_t;

static whole_t *whole_make(uint32_t lanes, uint32_t instances, uint32_t windows)
{
    whole_t *w =
        calloc(1, sizeof *w + lanes * sizeof *w->lane + instances * sizeof *w->instance + windows * sizeof *w->window);

    if (!w)
        return NULL;
    w->lane = (themis_persched_lane_t *)(w + 1);
    w->instance = (themis_persched_instance_t *)(w->lane + lanes);
    w->window = (themis_persched_window_t *)(w->instance + instances);
    w->pattern.lane = w->lane;
    w->pattern.lanes = lanes;
    return w;
}

/* Copies an instance with its windows so that its computing begins within the first period. */
static void instance_place(whole_t *whole, themis_persched_instance_t *to, const themis_persched_draft_t *d,
                           const themis_persched_draft_instance_t *from, double compute, uint32_t *windows)
{
    double shift = floor(from->compute_begin / whole->pattern.period) * whole->pattern.period;

    if (from->compute_begin - shift >= whole->pattern.period)
        shift += whole->pattern.period;
    to->compute_begin = fmax(0, from->compute_begin - shift);
    to->compute_end = to->compute_begin + compute;
    to->window = whole->window + *windows;
    to->windows = from->windows;
    for (uint32_t i = 0; i < from->windows; i++) {
        themis_persched_window_t w = d->window[from->first + i];

        whole->window[(*windows)++] = (themis_persched_window_t){w.begin - shift, w.end - shift, w.bandwidth};
    }
}

static themis_status_t pattern_measure(const themis_persched_tasks_t *tasks, themis_persched_pattern_t *p)
{
    uint32_t *instances = calloc(tasks->count, sizeof *instances);

    if (!instances)
        return THEMIS_NO_MEMORY;
    for (uint32_t k = 0; k < tasks->count; k++)
        instances[k] = p->lane[k].instances;
    p->efficiency = themis_persched_efficiency(tasks, instances, p->period);
    p->dilation = themis_persched_dilation(tasks, instances, p->period);
    free(instances);
    return THEMIS_OK;
}

themis_status_t themis_persched_pattern_make(const themis_persched_tasks_t *tasks, const themis_persched_draft_t *d,
                                             double period, themis_persched_pattern_t **pattern)
{
    whole_t *whole = whole_make(tasks->count, d->instances, d->windows);
    themis_persched_instance_t *next = whole ? whole->instance : NULL;
    uint32_t windows = 0;

    if (!whole)
        return THEMIS_NO_MEMORY;
    whole->pattern.period = period;
    whole->pattern.complete = 1;
    for (uint32_t i = 0; i < d->instances; i++)
        whole->lane[d->instance[i].lane].instances++;
    for (uint32_t k = 0; k < tasks->count; k++) {
        whole->lane[k].application = tasks->task[k].application;
        whole->lane[k].copy = tasks->task[k].copy;
        whole->lane[k].instance = next;
        next += whole->lane[k].instances;
        whole->lane[k].instances = 0;
    }
    for (uint32_t i = 0; i < d->instances; i++) {
        themis_persched_lane_t *lane = &whole->lane[d->instance[i].lane];
        themis_persched_instance_t *to = whole->instance + (lane->instance - whole->instance) + lane->instances++;

        instance_place(whole, to, d, &d->instance[i], tasks->task[d->instance[i].lane].compute, &windows);
    }
    if (pattern_measure(tasks, &whole->pattern) != THEMIS_OK) {
        free(whole);
        return THEMIS_NO_MEMORY;
    }
    *pattern = &whole->pattern;
    return THEMIS_OK;
}

themis_status_t themis_persched_pattern_copy(const themis_persched_tasks_t *tasks,
                                             const themis_persched_pattern_t *from, themis_persched_pattern_t **copy)
{
    themis_persched_draft_t d = {0};
    themis_status_t status = THEMIS_OK;

    for (uint32_t k = 0; k < from->lanes; k++)
        for (uint32_t i = 0; i < from->lane[k].instances && status == THEMIS_OK; i++) {
            const themis_persched_instance_t *instance = &from->lane[k].instance[i];

            status = themis_persched_draft_instance(&d, k, instance->compute_begin);
            for (uint32_t w = 0; w < instance->windows && status == THEMIS_OK; w++)
                status = themis_persched_draft_window(&d, instance->window[w].begin, instance->window[w].end,
                                                      instance->window[w].bandwidth);
        }
    if (status == THEMIS_OK)
        status = themis_persched_pattern_make(tasks, &d, from->period, copy);
    themis_persched_draft_release(&d);
    return status;
}

void themis_persched_pattern_free(themis_persched_pattern_t *pattern)
{
    free(pattern); /* the first member of a whole_t */
}
