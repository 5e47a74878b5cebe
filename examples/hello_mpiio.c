/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest MPI-IO program: every rank writes one line into a shared file, and reads its neighbour's.
 *
 *   mpicc -o hello_mpiio hello_mpiio.c
 *   themis run -s 2 -- mpirun -n 4 ./hello_mpiio themis:/hello */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define LINE 32

static int failed(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (rc == MPI_SUCCESS)
        return 0;
    MPI_Error_string(rc, text, &length);
    fprintf(stderr, "%s: %s\n", what, text);
    return 1;
}

static int hello(const char *name)
{
    char line[LINE + 1], got[LINE + 1] = "", want[LINE + 1];
    int rank, ranks, next, bad = 0;
    MPI_File file;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next = (rank + 1) % ranks;
    if (failed(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), name))
        return 1;
    snprintf(line, sizeof(line), "hello from rank %-*d\n", LINE - 17, rank);
    snprintf(want, sizeof(want), "hello from rank %-*d\n", LINE - 17, next);
    bad +=
        failed(MPI_File_write_at_all(file, (MPI_Offset)rank * LINE, line, LINE, MPI_CHAR, MPI_STATUS_IGNORE), "write");
    bad += failed(MPI_File_sync(file), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    bad += failed(MPI_File_sync(file), "sync");
    bad += failed(MPI_File_read_at_all(file, (MPI_Offset)next * LINE, got, LINE, MPI_CHAR, MPI_STATUS_IGNORE), "read");
    bad += failed(MPI_File_close(&file), "close");
    if (strncmp(got, want, LINE) != 0) {
        fprintf(stderr, "rank %d read: %s\n", rank, got);
        bad++;
    }
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && bad == 0)
        printf("%d ranks wrote to %s and read each other's line\n", ranks, name);
    return bad != 0;
}

int main(int argc, char **argv)
{
    int bad = 1;

    MPI_Init(&argc, &argv);
    if (argc == 2)
        bad = hello(argv[1]);
    else
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
    MPI_Finalize();
    return bad;
}
