/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a call of 4 KiB takes, alone on a file: MPI_File_write_at and MPI_File_read_at, block after block of 16 MiB,
 * round after round. After each round every byte is compared; that, and the first round, do not count. For each
 * direction a JSON object is printed, in ns: median and 99th percentile of the calls, median of the same calls with no
 * bytes (which end inside ROMIO, before the driver), and median of two readings of the clock with nothing in between;
 * all contain the latter. With memory:FILE there is memcpy to and from a shared mapping in place of MPI-IO (compare.h).
 *
 *   mpirun -n 1 ./latency FILE CALLS */
#define _GNU_SOURCE
#include "compare.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 4096, BLOCKS = 4096 };
#define BYTES ((size_t)BLOCK * BLOCKS)

typedef struct {
    MPI_File file;
    char *shared; /* in place of the file; else NULL */
    char *data;   /* BYTES */
    int64_t *ns;  /* of the calls that count */
    size_t calls;
} latency_t;

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* One call: `bytes` bytes of a block. */
static void move_block(const latency_t *latency, bool write, size_t index, int bytes)
{
    char *data = latency->data + index * BLOCK;
    MPI_Offset offset = (MPI_Offset)(index * BLOCK);

    if (latency->shared != NULL)
        memcpy(write ? latency->shared + offset : data, write ? data : latency->shared + offset, (size_t)bytes);
    else if (write)
        bench_need(MPI_File_write_at(latency->file, offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    else
        bench_need(MPI_File_read_at(latency->file, offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "read");
}

static void round_time(latency_t *latency, bool write, int bytes, int64_t *ns)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        int64_t start = now_ns();

        move_block(latency, write, i, bytes);
        ns[i] = now_ns() - start;
    }
}

static void data_fill(const latency_t *latency, size_t round)
{
    uint64_t *word = (uint64_t *)latency->data;

    for (size_t i = 0; i < BYTES / sizeof(*word); i++)
        word[i] = (i + 1 + (round << 32)) * 0x9e3779b97f4a7c15u;
}

static void data_verify(const latency_t *latency, size_t round)
{
    const uint64_t *word = (const uint64_t *)latency->data;

    for (size_t i = 0; i < BYTES / sizeof(*word); i++)
        if (word[i] != (i + 1 + (round << 32)) * 0x9e3779b97f4a7c15u)
            bench_need(MPI_ERR_OTHER, "wrong data");
}

/* A write round is followed by a read that does not count, for its check. */
static void rounds_time(latency_t *latency, bool write, int bytes)
{
    for (size_t round = 0; round <= latency->calls / BLOCKS; round++) {
        int64_t *ns = latency->ns + (round > 0 ? (round - 1) * BLOCKS : 0), unused[BLOCKS];

        data_fill(latency, round);
        round_time(latency, true, BLOCK, write && bytes > 0 ? ns : unused);
        memset(latency->data, 0xa5, BYTES);
        round_time(latency, false, BLOCK, !write && bytes > 0 ? ns : unused);
        data_verify(latency, round);
        if (bytes == 0)
            round_time(latency, write, 0, ns);
    }
    qsort(latency->ns, latency->calls, sizeof(*latency->ns), compare_ns);
}

static int64_t clock_time(latency_t *latency)
{
    for (size_t i = 0; i < latency->calls; i++) {
        int64_t start = now_ns();

        latency->ns[i] = now_ns() - start;
    }
    qsort(latency->ns, latency->calls, sizeof(*latency->ns), compare_ns);
    return latency->ns[latency->calls / 2];
}

static void report(latency_t *latency, bool write)
{
    int64_t median, late, none;

    rounds_time(latency, write, BLOCK);
    median = latency->ns[latency->calls / 2];
    late = latency->ns[latency->calls * 99 / 100];
    rounds_time(latency, write, 0);
    none = latency->ns[latency->calls / 2];
    printf("{\"direction\": \"%s\", \"median_ns\": %lld, \"p99_ns\": %lld, \"empty_ns\": %lld, \"clock_ns\": %lld}\n",
           write ? "write" : "read", (long long)median, (long long)late, (long long)none,
           (long long)clock_time(latency));
}

static void latency_open(latency_t *latency, const char *file)
{
    const char prefix[] = "memory:";
    bool huge;

    if (strncmp(file, prefix, strlen(prefix)) != 0) {
        bench_need(MPI_File_open(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                 MPI_INFO_NULL, &latency->file),
                   file);
        return;
    }
    latency->shared = bench_memory_map(file + strlen(prefix), BYTES, &huge);
    if (latency->shared == NULL) {
        perror(file);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    latency_t latency = {0};

    MPI_Init(&argc, &argv);
    if (argc != 3 || atoi(argv[2]) < BLOCKS) {
        fprintf(stderr, "usage: %s FILE CALLS(%d or more)\n", argv[0], BLOCKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    latency.calls = (size_t)atoi(argv[2]) / BLOCKS * BLOCKS;
    latency.data = malloc(BYTES);
    latency.ns = malloc(latency.calls * sizeof(*latency.ns));
    if (latency.data == NULL || latency.ns == NULL)
        bench_need(MPI_ERR_NO_MEM, "malloc");
    latency_open(&latency, argv[1]);
    report(&latency, true);
    report(&latency, false);
    if (latency.shared == NULL)
        bench_need(MPI_File_close(&latency.file), "MPI_File_close");
    free(latency.data);
    free(latency.ns);
    MPI_Finalize();
    return 0;
}
