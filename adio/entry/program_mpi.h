/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI library of this process, found by what is loaded. */
#pragma once
#include <stddef.h>

typedef enum themis_entry_abi {
    THEMIS_ENTRY_ABI_OTHER,
    THEMIS_ENTRY_ABI_MPICH,   /* with MPICH's way to make error codes, which the core uses */
    THEMIS_ENTRY_ABI_OPEN_MPI /* 4.0 and later have one ABI */
} themis_entry_abi_t;

typedef struct themis_entry_program_mpi {
    void *handle; /* of the library, for dlsym; never closed */
    themis_entry_abi_t abi;
} themis_entry_program_mpi_t;

/*
 * Returns 1 and fills *mpi, or 0 if no MPI library has been loaded so far; a later call may find one. Where several are
 * loaded it is the one that the program itself is linked with. A library whose ABI is known becomes visible to all
 * that is loaded later, so that the core uses it and not the one that it was linked with.
 */
int themis_entry_program_mpi_find(themis_entry_program_mpi_t *mpi);

/* What the library says of itself up to the first comma or line end ("Open MPI v4.1.4"), cut to `size` bytes. Not
 * thread-safe. */
void themis_entry_program_mpi_describe(const themis_entry_program_mpi_t *mpi, char *text, size_t size);
