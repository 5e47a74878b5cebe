/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a read may return. Each access has a beginning and an end on its rank, and vector clocks tell which accesses
 * have ended before another one begins: by the order of calls of a rank, by messages and barriers, and, as far as the
 * rules say so, by collective calls. A byte may hold what a write has put there unless that write begins after the read
 * has ended, or another write to the byte comes after it and before the read.
 *
 * The bytes of a write depend on its id and on the place in the file, so that a byte tells who wrote it.
 */
#pragma once
#include "sequence.h"

typedef enum order_rules {
    ORDER_IN_TURN = 1,    /* collective calls of a handle take effect in their order, also while one is under way */
    ORDER_ASSEMBLED = 2,  /* a collective call begins its I/O on no rank before all ranks have begun the call */
    ORDER_EXACT_SIZE = 4, /* of a read that meets the end of the file, the status has the number of bytes */
    /* a collective write writes back what is in its gaps, so that what others have just written there is lost */
    ORDER_SIEVING = 8
} order_rules_t;

typedef struct order_access {
    int step, rank;
    int id;         /* of the write; -1: no write; ORDER_CUT: MPI_File_set_size, which leaves zeros */
    int collective; /* number of the collective call; -1: none */
    order_handle_t handle;
    order_place_t place;
    int64_t first, end;     /* bytes of the file; end 0: none */
    int begun[ORDER_RANKS]; /* events of each rank that are over when it begins */
    int ended;              /* the event of its rank with which it has ended */
    int64_t size_set;       /* ORDER_CUT, ORDER_PREALLOCATE: size of the file afterwards; otherwise -1 */
} order_access_t;

enum { ORDER_CUT = -2, ORDER_ACCESSES = ORDER_STEPS * ORDER_RANKS };

typedef struct order_model {
    const order_sequence_t *sequence; /* borrowed */
    unsigned rules;
    int accesses;
    order_access_t access[ORDER_ACCESSES]; /* in the order of the steps */
    int of[ORDER_STEPS][ORDER_RANKS];      /* index of the access; -1: none */
    int by_id[ORDER_IDS];
} order_model_t;

void order_model_make(const order_sequence_t *sequence, unsigned rules, order_model_t *model);

/* The access of a rank in a step; NULL: none. */
const order_access_t *order_model_access(const order_model_t *model, int step, int rank);

/* The bytes of a write, in the order of its places; and what no write leaves, before a read. */
void order_model_fill(const order_place_t *place, int id, unsigned char *data);
void order_model_poison(const order_place_t *place, unsigned char *data);

/* The smallest and largest size of the file that the access may see. */
void order_model_size(const order_model_t *model, const order_access_t *access, int64_t *least, int64_t *most);

/*
 * 1 if the read may have returned `got` bytes with this content. Otherwise 0, and what is wrong in one line of at most
 * `size` characters.
 */
int order_model_allows(const order_model_t *model, const order_access_t *read, const unsigned char *data, int64_t got,
                       char *text, size_t size);
