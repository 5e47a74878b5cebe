/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handles of files in programs of Open MPI. There a handle is an object of Open MPI's, which keeps the error
 * handler and the Fortran number; so each file of ROMIO's gets one of its own, that of an open /dev/null. The library
 * in front (adio/entry) passes calls with such a handle to ROMIO, with ROMIO's file in its place, and all others to
 * Open MPI.
 */
#pragma once
#include "adio.h"

/*
 * The program's handle of a file, for a call of its error handler. A file that has none gets one for that long, with
 * the handler of MPI_FILE_NULL, which Open MPI refuses to call for MPI_FILE_NULL itself; NULL: it cannot. *borrowed is
 * what has to be returned afterwards.
 */
MPI_File themis_glue_handle_borrow(ADIO_File file, MPI_File *borrowed);
void themis_glue_handle_return(MPI_File borrowed);

/* --- exported, for adio/entry --- */

/* As MPI_File_open and MPI_File_close, with the program's handle. */
int themis_glue_handle_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *handle);
int themis_glue_handle_close(MPI_File *handle);

/* ROMIO's file; NULL: the file is not ROMIO's. Thread-safe. */
ADIO_File themis_glue_handle_file(const void *handle);
