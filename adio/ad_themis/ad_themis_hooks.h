/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between the driver and the glue (adio/glue), which intercepts calls in front of libmpich; neither
 * includes any other header of the other. A driver that is grafted into MPICH has no glue: doc/building.md says what is
 * missing there.
 */
#pragma once
#include "ad_themis.h"

/* --- functions of the driver that the glue calls --- */

/* 1: a null pointer, or a small number, where data should be (with a type of absolute addresses it may be). */
int ADIOI_THEMIS_Hook_buffer_bad(const void *buf, MPI_Count count, MPI_Datatype datatype);

/* Before a collective call, and after one that failed, with what the former returned: whether the call reached the
 * driver, and so the other ranks. The former clears what shared_failed says. */
unsigned ADIOI_THEMIS_Hook_collective_begin(ADIO_File fd);
int ADIOI_THEMIS_Hook_collective_reached(ADIO_File fd, unsigned begun);
/* 1: the last access to the shared file pointer failed. */
int ADIOI_THEMIS_Hook_shared_failed(ADIO_File fd);

/* The shared file pointer, in etypes: adds `increment` to the counter of the hidden file fd->shared_fp_fd, which is
 * open, and returns its previous value in *before; or sets it. */
void ADIOI_THEMIS_Hook_shared_add(ADIO_File fd, ADIO_Offset increment, ADIO_Offset *before, int *error_code);
void ADIOI_THEMIS_Hook_shared_set(ADIO_File fd, ADIO_Offset value, int *error_code);

/* The hints of this thread's next delete, for which ROMIO's table has no argument; MPI_INFO_NULL: none. Borrowed until
 * then. */
void ADIOI_THEMIS_Hook_set_delete_hints(MPI_Info info);
MPI_Info ADIOI_THEMIS_Hook_delete_hints(void);

/* --- functions of the glue that the driver calls --- */

/* ROMIO's lock, released while a call waits for a server. `release` returns 1 if this thread held it, which is the
 * argument of `acquire`. In a grafted MPICH both do nothing. */
#ifdef AD_THEMIS_GRAFTED
static inline int themis_glue_lock_release(void)
{
    return 0;
}

static inline void themis_glue_lock_acquire(int held)
{
}
#else
int themis_glue_lock_release(void);
void themis_glue_lock_acquire(int held);
#endif

/* status = call, with ROMIO's lock released. */
#define AD_THEMIS_UNLOCKED(status, call)                                                                               \
    do {                                                                                                               \
        int held_ = themis_glue_lock_release();                                                                        \
        (status) = (call);                                                                                             \
        themis_glue_lock_acquire(held_);                                                                               \
    } while (0)
