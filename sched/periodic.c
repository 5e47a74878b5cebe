/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* qsort_r */
#include "sched/periodic.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/clock.h"

#define MAX_PERIOD (UINT64_C(10) * 366 * 86400 * THEMIS_NS_PER_S)

themis_status_t themis_sched_periodic_create(uint64_t period, uint64_t tolerance, uint64_t origin,
                                             themis_sched_periodic_t **plan)
{
    if (period < THEMIS_NS_PER_MS || period > MAX_PERIOD || tolerance > period / 2)
        return THEMIS_RANGE;
    themis_sched_periodic_t *made = malloc(sizeof *made);
    if (made == NULL)
        return THEMIS_NO_MEMORY;
    *made = (themis_sched_periodic_t){.period = period, .origin = origin, .tolerance = tolerance};
    *plan = made;
    return THEMIS_OK;
}

void themis_sched_periodic_destroy(themis_sched_periodic_t *plan)
{
    if (plan == NULL)
        return;
    for (uint32_t i = 0; i < plan->lanes; i++)
        free(plan->lane[i].window);
    free(plan->lane);
    free(plan->by_name);
    free(plan);
}

/* Makes room for one more of `count` elements, where the capacity is the next power of two. */
static themis_status_t grow(void **array, uint32_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return THEMIS_OK;
    void *larger = realloc(*array, (count == 0 ? 1 : 2 * (size_t)count) * size);
    if (larger == NULL)
        return THEMIS_NO_MEMORY;
    *array = larger;
    return THEMIS_OK;
}

themis_status_t themis_sched_periodic_add_lane(themis_sched_periodic_t *plan, const char *application)
{
    themis_sched_periodic_lane_t lane = {.windows = 0};
    void *lanes = plan->lane;

    if (plan->lanes == THEMIS_SCHED_PERIODIC_LANES || *application == '\0' ||
        strlen(application) >= sizeof lane.application)
        return THEMIS_RANGE;
    snprintf(lane.application, sizeof lane.application, "%s", application);
    themis_status_t status = grow(&lanes, plan->lanes, sizeof lane);
    if (status != THEMIS_OK)
        return status;
    plan->lane = lanes;
    plan->lane[plan->lanes++] = lane;
    return THEMIS_OK;
}

themis_status_t themis_sched_periodic_add_window(themis_sched_periodic_t *plan,
                                                 const themis_sched_periodic_window_t *window)
{
    if (plan->lanes == 0 || plan->windows == THEMIS_SCHED_PERIODIC_WINDOWS || window->begin >= plan->period ||
        window->end <= window->begin || window->end - window->begin > plan->period ||
        !(window->share > 0 && window->share <= 1))
        return THEMIS_RANGE;
    themis_sched_periodic_lane_t *lane = &plan->lane[plan->lanes - 1];
    void *windows = lane->window;
    themis_status_t status = grow(&windows, lane->windows, sizeof *window);
    if (status != THEMIS_OK)
        return status;
    lane->window = windows;
    lane->window[lane->windows++] = *window;
    plan->windows++;
    return THEMIS_OK;
}

static int compare_lanes(const void *a, const void *b, void *arg)
{
    const themis_sched_periodic_t *plan = arg;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    int order = strcmp(plan->lane[i].application, plan->lane[k].application);

    return order != 0 ? order : (i > k) - (i < k);
}

themis_status_t themis_sched_periodic_seal(themis_sched_periodic_t *plan)
{
    plan->by_name = calloc(plan->lanes + 1, sizeof *plan->by_name);
    if (plan->by_name == NULL)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < plan->lanes; i++)
        plan->by_name[i] = i;
    qsort_r(plan->by_name, plan->lanes, sizeof *plan->by_name, compare_lanes, plan);
    return THEMIS_OK;
}

/* The first lane by name that is not before `application`, or, `after` 1, that is after it. */
static uint32_t bound_of(const themis_sched_periodic_t *plan, const char *application, int after)
{
    uint32_t low = 0, high = plan->lanes;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(plan->lane[plan->by_name[middle]].application, application) < after)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t themis_sched_periodic_find(const themis_sched_periodic_t *plan, const char *application, uint32_t *first)
{
    *first = bound_of(plan, application, 0);
    return bound_of(plan, application, 1);
}

/* ns since the present period began, 0 to period - 1. */
static uint64_t phase_of(const themis_sched_periodic_t *plan, uint64_t now)
{
    uint64_t before = now < plan->origin ? (plan->origin - now) % plan->period : 0;

    return now >= plan->origin ? (now - plan->origin) % plan->period : (plan->period - before) % plan->period;
}

double themis_sched_periodic_share(const themis_sched_periodic_t *plan, const themis_sched_periodic_lane_t *lane,
                                   uint64_t now, uint64_t *until)
{
    uint64_t phase = phase_of(plan, now);
    double share = 0;

    for (uint32_t i = 0; i < lane->windows; i++) {
        const themis_sched_periodic_window_t *window = &lane->window[i];
        uint64_t length = window->end - window->begin + 2 * plan->tolerance;
        /* since the window began, its tolerance included; each term is below twice the period */
        uint64_t since = (phase + 2 * plan->period - window->begin + plan->tolerance) % plan->period;
        uint64_t change = since < length ? length - since : plan->period - since;
        if (since < length && window->share > share)
            share = window->share;
        if (length < plan->period && now + change < *until)
            *until = now + change;
    }
    return share;
}

uint64_t themis_sched_periodic_round(const themis_sched_periodic_t *plan, uint64_t now)
{
    return now < plan->origin ? 0 : 1 + (now - plan->origin) / plan->period;
}
