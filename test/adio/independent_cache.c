/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hint themis_cache=on for small independent accesses: writes become visible when MPI guarantees it; and the cache
 * is in use, since a write without a sync has not reached the servers.
 *
 *   mpirun -n N ./independent_cache FILE
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, BLOCKS = 300 };

static int rank, ranks, wrong;

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    wrong = 1;
}

/* Block `index` of the file, which rank `owner` wrote in round `round`. */
static void fill(unsigned char *block, int owner, int index, int round)
{
    for (int i = 0; i < BLOCK; i++)
        block[i] = (unsigned char)(7 * owner + 3 * index + i + 31 * round + 1);
}

static MPI_Offset place(int owner, int index)
{
    return ((MPI_Offset)index * ranks + owner) * BLOCK;
}

static void write_mine(MPI_File file, int round)
{
    unsigned char block[BLOCK];

    for (int i = 0; i < BLOCKS; i++) {
        fill(block, rank, i, round);
        check(MPI_File_write_at(file, place(rank, i), block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
              "a write fails");
    }
}

static void read_of(MPI_File file, int owner, int round, int collective, const char *what)
{
    unsigned char block[BLOCK], expected[BLOCK];
    MPI_Status status;
    int got, good = 1;

    for (int i = 0; i < BLOCKS; i++) {
        memset(block, 0, BLOCK);
        fill(expected, owner, i, round);
        if (collective)
            MPI_File_read_at_all(file, place(owner, i), block, BLOCK, MPI_BYTE, &status);
        else
            MPI_File_read_at(file, place(owner, i), block, BLOCK, MPI_BYTE, &status);
        MPI_Get_count(&status, MPI_BYTE, &got);
        good &= got == BLOCK && memcmp(block, expected, BLOCK) == 0;
    }
    check(good, what);
}

static void sync_all(MPI_File file)
{
    check(MPI_File_sync(file) == MPI_SUCCESS, "a sync fails");
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_sync(file) == MPI_SUCCESS, "a sync fails");
}

static void ask_size(MPI_File file)
{
    unsigned char byte = 1;
    MPI_Offset size, end = 10000000;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_File_write_at(file, end, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_get_size(file, &size);
        check(size == end + 1, "the size leaves out what was written");
    }
    sync_all(file);
    MPI_File_set_size(file, place(0, BLOCKS));
}

/* Atomic mode turns the cache off, and earlier writes are visible immediately. */
static void go_atomic(MPI_File file)
{
    write_mine(file, 3);
    MPI_File_set_atomicity(file, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    read_of(file, (rank + 1) % ranks, 3, 0, "atomic mode began without what was written before");
    MPI_Barrier(MPI_COMM_WORLD);
    write_mine(file, 4);
    MPI_Barrier(MPI_COMM_WORLD);
    read_of(file, (rank + 1) % ranks, 4, 0, "in atomic mode a write is not seen");
    MPI_File_set_atomicity(file, 0);
}

static void is_held_back(MPI_File file)
{
    unsigned char byte = 0;

    sync_all(file);
    if (rank == 0)
        MPI_File_write_at(file, 0, "!", 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1) {
        MPI_File_read_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
        check(ranks == 1 || byte != '!', "nothing was held back: the hint is without effect");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sync_all(file);
    MPI_File_read_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    check(byte == '!', "a sync brought nothing");
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int count, char **words)
{
    MPI_Info info;
    MPI_File file;
    int any;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Info_create(&info);
    MPI_Info_set(info, "themis_cache", "on");
    check(MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS,
          "the file cannot be opened");
    int next = (rank + 1) % ranks;
    write_mine(file, 0);
    read_of(file, rank, 0, 0, "a rank does not see what it wrote");
    sync_all(file);
    read_of(file, next, 0, 0, "a rank does not see what another wrote before a sync");
    MPI_Barrier(MPI_COMM_WORLD);
    write_mine(file, 1);
    read_of(file, rank, 1, 1, "a collective read does not see what its rank wrote");
    sync_all(file);
    read_of(file, next, 1, 1, "a collective read does not see what another rank wrote before a sync");
    MPI_Barrier(MPI_COMM_WORLD);
    ask_size(file);
    is_held_back(file);
    go_atomic(file);
    MPI_Barrier(MPI_COMM_WORLD);
    write_mine(file, 5);
    check(MPI_File_close(&file) == MPI_SUCCESS, "the file cannot be closed");
    MPI_File_open(MPI_COMM_WORLD, words[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    read_of(file, next, 5, 0, "a close did not bring what was written");
    MPI_File_close(&file);
    MPI_Info_free(&info);
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return any;
}
