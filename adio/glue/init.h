/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and end of the glue in a process. */
#pragma once
#include <mpi.h>

/* A communicator of this rank alone, with MPI_ERRORS_RETURN, for MPI calls that may fail; made by the first call, which
 * may release ROMIO's lock meanwhile. Lives until MPI_Finalize. MPI_COMM_NULL: could not be made. */
MPI_Comm themis_glue_init_self(void);
