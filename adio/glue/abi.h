/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between the ABIs of MPI libraries. adio/glue/mpich and adio/glue/ompi each define it, and
 * MPIR_Err_create_code_valist of mpir_ext.h. ROMIO, the driver and all else in adio/glue are compiled once for each.
 */
#pragma once
#include "adio.h"

/* When ROMIO starts in this process. */
void themis_glue_abi_init(void);

/* Before a file is opened: NULL, or a short text of MPICH's table that says why this process cannot have its handle. */
const char *themis_glue_abi_open_fault(void);

/* Does what the error handler of `file`, one of ROMIO's (or of MPI_FILE_NULL), says. Without ROMIO's lock. */
void themis_glue_abi_errhandler_call(MPI_File file, int code);
