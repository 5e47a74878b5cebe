/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handles of files in programs of Open MPI. There a handle is an object of Open MPI's, which keeps the error handler
 * and the Fortran number; so each file of ROMIO's gets one of its own, that of an open /dev/null. The library in front
 * (adio/entry) passes calls with such a handle to ROMIO, with ROMIO's file in its place, and all others to Open MPI.
 */
#ifndef THEMIS_ADIO_GLUE_OMPI_HANDLE_H
#define THEMIS_ADIO_GLUE_OMPI_HANDLE_H
#include "adio.h"

/* The program's handle of a file, or for one that has none that of MPI_FILE_NULL. */
MPI_File themis_glue_handle_of(ADIO_File file);

/* --- exported, for adio/entry --- */

/* As MPI_File_open and MPI_File_close, with the program's handle. */
int themis_glue_handle_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *handle);
int themis_glue_handle_close(MPI_File *handle);

/* ROMIO's file; NULL: the file is not ROMIO's. Thread-safe. */
ADIO_File themis_glue_handle_file(const void *handle);
#endif
