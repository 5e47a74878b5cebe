/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many files at a time on many communicators, one communicator after the other: neither context ids nor shared memory
 * run out.
 *
 *   mpirun -n N ./many_files FILE [FILES-AT-A-TIME [COMMUNICATORS]]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_FILES = 1000 };

static int rank, ranks;

/* Communicator number `index`: the ranks in another order, so that few are alike. */
static MPI_Comm comm_create(int index)
{
    MPI_Comm comm;
    int order = rank;

    for (int left = ranks, rest = index; left > 1; rest /= left--) { /* permutation number `index` */
        int chosen = rest % left;
        if (order == chosen) {
            order = left - 1;
            break;
        }
        order -= order > chosen;
    }
    if (index % 5 == 4) /* all but the last rank, and that one alone */
        MPI_Comm_split(MPI_COMM_WORLD, rank == ranks - 1, order, &comm);
    else
        MPI_Comm_split(MPI_COMM_WORLD, 0, order, &comm);
    return comm;
}

/* Each rank writes its number into each file, and reads that of its neighbour. */
static int file_is_right(MPI_File file, MPI_Comm comm)
{
    int own, size, seen = -1;

    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &size);
    MPI_File_write_at_all(file, (MPI_Offset)own * (MPI_Offset)sizeof own, &own, 1, MPI_INT, MPI_STATUS_IGNORE);
    int next = (own + 1) % size;
    MPI_File_read_at_all(file, (MPI_Offset)next * (MPI_Offset)sizeof own, &seen, 1, MPI_INT, MPI_STATUS_IGNORE);
    return seen == next;
}

/* Opens that many files on the communicator, uses and closes them; how many were wrong. */
static int files_use(MPI_Comm comm, const char *name, int count)
{
    static MPI_File file[MAX_FILES];
    int wrong = 0, size, leader, opened = 0;
    char path[4096];

    MPI_Comm_size(comm, &size);
    leader = rank;
    MPI_Bcast(&leader, 1, MPI_INT, 0, comm);
    for (; opened < count; opened++) {
        snprintf(path, sizeof path, "%s.%d.%d.%d", name, size, leader, opened % 4);
        if (MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file[opened]) != MPI_SUCCESS)
            break;
    }
    if (opened < count)
        fprintf(stderr, "rank %d: file %d of %d cannot be opened\n", rank, opened + 1, count);
    for (int i = 0; i < opened; i++) {
        wrong += !file_is_right(file[i], comm);
        MPI_File_close(&file[i]);
    }
    return wrong + (opened < count);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int count = argc > 2 ? atoi(argv[2]) : 60, comms = argc > 3 ? atoi(argv[3]) : 50, wrong = 0, any = 0;
    if (argc < 2 || count < 1 || count > MAX_FILES) {
        MPI_Finalize();
        return 2;
    }
    for (int i = 0; i < comms && !any; i++) {
        MPI_Comm comm = comm_create(i);
        wrong += files_use(comm, argv[1], count);
        MPI_Comm_free(&comm);
        MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d files at a time on %d communicators, %d wrong\n", count, comms, any);
    MPI_Finalize();
    return any != 0;
}
