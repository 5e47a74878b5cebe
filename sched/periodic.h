/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan of periodic I/O: within a period, which repeats for ever, each lane has windows, and in a window a part of the
 * bandwidth. Lanes belong to running applications; which job has which lane is for the scheduler to say.
 *
 * A window is valid some time earlier and later than planned (`tolerance`), for jobs that drift.
 *
 * Pure computation; no locks, no logging. Times are ns on the clock that the scheduler is given.
 */
#pragma once
#include <stdint.h>
#include "sched/job_table.h"
#include "themis/status.h"

enum {
    THEMIS_SCHED_PERIODIC_LANES = 4096,    /* of a plan, at most */
    THEMIS_SCHED_PERIODIC_WINDOWS = 65536, /* of all its lanes */
    THEMIS_SCHED_PERIODIC_IDENTITY_BYTES = 33
};

typedef struct themis_sched_periodic_window {
    uint64_t begin, end; /* ns within the period; an end beyond it belongs to the next repetition */
    double share;        /* of the bandwidth, in (0, 1] */
} themis_sched_periodic_window_t;

typedef struct themis_sched_periodic_lane {
    char application[THEMIS_SCHED_JOB_ID_BYTES]; /* or job id: whose lane it is */
    themis_sched_periodic_window_t *window;      /* [windows]; owned */
    uint32_t windows;
    uint32_t taken; /* the scheduler's: of an application's first lane, how many of its lanes jobs have */
} themis_sched_periodic_lane_t;

typedef struct themis_sched_periodic {
    uint64_t period;                                     /* ns, > 0 */
    uint64_t origin;                                     /* when a period begins; may lie in the future */
    uint64_t tolerance;                                  /* ns */
    char identity[THEMIS_SCHED_PERIODIC_IDENTITY_BYTES]; /* the caller's: what tells it from other plans; "": nothing */
    themis_sched_periodic_lane_t *lane;                  /* [lanes]; owned */
    uint32_t lanes, windows;
    uint32_t *by_name; /* [lanes] indices of the lanes by application, then by index; owned; NULL before it is sealed */
} themis_sched_periodic_t;

/* An empty plan, owned by the caller. THEMIS_RANGE: a period of less than 1 ms or more than 10 years, or a tolerance of
 * more than half of it. */
themis_status_t themis_sched_periodic_create(uint64_t period, uint64_t tolerance, uint64_t origin,
                                             themis_sched_periodic_t **plan);
void themis_sched_periodic_destroy(themis_sched_periodic_t *plan); /* NULL is allowed */

/* Adds a lane without windows. THEMIS_RANGE: too many, or no name, or one that is too long. */
themis_status_t themis_sched_periodic_add_lane(themis_sched_periodic_t *plan, const char *application);
/* Adds a window to the lane added last. THEMIS_RANGE: begin >= period, or not begin < end <= begin + period, a share
 * outside of (0, 1], or too many windows. */
themis_status_t themis_sched_periodic_add_window(themis_sched_periodic_t *plan,
                                                 const themis_sched_periodic_window_t *window);

/* The plan is complete: lanes can be found. */
themis_status_t themis_sched_periodic_seal(themis_sched_periodic_t *plan);
/* The lanes of that application: by_name[*first .. result - 1], none if both are equal. */
uint32_t themis_sched_periodic_find(const themis_sched_periodic_t *plan, const char *application, uint32_t *first);

/* The lane's share at `now`, 0 between its windows; *until is lowered to when that changes next. */
double themis_sched_periodic_share(const themis_sched_periodic_t *plan, const themis_sched_periodic_lane_t *lane,
                                   uint64_t now, uint64_t *until);
/* Counts the periods since the origin; changes when one begins. */
uint64_t themis_sched_periodic_round(const themis_sched_periodic_t *plan, uint64_t now);
