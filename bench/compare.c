/* SPDX-License-Identifier: BSD-3-Clause */
/* One case of the comparison of themis: with ufs:, in one MPI job: `repeats` times it writes a new file, reads it
 * through a new open, and compares every byte. For each pass rank 0 prints a JSON object: MiB/s of the slowest rank,
 * from after the open to after the close (a write that is not closed may still be on its way), and the CPU seconds of
 * all ranks and of the servers whose process ids are given, for each GiB. A plain MPI program that knows nothing of
 * Themis.
 *
 *   mpirun -n 2 ./compare CASE MIB REPEATS FILE [SERVER-PID...] */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#define MIB 1048576

typedef struct {
    const char *name;
    size_t block;    /* bytes that lie together in the file; 0: the 3-D array */
    bool collective; /* *_all calls */
    bool strided;    /* a view whose blocks alternate over ranks; otherwise explicit offsets */
    bool own_region; /* explicit offsets: each rank has a region of its own, otherwise blocks alternate over ranks */
    int calls;       /* strided: calls in a pass */
} bench_case_t;

static const bench_case_t cases[] = {
    {"contiguous_1mib_collective", MIB, true, false, true, 0},
    {"contiguous_1mib_independent", MIB, false, false, true, 0},
    {"interleaved_4kib_collective", 4096, true, false, false, 0},
    {"vector_64b_collective", 64, true, true, false, 4},
    {"vector_4kib_collective", 4096, true, true, false, 4},
    {"array_3d_collective", 0, true, true, false, 1},
    {"independent_4kib", 4096, false, false, true, 0},
};

typedef struct {
    const bench_case_t *what;
    const char *file;
    size_t bytes; /* of this rank in a pass */
    int rank, ranks;
    MPI_Datatype view;
    uint64_t *data;
    pid_t *servers;
    int n_servers;
} bench_t;

static void need(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &length);
    fprintf(stderr, "%s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double clock_seconds(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        need(MPI_ERR_OTHER, "reading CPU time");
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* CPU seconds of the servers so far, on rank 0; 0 elsewhere. */
static double server_seconds(const bench_t *bench)
{
    double sum = 0;
    clockid_t clock;

    for (int i = 0; bench->rank == 0 && i < bench->n_servers; i++) {
        if (clock_getcpuclockid(bench->servers[i], &clock) != 0)
            need(MPI_ERR_OTHER, "finding a server");
        sum += clock_seconds(clock);
    }
    return sum;
}

/* Blocks that alternate over ranks: one block of mine in each row of `ranks` blocks. */
static MPI_Datatype vector_view(const bench_t *bench)
{
    MPI_Aint row = (MPI_Aint)bench->what->block * bench->ranks;
    MPI_Datatype block, view;

    MPI_Type_contiguous((int)bench->what->block, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, row, &view);
    MPI_Type_free(&block);
    return view;
}

/* A cube of doubles, side^3, cut over a grid of ranks, the dimension that varies fastest in the file first: a block
 * lies in pieces however few ranks there are. Sets bytes to what this rank has of it. */
static MPI_Datatype array_view(bench_t *bench, size_t total)
{
    int side = 8, largest_first[3] = {0, 0, 0}, size[3], part[3], begin[3], at[3];
    MPI_Datatype view;

    MPI_Dims_create(bench->ranks, 3, largest_first);
    const int grid[3] = {largest_first[2], largest_first[1], largest_first[0]};
    while ((size_t)(side + 8) * (size_t)(side + 8) * (size_t)(side + 8) * sizeof(double) <= total)
        side += 8;
    at[0] = bench->rank / (grid[1] * grid[2]);
    at[1] = bench->rank / grid[2] % grid[1];
    at[2] = bench->rank % grid[2];
    bench->bytes = sizeof(double);
    for (int d = 0; d < 3; d++) {
        size[d] = side;
        begin[d] = side * at[d] / grid[d];
        part[d] = side * (at[d] + 1) / grid[d] - begin[d];
        bench->bytes *= (size_t)part[d];
    }
    MPI_Type_create_subarray(3, size, part, begin, MPI_ORDER_C, MPI_DOUBLE, &view);
    return view;
}

static void bench_fill(bench_t *bench, uint64_t seed)
{
    for (size_t i = 0; i < bench->bytes / 8; i++)
        bench->data[i] = (seed + i + ((uint64_t)bench->rank << 40)) * 0x9e3779b97f4a7c15u;
}

static void bench_verify(const bench_t *bench, uint64_t seed)
{
    for (size_t i = 0; i < bench->bytes / 8; i++)
        if (bench->data[i] != (seed + i + ((uint64_t)bench->rank << 40)) * 0x9e3779b97f4a7c15u)
            need(MPI_ERR_OTHER, "wrong data");
}

/* `length` bytes at `at` of the buffer; `offset` is in the file, and unused with a view. */
static void move_one(const bench_t *bench, MPI_File file, bool write, size_t at, size_t length, MPI_Offset offset)
{
    char *data = (char *)bench->data + at;
    MPI_Status status;
    int rc, got;

    if (bench->what->strided && write)
        rc = MPI_File_write_all(file, data, (int)length, MPI_BYTE, &status);
    else if (bench->what->strided)
        rc = MPI_File_read_all(file, data, (int)length, MPI_BYTE, &status);
    else if (bench->what->collective && write)
        rc = MPI_File_write_at_all(file, offset, data, (int)length, MPI_BYTE, &status);
    else if (bench->what->collective)
        rc = MPI_File_read_at_all(file, offset, data, (int)length, MPI_BYTE, &status);
    else if (write)
        rc = MPI_File_write_at(file, offset, data, (int)length, MPI_BYTE, &status);
    else
        rc = MPI_File_read_at(file, offset, data, (int)length, MPI_BYTE, &status);
    need(rc, write ? "write" : "read");
    MPI_Get_count(&status, MPI_BYTE, &got);
    if ((size_t)got != length)
        need(MPI_ERR_OTHER, "a short transfer");
}

static void move_all(const bench_t *bench, MPI_File file, bool write)
{
    const bench_case_t *what = bench->what;
    size_t step = what->strided ? bench->bytes / (size_t)what->calls : what->block;

    for (size_t at = 0; at < bench->bytes; at += step) {
        MPI_Offset offset = what->own_region
                                ? (MPI_Offset)(bench->bytes * (size_t)bench->rank + at)
                                : (MPI_Offset)(at * (size_t)bench->ranks + what->block * (size_t)bench->rank);

        move_one(bench, file, write, at, step, offset);
    }
}

static void pass(const bench_t *bench, bool write, bool counts)
{
    int amode = write ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    MPI_Offset displacement = (MPI_Offset)bench->what->block * bench->rank;
    double took, cpu, servers, gib, sum[2];
    MPI_File file;

    need(MPI_File_open(MPI_COMM_WORLD, bench->file, amode, MPI_INFO_NULL, &file), bench->file);
    if (bench->what->strided)
        need(MPI_File_set_view(file, displacement, bench->what->block == 0 ? MPI_DOUBLE : MPI_BYTE, bench->view,
                               "native", MPI_INFO_NULL),
             "MPI_File_set_view");
    MPI_Barrier(MPI_COMM_WORLD);
    cpu = -clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    servers = server_seconds(bench);
    took = MPI_Wtime();
    move_all(bench, file, write);
    need(MPI_File_close(&file), "MPI_File_close");
    took = MPI_Wtime() - took;
    cpu += clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    sum[0] = cpu + server_seconds(bench) - servers;
    sum[1] = (double)bench->bytes;
    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    gib = sum[1] / (1024.0 * MIB);
    if (bench->rank == 0 && counts) {
        printf("{\"case\": \"%s\", \"ranks\": %d, \"direction\": \"%s\", \"mib_s\": %.2f, \"cpu_s_per_gib\": %.4f}\n",
               bench->what->name, bench->ranks, write ? "write" : "read", gib * 1024 / took, sum[0] / gib);
        fflush(stdout);
    }
}

/* Each repeat makes a new file, as a checkpoint does. The first is a warm-up and not counted. */
static void run(bench_t *bench, int repeats)
{
    for (int repeat = 0; repeat <= repeats; repeat++) {
        bench_fill(bench, (uint64_t)repeat);
        pass(bench, true, repeat > 0);
        memset(bench->data, 0, bench->bytes);
        pass(bench, false, repeat > 0);
        bench_verify(bench, (uint64_t)repeat);
        MPI_Barrier(MPI_COMM_WORLD);
        if (bench->rank == 0)
            need(MPI_File_delete(bench->file, MPI_INFO_NULL), "MPI_File_delete");
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static const bench_case_t *find_case(const char *name)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    return NULL;
}

/* Sizes, view, buffer. total: bytes of a pass, all ranks. */
static void prepare(bench_t *bench, size_t total)
{
    size_t unit = (size_t)MIB;

    bench->bytes = (total / (size_t)bench->ranks + unit - 1) / unit * unit;
    bench->view = bench->what->block == 0 ? array_view(bench, total) : vector_view(bench);
    MPI_Type_commit(&bench->view);
    bench->data = malloc(bench->bytes);
    if (bench->data == NULL)
        need(MPI_ERR_NO_MEM, "malloc");
}

int main(int argc, char **argv)
{
    bench_t bench = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    if (argc == 2 && strcmp(argv[1], "--cases") == 0) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            puts(cases[i].name);
        MPI_Finalize();
        return 0;
    }
    if (argc < 5 || (bench.what = find_case(argv[1])) == NULL || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: %s CASE MIB REPEATS FILE [SERVER-PID...]\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    bench.file = argv[4];
    bench.n_servers = argc - 5;
    bench.servers = calloc((size_t)bench.n_servers + 1, sizeof(pid_t));
    for (int i = 0; i < bench.n_servers; i++)
        bench.servers[i] = (pid_t)atoi(argv[5 + i]);
    prepare(&bench, (size_t)atoi(argv[2]) * MIB);
    run(&bench, atoi(argv[3]));
    MPI_Type_free(&bench.view);
    free(bench.data);
    free(bench.servers);
    MPI_Finalize();
    return 0;
}
