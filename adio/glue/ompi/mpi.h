/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI's mpi.h as ROMIO and the driver expect MPICH's to be; it comes first on their include path. A file's handle
 * is ROMIO's object in here; the program has another (handle.c). Extended generalized requests are those of grequest.c.
 */
#pragma once
#define ompi_file_t ADIOI_FileD
#include_next <mpi.h>
#undef MPI_FILE_NULL
#define MPI_FILE_NULL ((MPI_File)0)
#define MPI_FILE_DEFINED 1
#define MPIR_ERRORS_THROW_EXCEPTIONS MPI_ERRORS_RETURN /* Open MPI has none like it */
#define MPICH_ATTR_POINTER_WITH_TYPE_TAG(buffer, type)
#define MPICH 1 /* ROMIO asks for MPIR_Datatype_iscontig then */
#define MPIIMPL_HAVE_MPI_COMBINER_DARRAY 1
#define MPIIMPL_HAVE_MPI_COMBINER_DUP 1
#define MPIIMPL_HAVE_MPI_COMBINER_SUBARRAY 1

/* ROMIO knows what MPI 3 has removed; no datatype has it here. */
#undef MPI_COMBINER_HVECTOR_INTEGER
#undef MPI_COMBINER_HINDEXED_INTEGER
#undef MPI_COMBINER_STRUCT_INTEGER
#undef MPI_LB
#undef MPI_UB
#define MPI_COMBINER_HVECTOR_INTEGER (-1)
#define MPI_COMBINER_HINDEXED_INTEGER (-2)
#define MPI_COMBINER_STRUCT_INTEGER (-3)
#define MPI_LB MPI_DATATYPE_NULL
#define MPI_UB MPI_DATATYPE_NULL

/* All requests are polled in all MPI calls: a poll that sleeps would delay calls that do not wait for its request. */
#define AD_THEMIS_POLLS_ARE_SHARED 1

typedef int MPIX_Grequest_class;
typedef int(MPIX_Grequest_poll_function)(void *, MPI_Status *);
typedef int(MPIX_Grequest_wait_function)(int, void **, double, MPI_Status *);

int PMPIX_Grequest_class_create(MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
                                MPI_Grequest_cancel_function *cancel, MPIX_Grequest_poll_function *poll,
                                MPIX_Grequest_wait_function *wait, MPIX_Grequest_class *made);
int PMPIX_Grequest_class_allocate(MPIX_Grequest_class number, void *state, MPI_Request *request);
#define MPIX_Grequest_class_create PMPIX_Grequest_class_create
#define MPIX_Grequest_class_allocate PMPIX_Grequest_class_allocate

/* For all generalized requests, also those that are not polled. */
int themis_glue_grequest_complete(MPI_Request request);
#define PMPI_Grequest_complete themis_glue_grequest_complete
