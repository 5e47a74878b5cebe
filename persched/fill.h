/* SPDX-License-Identifier: BSD-3-Clause */
/* The greedy inner part of PerSched: as many instances as fit into one period. */
#pragma once
#include "persched/pattern.h"
#include "persched/timeline.h"

typedef struct themis_persched_filling_lane {
    double first_io; /* when the I/O of its first instance begins */
    double end;      /* of its last instance */
} themis_persched_filling_lane_t;

/* Reused from period to period. */
typedef struct themis_persched_filling {
    const themis_persched_tasks_t *tasks; /* borrowed */
    themis_persched_timeline_t timeline;
    themis_persched_takes_t takes;
    themis_persched_filling_lane_t *lane; /* [tasks->count]; owned */
    uint32_t *instances;                  /* [tasks->count] of the period filled last; owned */
    uint32_t *heap; /* [heap_count] lanes that may have room, the one to serve first at 0; owned */
    uint32_t heap_count;
    double efficiency, dilation;    /* of the period filled last */
    themis_persched_draft_t *draft; /* where the pattern is recorded, or NULL; borrowed */
    uint64_t last_step;             /* timeline.steps after which a period is given up; 0: none */
    const uint32_t *limit;          /* [tasks->count] instances at most, or NULL; borrowed */
} themis_persched_filling_t;

/* From zeros. The timeline is that of a platform with this bandwidth. */
themis_status_t themis_persched_filling_make(themis_persched_filling_t *f, const themis_persched_tasks_t *tasks,
                                             double bandwidth);
void themis_persched_filling_release(themis_persched_filling_t *f);

/* Fills a period. RANGE: an application has no instance, or transfers for less than 1e-9 of the period. CANCELED: it
 * takes too many steps or more than 2^20 instances.
 */
themis_status_t themis_persched_filling_run(themis_persched_filling_t *f, double period);

/* The same, recorded as a pattern. */
themis_status_t themis_persched_filling_pattern(themis_persched_filling_t *f, double period,
                                                themis_persched_pattern_t **pattern);
