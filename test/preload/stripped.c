/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stripped NAME: uses a file as libraries do that cut "themis:" off and look at the file by POSIX calls before, between
 * and after MPI-IO. NAME is "/themis/f" or "themis:/themis/f"; by whatever door, it is one file.
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 10000 };

static int rank, ranks, wrong;
static const char *name, *plain;
static char bytes[BYTES], seen[BYTES];

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "rank %d: %s:%d: %s: %s\n", rank, __FILE__, __LINE__, #condition, strerror(errno));        \
            wrong = 1;                                                                                                 \
        }                                                                                                              \
    } while (0)

static off_t place_of(int number)
{
    return (off_t)number * BYTES;
}

static void write_by_mpi(int value)
{
    MPI_File file;

    memset(bytes, value + rank, BYTES);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, place_of(rank), bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void read_by_posix(int value)
{
    const int other = (rank + 1) % ranks, fd = open(plain, O_RDONLY);
    struct stat stats;

    memset(bytes, value + other, BYTES);
    CHECK(fd >= 0 && pread(fd, seen, BYTES, place_of(other)) == BYTES && memcmp(seen, bytes, BYTES) == 0);
    CHECK(fstat(fd, &stats) == 0 && stats.st_size == place_of(ranks) && close(fd) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void write_by_posix(int value)
{
    const int fd = open(plain, O_RDWR | O_CREAT, 0644);

    memset(bytes, value + rank, BYTES);
    CHECK(fd >= 0 && pwrite(fd, bytes, BYTES, place_of(rank)) == BYTES && close(fd) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void read_by_mpi(int value)
{
    const int other = (rank + 1) % ranks;
    MPI_File file;

    memset(bytes, value + other, BYTES);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, place_of(other), seen, BYTES, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(memcmp(seen, bytes, BYTES) == 0 && MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void remove_by(int by_mpi)
{
    MPI_File file;

    if (rank == 0)
        CHECK(by_mpi ? MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS : unlink(plain) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(access(plain, F_OK) == -1 && errno == ENOENT);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int any;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    name = argv[1];
    plain = strncmp(name, "themis:", 7) == 0 ? name + 7 : name;
    for (int by_mpi = 0; by_mpi < 2; by_mpi++) {
        write_by_mpi(1);
        read_by_posix(1);
        write_by_posix(50);
        read_by_mpi(50);
        write_by_mpi(100);
        read_by_mpi(100);
        read_by_posix(100);
        remove_by(by_mpi);
        write_by_posix(7);
        read_by_mpi(7);
        remove_by(!by_mpi);
    }
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return any;
}
