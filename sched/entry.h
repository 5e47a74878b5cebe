/* SPDX-License-Identifier: BSD-3-Clause */
/* A job in the scheduler: the queue of its requests, its share, and when it had requests. Internal to sched/. */
#pragma once
#include "sched/sched.h"

enum {
    THEMIS_SCHED_DRAW_BYTES = 48,   /* of a draw's private account of an entry */
    THEMIS_SCHED_SMALL_BYTES = 4096 /* a smaller data request is charged by time, as metadata is, but at most this */
};

/* What a plan of periodic I/O has for an entry (lanes.c). */
typedef struct themis_sched_entry_plan {
    int32_t lane;             /* -1: none */
    int32_t chosen;           /* the lane while lanes are given anew */
    double share;             /* planned for now; 0: by the policy */
    uint64_t cost;            /* job->cost when that was last looked at */
    uint64_t round;           /* the period in which that was */
    uint64_t inside, outside; /* bytes charged in this period, in windows of the lane and between them */
    double fit;               /* the part of them that was inside, in the last period that had some */
    uint32_t misfits;         /* periods in a row in which that was less than half */
} themis_sched_entry_plan_t;

typedef struct themis_sched_entry {
    /* What every decision needs, in one cache line; fields that a draw needs in every decision come first in `draw`. */
    themis_sched_job_t *job;
    themis_sched_item_t *head; /* utlist */
    double share;              /* in force; above 0 while in the tree, 0 otherwise */
    uint64_t last_concurrent;  /* ns; when it last had more than one request */
    uint32_t slot;             /* index in sched->entries */
    uint32_t serving;          /* slices being served */
    int16_t in_tree;           /* is part of the policy's tree; 2: and its share is an estimate so far */
    int16_t held;              /* is passed over, whatever its queue holds */
    int16_t in_metadata;       /* is in sched->metadata */
    _Alignas(8) unsigned char draw[THEMIS_SCHED_DRAW_BYTES]; /* private to the draw, which sets it in `join` */

    struct themis_sched_entry *next, *prev; /* in sched->metadata */
    double metadata_cost;                   /* bytes that one of its metadata operations is charged, smoothed */
    uint64_t idle_since;                    /* ns; when it last ceased to have requests */
    uint64_t busy, busy_since; /* ns with requests since the usage was last collected; start of the present period */
    uint64_t collected, collected_cost; /* ns and job->cost at that time */
    double weight;                      /* from the lambda exchange; negative: none */
    themis_sched_entry_plan_t plan;
} themis_sched_entry_t;

/* It has requests that wait or are being served. */
static inline int themis_sched_entry_is_busy(const themis_sched_entry_t *entry)
{
    return entry->head != NULL || entry->serving > 0;
}

/* It may be picked. */
static inline int themis_sched_entry_is_ready(const themis_sched_entry_t *entry)
{
    return entry->head != NULL && !entry->held;
}

/* A slice of its head was served. The comparators, which know no slices, serve the rest of such a request first. */
static inline int themis_sched_entry_is_started(const themis_sched_entry_t *entry)
{
    return themis_sched_entry_is_ready(entry) && entry->head->bytes < entry->head->total;
}

/* It has sent requests for data or metadata. */
static inline int themis_sched_entry_has_requested(const themis_sched_entry_t *entry)
{
    return entry->job->requests > 0 || themis_sched_entry_is_busy(entry);
}

/* Bytes that the next slice of the entry's head, which exists, is charged in advance. */
static inline double themis_sched_entry_head_cost(const themis_sched_entry_t *entry, uint64_t quantum)
{
    const themis_sched_item_t *item = entry->head;

    if (item->total == 0)
        return entry->metadata_cost;
    if (item->total < THEMIS_SCHED_SMALL_BYTES)
        return THEMIS_SCHED_SMALL_BYTES;
    return (double)(item->bytes < quantum ? item->bytes : quantum);
}
