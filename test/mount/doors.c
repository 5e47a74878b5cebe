/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doors MPI-NAME PATH: one file by MPI-IO and below a mount, both open all the time. What one has written and returned
 * from, the other reads next, on another rank.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 100000, ROUNDS = 60 };

static char written[BYTES], seen[BYTES];
static int rank, ranks, wrong;

static void expect(int round, const char *door)
{
    if (memcmp(written, seen, BYTES) == 0)
        return;
    fprintf(stderr, "rank %d, round %d: %s sees other bytes\n", rank, round, door);
    wrong = 1;
}

/* Every rank writes its part, and reads that of its neighbour. */
static void round_run(MPI_File file, int fd, int round, int by_mpi)
{
    const off_t own = (off_t)rank * BYTES, other = (off_t)((rank + 1) % ranks) * BYTES;
    struct stat stats;

    memset(written, round * 7 + rank, BYTES);
    if (by_mpi)
        MPI_File_write_at(file, own, written, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (pwrite(fd, written, BYTES, own) != BYTES)
        wrong = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    memset(written, round * 7 + (rank + 1) % ranks, BYTES);
    memset(seen, 0, BYTES);
    if (by_mpi && pread(fd, seen, BYTES, other) != BYTES)
        wrong = 1;
    else if (!by_mpi)
        MPI_File_read_at(file, other, seen, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    expect(round, by_mpi ? "the mount" : "MPI-IO");
    if (fstat(fd, &stats) != 0 || stats.st_size != (off_t)ranks * BYTES)
        wrong = 1;
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_File file;
    int any;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file))
        MPI_Abort(MPI_COMM_WORLD, 2);
    const int fd = open(argv[2], O_RDWR);
    if (fd < 0) {
        perror(argv[2]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int round = 0; round < ROUNDS; round++)
        round_run(file, fd, round, round % 2 == 0);
    close(fd);
    MPI_File_close(&file);
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return any;
}
