/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the scheduler: what the front (sched.c) and the ways to choose a job (sched_stride.c, ...) share.
 *
 * The front keeps the queues, the shares and the device limit. A way to choose is a table of operations that sees jobs
 * as entries and says which one is next. Entries keep their place in sched->entries until they are removed.
 */
#ifndef THEMIS_SCHED_DRAW_H
#define THEMIS_SCHED_DRAW_H
#include "sched/policy.h"
#include "sched/sched.h"
#include "sched/heap.h"

typedef struct themis_sched_entry {
    /* what every decision needs, in one cache line */
    themis_sched_job_t *job;
    themis_sched_item_t *head, *tail;
    double share;     /* in force; above 0 while counted, 0 otherwise */
    double pass;      /* stride: virtual time up to which it is paid */
    uint64_t crowded; /* ns; when it last had more than one request */
    uint32_t slot;    /* index in sched->entries */
    uint32_t serving; /* slices being served */
    int16_t counted;  /* has a place in the policy's tree; 2: and its share is an estimate so far */
    int16_t held;     /* to be passed over, whatever its queue holds */
    int16_t listed;   /* in sched->metadata */
    int16_t active;   /* tbf: has requests, or its bucket is filling: its rate is not spare */

    struct themis_sched_entry *next, *prev; /* in sched->metadata */
    double metadata_cost;                   /* bytes that one of its metadata operations is charged, smoothed */
    uint64_t quiet_since;                   /* ns; when it last ceased to have requests */
    uint64_t busy, busy_since;              /* ns with requests since the last question; start of the present period */
    uint64_t asked, asked_cost;             /* ns and job->cost at the last question */
    double phase;                           /* stride: bytes that it was moved back so as not to end with others */
    uint64_t shifted, shift_pause;          /* ns; when that was changed, and until it may be again */
    double weight;                          /* from the lambda exchange; negative: none */
    double deadline;                        /* tbf: tokens at which its next one is there */
    int rule;                               /* tbf: has one */
    double low, high;                       /* gift: the segment of [0,1) */
    double issued, redeemed;                /* gift: coupons */
} themis_sched_entry_t;

typedef struct themis_sched_ops {
    const char *name;
    themis_status_t (*create)(themis_sched_t *sched, uint64_t now); /* sets sched->state */
    void (*destroy)(themis_sched_t *sched);
    /* Room for one entry more; called before join, and the only one that may allocate beside create. May be NULL. */
    themis_status_t (*reserve)(themis_sched_t *sched, uint32_t entries);
    void (*join)(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now);
    void (*leave)(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now); /* its queue is empty */
    /* Another has left, and the entry has that one's slot now instead of `from`. May be NULL. */
    void (*rename)(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from);
    /* The queue was empty, or the entry held, and now it has a request that may be picked: its head. */
    void (*wake)(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now);
    void (*charge)(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes); /* negative: gives back */
    /* The queue's head, or the account, has changed: keep order. */
    void (*update)(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now);
    /* Shares were computed anew; the old one of an entry is given. May be NULL. */
    void (*reshare)(themis_sched_t *sched, themis_sched_entry_t *entry, double old);
    /* The entry to serve, whose queue is not empty; or NULL and the time to ask again. */
    themis_sched_entry_t *(*pick)(themis_sched_t *sched, uint64_t now, uint64_t *wake);
} themis_sched_ops_t;

extern const themis_sched_ops_t themis_sched_fifo, themis_sched_stride, themis_sched_statistical, themis_sched_gift,
    themis_sched_tbf;

struct themis_sched {
    themis_sched_options_t options; /* policy and draw point into the fields below */
    themis_sched_policy_t policy;
    char draw[16];
    const themis_sched_ops_t *ops;
    void *state; /* of ops */

    themis_sched_entry_t **entries; /* count of them, without order */
    uint32_t count, capacity;
    themis_sched_entry_t **sorted;               /* the same, in the policy's order */
    const themis_sched_job_identity_t **counted; /* scratch: identities of counted entries, in that order */
    themis_sched_policy_tree_t tree;
    themis_sched_entry_t *metadata; /* list of entries that may be picked and whose head is a metadata operation */
    int dirty;                      /* shares are to be computed anew */
    uint64_t computed;              /* ns; when that was last done */
    uint64_t scanned;               /* ns; when quiet entries were last looked for */
    uint64_t sequence;              /* of the last item */
    uint64_t queued;                /* items */
    uint64_t serving;               /* slices being served */
    double bandwidth;               /* bytes per ns of one worker, measured; of the device if it is limited */
    uint64_t rested;                /* ns; when a slice ended last */
    uint64_t idle;                  /* ns; for which the device had no work before the last enqueue */
    double limit_free;              /* ns; when the device has done what it was given */
    uint64_t random;                /* state of the generator */
};

static inline themis_sched_entry_t *themis_sched_entry(const themis_sched_job_t *job)
{
    return job->sched;
}

/* It has requests that wait or are being served. */
static inline int themis_sched_asks(const themis_sched_entry_t *entry)
{
    return entry->head != NULL || entry->serving > 0;
}

/* The entry may be picked. */
static inline int themis_sched_waits(const themis_sched_entry_t *entry)
{
    return entry->head != NULL && !entry->held;
}

/* A slice of its head was served. The comparators, which know no slices, serve the rest of such a request first. */
static inline int themis_sched_has_begun(const themis_sched_entry_t *entry)
{
    return themis_sched_waits(entry) && entry->head->bytes < entry->head->total;
}

/* Bytes of the next slice of the entry's head, which is there: what a metadata operation is charged, too. */
double themis_sched_head_cost(const themis_sched_t *sched, const themis_sched_entry_t *entry);

/* Uniform over all 64 bits, and in [0,1). */
uint64_t themis_sched_random(themis_sched_t *sched);
double themis_sched_uniform(themis_sched_t *sched);

/* ns in which the device, or a worker, moves one quantum. */
uint64_t themis_sched_cycle(const themis_sched_t *sched);
#endif
