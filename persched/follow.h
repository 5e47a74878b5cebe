/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether servers should follow a plan of the jobs that run: decided anew at each look at them, from what they were
 * seen to do. Pure computation: what is seen is given, and what is decided is for the caller to do.
 *
 * While no plan is in force, the jobs that are periodic are planned, once as many were periodic at the look before. The
 * plan is set if it pays: if its SysEff is above the one measured under the present policy by a margin, and its
 * dilation not above the measured one.
 *
 * While one is, it stays as long as its jobs run, do what it was made for, fit their windows or gain without what was
 * planned, and SysEff is not below what it was before; otherwise the policy from before comes back.
 *
 * A policy that somebody else sets while a plan is in force counts: there is no new plan until that policy changes
 * again. Where only some servers have left the plan, the next look decides, since it may reach the others one by one.
 *
 * Jobs that are not periodic are in no plan, and never a reason to change anything. Times are in seconds on one clock,
 * volumes in bytes, bandwidths in bytes/s.
 */
#pragma once
#include "persched/persched.h"

enum { THEMIS_PERSCHED_FOLLOW_POLICY_BYTES = 160, THEMIS_PERSCHED_FOLLOW_JOBS = 1024 };

/* A job that runs. What was measured is of its recent phases of I/O, of none before themis_persched_follow_since. */
typedef struct themis_persched_follow_job {
    const char *name;               /* by which servers give it its windows: its job id */
    uint32_t user;                  /* jobs of two users may have one name */
    double nodes;                   /* > 0 */
    double compute, volume, period; /* of one repetition; not above 0: unknown */
    double confidence;              /* that it is periodic, 0 to 1 */
    uint32_t phases;                /* of I/O that this is known from */
    double rate;                    /* that it can move by itself, bytes/s; 0: unknown, so that of the servers */
    double fit;   /* part of its bytes that servers moved in its planned windows, lately; negative: unknown */
    double until; /* what it did later is not known yet */
} themis_persched_follow_job_t;

/* What a server shares by. */
typedef struct themis_persched_follow_server {
    const char *policy; /* NULL: it does not answer */
    int ours;           /* 1: with the plan that was decided upon last, or the one that this replaces */
} themis_persched_follow_server_t;

/* What is seen at one time; borrowed for the call. */
typedef struct themis_persched_follow_view {
    double now;
    double bandwidth;                              /* of all servers, > 0 */
    double node_bandwidth;                         /* of one node; 0: what each job was seen to move by itself */
    const themis_persched_follow_server_t *server; /* [servers], of which one answers at least */
    uint32_t servers;
    const themis_persched_follow_job_t *job; /* [jobs], one at most of a name and user */
    uint32_t jobs;
} themis_persched_follow_view_t;

typedef struct themis_persched_follow_options {
    double min_confidence; /* of jobs that are planned, in [0, 1] */
    uint32_t min_phases;   /* >= 3 */
    double margin;         /* by which a plan's SysEff has to be above the measured one, a part of that; >= 0 */
    double min_fit;        /* of a planned job, in [0, 1] */
    double change;         /* of computation or volume, beyond which a plan is not for this job any more; > 0 */
    double headroom;       /* that windows have, a part of the volume, in [0, 1) */
    uint32_t patience;     /* periods of the plan that a job may be without fitting, or do something else */
} themis_persched_follow_options_t;

extern const themis_persched_follow_options_t themis_persched_follow_defaults;

typedef enum themis_persched_follow_action {
    THEMIS_PERSCHED_FOLLOW_STAY,    /* nothing is to be done */
    THEMIS_PERSCHED_FOLLOW_PLAN,    /* the policy is to be set, with the plan */
    THEMIS_PERSCHED_FOLLOW_RESTORE, /* on servers that follow the plan, the policy from before is to be set */
    THEMIS_PERSCHED_FOLLOW_YIELD    /* no server follows the plan any more: it is given up, and nothing to be done */
} themis_persched_follow_action_t;

typedef enum themis_persched_follow_cause {
    THEMIS_PERSCHED_FOLLOW_FEW,       /* fewer than two jobs are periodic */
    THEMIS_PERSCHED_FOLLOW_NO_ROOM,   /* there is no plan for these jobs */
    THEMIS_PERSCHED_FOLLOW_LITTLE,    /* a plan would gain too little */
    THEMIS_PERSCHED_FOLLOW_REFUSED,   /* one for these jobs has failed before */
    THEMIS_PERSCHED_FOLLOW_UNSETTLED, /* not the same number of jobs was periodic at the last look */
    THEMIS_PERSCHED_FOLLOW_DIFFER,    /* servers have different policies, or do not answer */
    THEMIS_PERSCHED_FOLLOW_NOT_OURS,  /* servers follow a plan that is not from here */
    THEMIS_PERSCHED_FOLLOW_PAYS,      /* a plan gains enough */
    THEMIS_PERSCHED_FOLLOW_BEGINS,    /* the plan in force is not yet measured */
    THEMIS_PERSCHED_FOLLOW_HOLDS,     /* the plan in force is right */
    THEMIS_PERSCHED_FOLLOW_ENDED,     /* a planned job has ended */
    THEMIS_PERSCHED_FOLLOW_CHANGED,   /* a planned job does something else */
    THEMIS_PERSCHED_FOLLOW_MISFIT,    /* a planned job does not fit its windows */
    THEMIS_PERSCHED_FOLLOW_WORSE,     /* SysEff is lower than before */
    THEMIS_PERSCHED_FOLLOW_OVERRULED, /* somebody else has set a policy while a plan was in force */
    THEMIS_PERSCHED_FOLLOW_BLIND,     /* the caller's: it has not been able to look for some time */
    THEMIS_PERSCHED_FOLLOW_STOPPED,   /* the caller's: it ends, and the plan with it */
    THEMIS_PERSCHED_FOLLOW_CAUSES
} themis_persched_follow_cause_t;

/* "pays", "job-ended"; static storage. */
const char *themis_persched_follow_cause_name(themis_persched_follow_cause_t cause);

typedef struct themis_persched_follow_decision {
    themis_persched_follow_action_t action;
    themis_persched_follow_cause_t cause;
    char reason[320];                                 /* the cause as a sentence, with its numbers */
    char policy[THEMIS_PERSCHED_FOLLOW_POLICY_BYTES]; /* of PLAN and RESTORE */
    /* Of PLAN: an application for each job, by its name. Borrowed until the next decision. */
    const themis_persched_problem_t *problem;
    const themis_persched_pattern_t *pattern;
    double measured, predicted; /* SysEff; 0: unknown */
} themis_persched_follow_decision_t;

typedef struct themis_persched_follow themis_persched_follow_t;

/* INVALID: an option is out of its range. */
themis_status_t themis_persched_follow_create(const themis_persched_follow_options_t *options,
                                              themis_persched_follow_t **follow);
void themis_persched_follow_destroy(themis_persched_follow_t *follow); /* NULL is allowed */

/* When the policy was set that is in force, as far as decided here; 0: before all. */
double themis_persched_follow_since(const themis_persched_follow_t *follow);

/* The policy that stood before the plan in force; NULL: no plan is. Borrowed until the next decision. */
const char *themis_persched_follow_before(const themis_persched_follow_t *follow);

/* Decides, and expects that it is done. NO_MEMORY, INVALID (the view's bandwidth, or no server answers): nothing is
 * decided. */
themis_status_t themis_persched_follow_decide(themis_persched_follow_t *follow,
                                              const themis_persched_follow_view_t *view,
                                              themis_persched_follow_decision_t *decision);

/* The plan decided upon was not set: everything is as if there had been none. */
void themis_persched_follow_forget(themis_persched_follow_t *follow);
/* The plan decided upon was not set, since somebody else had set a policy in the place of an earlier one: that counts
 * as if it had been seen at a look. */
void themis_persched_follow_yield(themis_persched_follow_t *follow, const char *policy);
/* The plan decided upon cannot be set, or is to end for the caller's reasons: no plan is in force, and none is made
 * again for the same jobs as long as they do the same. */
void themis_persched_follow_fail(themis_persched_follow_t *follow);
