/* SPDX-License-Identifier: BSD-3-Clause */
/* Noncontiguous accesses as lists for the client library. */
#ifndef AD_THEMIS_LIST_H
#define AD_THEMIS_LIST_H
#include "ad_themis.h"

/* Bytes in the order of a datatype's map, repeated: where the next ones are. Contiguous bytes have no `flat`. */
typedef struct ADIOI_THEMIS_Stream {
    const ADIOI_Flatlist_node *flat;
    int64_t base, extent; /* address or file offset of repetition 0; bytes from one to the next */
    int64_t repetition;
    MPI_Count block;
    uint64_t at, left; /* of the current block */
} ADIOI_THEMIS_Stream;

/* An access that is worked off in batches, each a list for the client library. */
typedef struct ADIOI_THEMIS_List {
    ADIOI_THEMIS_Stream memory, file;
    uint64_t left; /* bytes that no batch has taken yet */
    struct iovec *iov;
    themis_run_t *runs;
    size_t iov_count, run_count, iov_capacity, run_capacity;
    uint64_t batch; /* bytes of the current batch */
} ADIOI_THEMIS_List;

/* Prepares an access of `count` elements at `offset`: for ADIO_EXPLICIT_OFFSET in etypes of the view (bytes if the file
 * type is contiguous), else at the individual file pointer. 0, or -1: out of memory. To be ended in any case. */
int ADIOI_THEMIS_List_begin(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                            int file_ptr_type, ADIO_Offset offset, ADIOI_THEMIS_List *access);
/* The same for contiguous bytes at an absolute offset. */
int ADIOI_THEMIS_List_plain(const void *buf, uint64_t bytes, uint64_t offset, ADIOI_THEMIS_List *access);
/* The next batch; 0 bytes in access->batch at the end. 0, or -1: out of memory. */
int ADIOI_THEMIS_List_next(ADIOI_THEMIS_List *access);
/* The batch as the client library wants it; borrowed until the next batch. */
themis_list_t ADIOI_THEMIS_List_batch(const ADIOI_THEMIS_List *access);
/* Before any batch: the offset of the byte that follows the whole access, where the individual file pointer goes. */
ADIO_Offset ADIOI_THEMIS_List_target(const ADIOI_THEMIS_List *access);
/* Before any batch of an access that has bytes: the smallest range of the file in which all of them lie. */
void ADIOI_THEMIS_List_range(const ADIOI_THEMIS_List *access, uint64_t *first, uint64_t *behind);
void ADIOI_THEMIS_List_end(ADIOI_THEMIS_List *access);
#endif
