/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective path of an open file: coll/ with the servers behind it and the hints in front. */
#ifndef AD_THEMIS_COLL_H
#define AD_THEMIS_COLL_H
#include "ad_themis.h"
#include "collective/coll.h"
#include "themis/cache.h"
#include "util/memory.h"

typedef struct ADIOI_THEMIS_Coll {
    themis_collective_t *coll;
    themis_collective_config_t config;
    themis_collective_sink_t sink;
    themis_file_t *handle;
    themis_cache_t *cache;               /* made at the first small call of a row; owned */
    ADIOI_THEMIS_Flat buffer;            /* the datatype of the last call */
    themis_util_runs_t file, memory;     /* of the blocking call */
    themis_util_memory_seen_t seen;      /* of the callers' buffers */
    themis_collective_mode_t shown_mode; /* what MPI_File_get_info says */
    uint64_t shown_plans;
    int told_count;               /* 1: that another number of aggregators is used than the hint asked for */
    themis_status_t failed;       /* of this rank's own I/O in the present call */
    char failure[AD_THEMIS_TEXT]; /* and its text */
} ADIOI_THEMIS_Coll;

/* The collective path of a file, made when it is missing; collective then. NULL: out of memory, on all ranks. */
ADIOI_THEMIS_Coll *ADIOI_THEMIS_Coll_get(ADIO_File fd);

/* What this rank accesses. INVALID: bytes in a view without data. */
themis_status_t ADIOI_THEMIS_Coll_describe(ADIO_File fd, ADIOI_THEMIS_Coll *coll, AD_THEMIS_COUNT count,
                                           MPI_Datatype datatype, uint64_t position, themis_util_runs_t *file,
                                           themis_util_runs_t *memory);
/* Keeps the text of a failure of this rank's own for that code; returns `status`. */
themis_status_t ADIOI_THEMIS_Coll_note(ADIOI_THEMIS_Coll *coll, themis_status_t status);
/* The MPI error code of a call's result. */
int ADIOI_THEMIS_Coll_code(ADIO_File fd, ADIOI_THEMIS_Coll *coll, const char *function, themis_status_t status);
/* Tells MPI_File_get_info what the last call did. */
void ADIOI_THEMIS_Coll_show(ADIO_File fd, ADIOI_THEMIS_Coll *coll);
#endif
