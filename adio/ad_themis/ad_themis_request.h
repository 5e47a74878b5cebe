/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls behind an MPI request: an extended generalized request, driven by MPI_Test and MPI_Wait. */
#pragma once
#include "ad_themis_access.h"

/* The first member of the state of a non-blocking call. */
typedef struct ADIOI_THEMIS_Request {
    MPI_Request mpi;
    uint64_t done;       /* bytes moved */
    int code;            /* MPI error code of the whole */
    uint64_t polled;     /* ns; the last time that MPI polled */
    unsigned poll_count; /* polls in quick succession */
} ADIOI_THEMIS_Request;

/* How a kind of call makes progress; each kind has one such object, static, with the functions set. */
typedef struct ADIOI_THEMIS_Request_class {
    MPIX_Grequest_poll_function *poll;
    MPIX_Grequest_wait_function *wait;
    MPI_Grequest_free_function *free; /* of the state, when MPI needs it no more */
    MPIX_Grequest_class class;        /* one for each process; made at the first call */
    int made;
} ADIOI_THEMIS_Request_class;

/* Makes the MPI request; MPI owns the state from here on. */
void ADIOI_THEMIS_Request_start(ADIOI_THEMIS_Request_class *class, ADIOI_THEMIS_Request *state, MPI_Request *request);

/* 1: MPI polls in quick succession, that is, the program waits, and a poll may sleep for some microseconds. Programs
 * that compute between two tests are not delayed. */
int ADIOI_THEMIS_Request_is_waited_for(ADIOI_THEMIS_Request *state);

/* For atomic mode, which holds a lock: does the whole access before it returns; the request is complete then. An MPI
 * error code. */
int ADIOI_THEMIS_Request_run(const ADIOI_THEMIS_Access *access,
                             int (*run)(const ADIOI_THEMIS_Access *access, ADIO_Status *result), MPI_Request *request);
