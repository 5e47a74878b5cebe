/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into ranks, stands for an MPI-IO profiler such as Darshan: counts the calls of MPI_File_open that it sees,
 * passes them on to the next library, and tells at the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int opened;

__attribute__((visibility("default"))) int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info,
                                                         MPI_File *file)
{
    int (*next)(MPI_Comm, const char *, int, MPI_Info, MPI_File *);

    *(void **)&next = dlsym(RTLD_NEXT, "MPI_File_open");
    opened++;
    return next(comm, name, mode, info, file);
}

__attribute__((destructor)) static void profiler_end(void)
{
    if (opened > 0)
        fprintf(stderr, "profiler: %d opened\n", opened);
}
