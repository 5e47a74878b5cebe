/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A draw: the way in which the scheduler chooses the job that is served next.
 *
 * The scheduler keeps the queues, the shares and the bandwidth limit. A draw is a table of operations over entries: it
 * is told what happens to them, and names the next one. What it remembers about an entry is in entry->draw, and all
 * else in sched->state; nobody else reads either.
 */
#pragma once
#include "sched/entry.h"

/* Of the operations only `pick` is required. Only `reserve` may allocate memory. */
typedef struct themis_sched_draw_ops {
    size_t state_bytes; /* of sched->state, which the scheduler allocates, filled with zeros, and frees */
    void (*init)(themis_sched_t *sched, uint64_t now);
    void (*release)(void *state); /* frees what the state owns */
    /* Makes room for that many entries; called before init and join. */
    themis_status_t (*reserve)(void *state, uint32_t entries);
    void (*join)(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now);
    void (*leave)(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now); /* its queue is empty */
    /* The entry, whose slot was `from`, has moved to the slot of one that has left. */
    void (*move)(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from);
    /* The queue was empty, or the entry held, and now it has a request that may be picked: its head. */
    void (*wake)(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now);
    void (*charge)(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes); /* negative: gives back */
    /* The entry has moved bytes without requests while others have some: themis_sched_charge. */
    void (*charge_moved)(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes, uint64_t now);
    /* For draws that order entries by a key: the scheduler keeps the ready ones in sched->order, smallest key first. */
    double (*key)(const themis_sched_entry_t *entry);
    /* The head of the queue, the account, or whether the entry is held has changed. */
    void (*update)(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now);
    /* The entry has a new share; `old` is the former one, 0: none. */
    void (*reshare)(themis_sched_t *sched, themis_sched_entry_t *entry, double old);
    /* The entry to serve, which is ready; or NULL and the time to ask again. */
    themis_sched_entry_t *(*pick)(themis_sched_t *sched, uint64_t now, uint64_t *wake);
} themis_sched_draw_ops_t;

/* Each in the file of its name; the comparators gift and tbf only if they are built. */
extern const themis_sched_draw_ops_t themis_sched_draw_fifo, themis_sched_draw_stride, themis_sched_draw_statistical,
    themis_sched_draw_min_dilation, themis_sched_draw_gift, themis_sched_draw_tbf;

typedef enum themis_sched_draw_kind {
    THEMIS_SCHED_DRAW_SHARES, /* chosen by the option draw, serves all policies with shares */
    THEMIS_SCHED_DRAW_POLICY  /* is a policy itself, without shares */
} themis_sched_draw_kind_t;

/* The draw of that kind and name. THEMIS_NO_ENTRY: there is none; THEMIS_UNSUPPORTED: it was left out of this build. */
themis_status_t themis_sched_draw_find(themis_sched_draw_kind_t kind, const char *name,
                                       const themis_sched_draw_ops_t **ops);
