/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective path of an open file: connects collective/ with the file's hints and servers. */
#pragma once
#include "ad_themis_error.h"
#include "ad_themis_flat.h"
#include "collective/collective.h"
#include "util/memory.h"

typedef struct ADIOI_THEMIS_Coll {
    ADIO_File fd; /* borrowed */
    themis_collective_t *coll;
    themis_collective_options_t config;
    themis_collective_file_ops_t file_ops;
    themis_file_t *handle;
    ADIOI_THEMIS_Flat buffer;            /* the datatype of the last call */
    themis_util_runs_t file, memory;     /* of the blocking call */
    themis_util_memory_seen_t seen;      /* in the callers' buffers */
    themis_collective_mode_t shown_mode; /* what MPI_File_get_info says */
    uint64_t shown_plans;
    int warned_of_count;          /* 1: that another number of aggregators is used than the hint asked for */
    themis_status_t failed;       /* of this rank's own I/O in the present call */
    char failure[AD_THEMIS_TEXT]; /* and its text */
} ADIOI_THEMIS_Coll;

/* Collective: makes the collective path when the file is opened, so that later calls need not. All ranks get the same
 * code. */
int ADIOI_THEMIS_Coll_open(ADIO_File fd);
/* The collective path of a file; collective if it has to be made. NULL: out of memory, on all ranks. */
ADIOI_THEMIS_Coll *ADIOI_THEMIS_Coll_get(ADIO_File fd);
/* Collective: frees the collective path. */
void ADIOI_THEMIS_Coll_close(ADIO_File fd);

/* Collective: what the caches of all ranks hold back goes to the servers; an MPI error code, of the first failure. */
int ADIOI_THEMIS_Coll_sync(ADIO_File fd);

/* Keeps the status and the text of a failure of this rank's own for the code; returns `status`. */
themis_status_t ADIOI_THEMIS_Coll_note(ADIOI_THEMIS_Coll *coll, themis_status_t status);
/* The MPI error code of a call's result. */
int ADIOI_THEMIS_Coll_code(ADIOI_THEMIS_Coll *coll, const char *function, themis_status_t status);
