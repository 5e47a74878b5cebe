/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's part of an open file (fd->fs_ptr); made by the first SetInfo, freed by Close. */
#pragma once
#include "ad_themis_flat.h"
#include "ad_themis_hint_check.h"

/* Of the bytes moved so far, those that were moved without messages. */
typedef enum ADIOI_THEMIS_Direct_used {
    AD_THEMIS_DIRECT_NONE,
    AD_THEMIS_DIRECT_SOME,
    AD_THEMIS_DIRECT_ALL
} ADIOI_THEMIS_Direct_used;

typedef struct ADIOI_THEMIS_File {
    themis_file_t *handle; /* owned; NULL while it is not open */
    themis_t *session;     /* borrowed from the table of sessions */
    char *name;            /* as the program gave it; owned; NULL while fd->filename is that */
    themis_layout_t layout;
    unsigned collective_calls;                /* that have reached the driver */
    int shared_failed;                        /* 1: the last access to the shared file pointer failed */
    int everywhere;                           /* 1: all ranks of fd->comm have it open, so Close may communicate */
    char *hint[AD_THEMIS_HINT_NUMBER];        /* owned; NULL: not given, or invalid */
    int striping_factor, start_iodevice;      /* requested for a new file; 0 and -1: none */
    int cb_nodes;                             /* given by the user; 0: not */
    ADIOI_THEMIS_Direct_used direct_used;     /* as it is shown */
    ADIOI_THEMIS_Flat view;                   /* the file type, unless that is contiguous */
    MPI_Datatype viewed;                      /* the file type whose form view_type is */
    const themis_util_flat_type_t *view_type; /* borrowed; NULL: not known since the view was set */
    struct ADIOI_THEMIS_Coll *coll;           /* the collective path; owned; NULL until it is needed */
    struct ADIOI_THEMIS_Cache *cache;         /* of independent accesses; owned; NULL: none yet */
} ADIOI_THEMIS_File;

static inline ADIOI_THEMIS_File *ADIOI_THEMIS_file(ADIO_File fd)
{
    return fd->fs_ptr;
}

/* The file as the program named it after "themis:", for messages. Borrowed. */
const char *ADIOI_THEMIS_File_name(ADIO_File fd);
/* The driver's part of the file, made if it has none; NULL: out of memory. */
ADIOI_THEMIS_File *ADIOI_THEMIS_File_make(ADIO_File fd);
/* Takes a file without one. The collective path and the cache must have been closed. */
void ADIOI_THEMIS_File_free(ADIO_File fd);
