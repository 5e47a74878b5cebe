/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's state, on which sched.c, shares.c and the draws work. Internal to sched/. */
#pragma once
#include "sched/bandwidth_limit.h"
#include "sched/draw.h"
#include "sched/heap.h"
#include "sched/periodic.h"
#include "sched/policy_tree.h"

struct themis_sched {
    themis_sched_options_t options; /* its policy and draw are not used: they are in the fields below */
    themis_sched_policy_t policy;
    char draw[16];
    const themis_sched_draw_ops_t *ops;
    void *state;               /* of ops */
    themis_sched_heap_t order; /* slots of the ready entries by ops->key; empty if there is no such operation */
    uint64_t random;           /* state of the generator */

    themis_sched_entry_t **entries; /* count of them, without order */
    uint32_t count, capacity;
    themis_sched_entry_t **sorted;                  /* the same, in the policy's order */
    const themis_sched_job_identity_t **identities; /* scratch: of the entries in the tree, in that order */
    themis_sched_policy_tree_t tree;
    themis_sched_entry_t **matching; /* scratch: the entries in the order of their ids */
    themis_sched_periodic_t *plan;   /* of periodic I/O, owned; NULL: none was given. In force if the policy says so */
    uint64_t plan_until;             /* ns; when planned shares change next */
    int stale;                       /* shares have to be computed */
    uint64_t computed;               /* ns; when that was last done */
    uint64_t idle_checked;           /* ns; when idle entries were last looked for */

    themis_sched_entry_t *metadata; /* utlist of the ready entries whose head is a metadata operation */
    uint64_t sequence;              /* of the last item */
    uint64_t queued;                /* items */
    uint64_t serving;               /* slices being served */
    uint64_t last_done;             /* ns; when a slice ended last */
    uint64_t device_idle;           /* ns; for which the device had no work before the last enqueue */
    themis_sched_bandwidth_limit_t limit;
    double rate; /* bytes per ns of one worker, measured; of the device if it is limited */
};
