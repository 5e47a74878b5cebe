/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random sequence of accesses to one file, the same on all ranks for the same seed. What every rank does in a step is
 * known to all, so that each can tell what the others may have written when it reads.
 */
#pragma once
#include <stdint.h>
#include <stdio.h>

enum {
    ORDER_RANKS = 16,
    ORDER_STEPS = 160,
    ORDER_IDS = 254, /* of writes: one for each rank of each writing step */
    ORDER_MAX_BYTES = 256 << 10,
    ORDER_GROUP = 8
};

/* Handles: two of all ranks with views, one of all ranks for the shared pointer, one of each rank's own. */
typedef enum order_handle { ORDER_MAIN, ORDER_SECOND, ORDER_SHARING, ORDER_OWN, ORDER_HANDLES } order_handle_t;

typedef enum order_kind {
    ORDER_COLLECTIVE,  /* blocking */
    ORDER_SPLIT,       /* begins; ORDER_END ends it */
    ORDER_ICOLLECTIVE, /* likewise */
    ORDER_ORDERED,     /* collective, at the shared pointer */
    ORDER_ALONE,       /* independent, of the ranks of `ranks` */
    ORDER_IALONE,      /* begins; ORDER_END ends it */
    ORDER_TOGETHER,    /* independent, all ranks at the shared pointer, between barriers */
    ORDER_END,         /* waits for what step `of` began */
    ORDER_BARRIER,
    ORDER_MESSAGE, /* from a rank to another one */
    ORDER_SET_VIEW,
    ORDER_SET_SIZE,    /* between barriers */
    ORDER_PREALLOCATE, /* between barriers */
    ORDER_GET_SIZE,
    ORDER_COMPARE /* between barriers: all ranks read all of the file, and have to find the same */
} order_kind_t;

/* Blocks of `block` bytes every `stride` bytes from `start` of the file on; contiguous if they are the same. */
typedef struct order_view {
    int64_t start, block, stride;
} order_view_t;

/* A rank's part of a step: bytes of the view's data, from `position` on. */
typedef struct order_place {
    order_view_t view;
    int64_t position, bytes;
    int seek; /* 1: the individual pointer is set first */
    int id;   /* of the write */
} order_place_t;

typedef struct order_step {
    order_kind_t kind;
    order_handle_t handle;
    int writes;
    int explicit_offset; /* 0: at the individual pointer */
    unsigned ranks;      /* bits: who takes part */
    unsigned pauses;     /* bits: who sleeps before */
    int of;              /* ORDER_END */
    int from, to;        /* ORDER_MESSAGE */
    int64_t size;        /* ORDER_SET_SIZE, ORDER_PREALLOCATE; ORDER_COMPARE: bytes to read */
    order_place_t place[ORDER_RANKS];
} order_step_t;

typedef struct order_sequence {
    uint64_t seed;
    int ranks;
    int steps;
    order_step_t step[ORDER_STEPS];
} order_sequence_t;

/* For the file of a sequence, in bytes; 0: the server's. Sequences of the same ORDER_GROUP numbers have one file. */
int64_t order_sequence_striping_unit(uint64_t seed);

/*
 * local: without what ROMIO's driver for local files does not do right: it writes what it finds in memory into the gaps
 * of a collective write behind the end of the file, moves the individual pointer when a non-blocking collective call
 * ends, and mixes up its messages with those of another collective call on the handle. max_steps > 0: the sequence ends
 * after so many steps at the latest, and then ends what it has begun.
 */
void order_sequence_make(uint64_t seed, int ranks, int local, int max_steps, order_sequence_t *sequence);

/* One line for each step and rank, for readers. */
void order_sequence_print(const order_sequence_t *sequence, FILE *to);
/* The same of one step, in one line of at most `size` characters. */
void order_step_print(const order_sequence_t *sequence, int step, int rank, char *text, size_t size);

/* Where byte `position` of a view's data is in the file. */
static inline int64_t order_view_offset(const order_view_t *view, int64_t position)
{
    return view->start + position / view->block * view->stride + position % view->block;
}

/* 1 if the step reads or writes at places of its own. */
static inline int order_step_is_access(const order_step_t *step)
{
    return step->kind <= ORDER_TOGETHER;
}

/* 1 if the step is a collective call of all ranks. */
static inline int order_step_is_collective(const order_step_t *step)
{
    return step->kind <= ORDER_ORDERED && step->handle != ORDER_OWN;
}

/* 1 if the step begins what an ORDER_END ends. */
static inline int order_step_begins(const order_step_t *step)
{
    return step->kind == ORDER_SPLIT || step->kind == ORDER_ICOLLECTIVE || step->kind == ORDER_IALONE;
}

/* The end of a place in the file; 0 if it is empty. */
static inline int64_t order_place_end(const order_place_t *place)
{
    return place->bytes ? order_view_offset(&place->view, place->position + place->bytes - 1) + 1 : 0;
}
