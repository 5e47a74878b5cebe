/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An independent access as lists for the client library: the view's data and the buffer's, each a flattened datatype,
 * are expanded side by side, batch by batch, which bounds the memory for the lists.
 */
#pragma once
#include "ad_themis_access.h"
#include "ad_themis_flat.h"

/* Must not be copied. */
typedef struct ADIOI_THEMIS_List {
    const themis_util_flat_type_t *view, *memory; /* borrowed from the open file; `buffer`, or contiguous bytes */
    ADIOI_THEMIS_Flat buffer;
    uint64_t origin, position; /* of the view: its displacement; the next byte of its data */
    uint64_t base, moved;      /* the address of the buffer; bytes of it that batches have taken */
    uint64_t left;             /* bytes that no batch has taken yet */
    uint64_t batch;            /* bytes of the current batch */
    themis_util_runs_t runs, pieces;
    struct iovec *iov; /* the pieces one by one */
    size_t iov_count, iov_capacity;
} ADIOI_THEMIS_List;

/* Prepares the lists of an access, without reading or writing anything. 0, or -1: out of memory. To be ended in any
 * case. */
int ADIOI_THEMIS_List_begin(const ADIOI_THEMIS_Access *access, ADIOI_THEMIS_List *list);
/* The next batch; 0 bytes in list->batch at the end. 0, or -1: out of memory. */
int ADIOI_THEMIS_List_next(ADIOI_THEMIS_List *list);
/* The current batch; borrowed until the next one. */
themis_list_t ADIOI_THEMIS_List_batch(const ADIOI_THEMIS_List *list);
/* The offset of the byte after the whole access, to which the individual file pointer moves. */
ADIO_Offset ADIOI_THEMIS_List_target(const ADIOI_THEMIS_List *list);
/* The range [*first, *end) of the file in which all bytes lie that no batch has taken yet; there is one at least. */
void ADIOI_THEMIS_List_range(const ADIOI_THEMIS_List *list, uint64_t *first, uint64_t *end);
void ADIOI_THEMIS_List_end(ADIOI_THEMIS_List *list);
