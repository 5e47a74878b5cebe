/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that computes and writes a checkpoint, again and again: the I/O of most simulations. It does not compute,
 * but sleeps until the next checkpoint is due; all ranks write their part of one file, collectively.
 *
 *   mpirun -n 4 ./checkpoint 10 2.5 8 themis:/checkpoint     10 checkpoints, 2.5 s apart, 8 MiB from each rank */
#include "example.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static void wait_until(double time)
{
    double left = time - MPI_Wtime();

    if (left > 0)
        usleep((useconds_t)(left * 1e6));
}

static void checkpoint_write(const char *file, const char *part, int bytes)
{
    MPI_File handle;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    example_check(MPI_File_open(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &handle),
                  "MPI_File_open");
    example_check(MPI_File_write_at_all(handle, (MPI_Offset)rank * bytes, part, bytes, MPI_BYTE, MPI_STATUS_IGNORE),
                  "MPI_File_write_at_all");
    example_check(MPI_File_close(&handle), "MPI_File_close");
}

int main(int argc, char **argv)
{
    int count = argc == 5 ? atoi(argv[1]) : 0, bytes = argc == 5 ? atoi(argv[3]) * MIB : 0;
    double period = argc == 5 ? atof(argv[2]) : 0, start, first = 0, last = 0;
    char *part;
    int rank;

    MPI_Init(&argc, &argv);
    part = malloc((size_t)bytes + 1);
    if (count < 1 || period <= 0 || bytes < 1 || part == NULL) {
        fprintf(stderr, "usage: %s CHECKPOINTS SECONDS MIB_OF_A_RANK FILE\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < count; i++) {
        wait_until(start + (i + 0.5) * period);
        last = MPI_Wtime() - start;
        first = i == 0 ? last : first;
        memset(part, i + 1, (size_t)bytes);
        checkpoint_write(argv[4], part, bytes);
    }
    wait_until(start + count * period);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%d checkpoints of %d MiB from each rank, one every %.4f s\n", count, bytes / MIB,
               count > 1 ? (last - first) / (count - 1) : period);
    free(part);
    MPI_Finalize();
    return 0;
}
