/* SPDX-License-Identifier: BSD-3-Clause */
/* Building a pattern: instances are added in any order of lanes, but in the order of time within each. */
#pragma once
#include "persched/problem.h"

typedef struct themis_persched_draft_instance {
    uint32_t lane, first, windows; /* its windows are draft.window[first ...] */
    double compute_begin;          /* seconds, any multiple of the period added */
} themis_persched_draft_instance_t;

/* A draft of zeros is empty. */
typedef struct themis_persched_draft {
    themis_persched_draft_instance_t *instance;
    uint32_t instances, instance_capacity;
    themis_persched_window_t *window;
    uint32_t windows, window_capacity;
} themis_persched_draft_t;

/* Begins an instance of a lane; its windows follow. They have the same multiple of the period added. */
themis_status_t themis_persched_draft_instance(themis_persched_draft_t *draft, uint32_t lane, double compute_begin);
/* Joined to the one before where that has the same bandwidth and ends there. */
themis_status_t themis_persched_draft_window(themis_persched_draft_t *draft, double begin, double end,
                                             double bandwidth);
void themis_persched_draft_release(themis_persched_draft_t *draft);

/* The pattern of a draft, with a lane for each task; owned by the caller. */
themis_status_t themis_persched_pattern_make(const themis_persched_tasks_t *tasks, const themis_persched_draft_t *draft,
                                             double period, themis_persched_pattern_t **pattern);
themis_status_t themis_persched_pattern_copy(const themis_persched_tasks_t *tasks,
                                             const themis_persched_pattern_t *from, themis_persched_pattern_t **copy);
