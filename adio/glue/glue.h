/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of the glue call of each other.
 */
#ifndef THEMIS_ADIO_GLUE_H
#define THEMIS_ADIO_GLUE_H
#include <mpi.h>

/* Learns whether MPI_THREAD_MULTIPLE was granted; without it the lock is nothing. */
void themis_glue_lock_init(void);

/* A communicator of this rank alone, with MPI_ERRORS_RETURN, for questions to MPI that may fail; made by the first
 * call, which may give ROMIO's lock away meanwhile. Lives until MPI_Finalize. MPI_COMM_NULL: could not be made. */
MPI_Comm themis_glue_self(void);

/* Compares how libmpich and this ROMIO keep a file's error handler; warns once if they differ. */
void themis_glue_error_init(void);
#endif
