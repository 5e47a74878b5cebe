/* SPDX-License-Identifier: BSD-3-Clause */
/* Of the jobs that run, those that could be planned together, and what is measured of them. Part of follow.h. */
#pragma once
#include "persched/follow.h"

typedef struct themis_persched_candidates {
    const themis_persched_follow_job_t **job;   /* [count] by name and user; owned, the jobs borrowed from the view */
    themis_persched_application_t *application; /* [count] each job as one; owned, names borrowed */
    uint32_t count;
    themis_persched_platform_t platform; /* its nodes are those of the candidates */
    double efficiency, dilation;         /* as they have them now, with all their waiting */
} themis_persched_candidates_t;

/* The job is regular enough, and enough is known of it. */
int themis_persched_candidates_is_periodic(const themis_persched_follow_options_t *options,
                                           const themis_persched_follow_job_t *job);

/* All jobs of the view that are, up to THEMIS_PERSCHED_FOLLOW_JOBS, but for those whose period is more than 500 times
 * as long or short as that of the middle one, which would make a common plan impossible. NO_MEMORY: there is nothing to
 * be released. */
themis_status_t themis_persched_candidates_find(const themis_persched_follow_options_t *options,
                                                const themis_persched_follow_view_t *view,
                                                themis_persched_candidates_t *candidates);
void themis_persched_candidates_release(themis_persched_candidates_t *candidates);

/* The best pattern for them, owned by the caller. RANGE: there is none. */
themis_status_t themis_persched_candidates_plan(const themis_persched_candidates_t *candidates,
                                                themis_persched_pattern_t **pattern);
