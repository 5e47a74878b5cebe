/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors, and the memory that ranks share for the floor of a comparison. */
#define _GNU_SOURCE
#include "compare.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { HUGE_PAGE = 2 << 20 };

void bench_need(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &length);
    fprintf(stderr, "%s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Mapped at a multiple of a huge page, so that the page tables can use them. */
static char *map_aligned(int fd, size_t bytes)
{
    char *space = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *at;

    if (space == MAP_FAILED)
        return NULL;
    at = space + (HUGE_PAGE - (uintptr_t)space % HUGE_PAGE) % HUGE_PAGE;
    at = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

char *bench_memory_map(const char *name, size_t bytes, bool *huge)
{
    char *at = NULL;
    int rank, fd;

    bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0)
        MPI_Barrier(MPI_COMM_WORLD);
    fd = open(name, O_RDWR | (rank == 0 ? O_CREAT : 0) | O_CLOEXEC, 0600);
    if (fd >= 0 && (rank > 0 || ftruncate(fd, (off_t)bytes) == 0))
        at = map_aligned(fd, bytes);
    if (at != NULL && madvise(at, bytes, MADV_POPULATE_WRITE) != 0)
        at = NULL;
    *huge = at != NULL && madvise(at, bytes, MADV_COLLAPSE) == 0;
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (fd >= 0)
        close(fd);
    if (rank == 0)
        unlink(name);
    return at;
}
