/* SPDX-License-Identifier: BSD-3-Clause */
/* One case of the comparison of themis: with other targets, in one MPI job: `repeats` times it writes a new file and
 * reads it through a new open. What was read is compared byte by byte, and so is the whole file, in order and without
 * the case's view; both outside of the time that counts. For each pass rank 0 prints a JSON object: MiB/s of the
 * slowest rank, from after the open to after the close (a write that is not closed may still be on its way), and the
 * CPU seconds of all ranks and of the servers whose process ids are given, for each GiB.
 *
 * With memory:FILE there is no MPI-IO: the pieces are copied by memcpy to and from memory that the ranks share, by a
 * file of that name on a tmpfs. Nothing can be faster that copies each byte once; that is the floor of the case.
 *
 *   mpirun -n 2 ./compare CASE MIB REPEATS FILE [SERVER-PID...]
 *   ./compare --cases */
#define _GNU_SOURCE
#include "compare.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char memory_prefix[] = "memory:";

/* --- CPU time ----------------------------------------------------------------------------------------------------- */

static double clock_seconds(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        bench_need(MPI_ERR_OTHER, "reading CPU time");
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* CPU seconds of the servers so far, on rank 0; 0 elsewhere. */
static double server_seconds(const bench_t *bench)
{
    double sum = 0;
    clockid_t clock;

    for (int i = 0; bench->rank == 0 && i < bench->n_servers; i++) {
        if (clock_getcpuclockid(bench->servers[i], &clock) != 0)
            bench_need(MPI_ERR_OTHER, "finding a server");
        sum += clock_seconds(clock);
    }
    return sum;
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

/* What the eight bytes at a place of the file hold; differs from file to file. */
static uint64_t word_value(const bench_t *bench, uint64_t seed, size_t offset)
{
    uint64_t owner = bench->what->layout == BENCH_OWN_FILE ? (uint64_t)bench->rank + 1 : 0;

    return (offset / sizeof(uint64_t) + 1 + (seed << 32) + (owner << 48)) * 0x9e3779b97f4a7c15u;
}

static void data_fill(const bench_t *bench, uint64_t seed)
{
    uint64_t *word = bench->data;

    for (size_t k = 0; k < bench->bytes / bench->piece; k++) {
        size_t at = bench_layout_place(bench, k), end = at + bench->piece;

        for (; at < end; at += sizeof(*word))
            *word++ = word_value(bench, seed, at);
    }
}

static void data_verify(const bench_t *bench, uint64_t seed)
{
    const uint64_t *word = bench->data;

    for (size_t k = 0; k < bench->bytes / bench->piece; k++) {
        size_t at = bench_layout_place(bench, k), end = at + bench->piece;

        for (; at < end; at += sizeof(*word))
            if (*word++ != word_value(bench, seed, at))
                bench_need(MPI_ERR_OTHER, "wrong data was read");
    }
}

/* No word of a file looks like this: a read that does nothing is noticed. */
static void data_poison(void *data, size_t bytes)
{
    memset(data, 0xa5, bytes);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static MPI_File file_open(const bench_t *bench, int amode)
{
    bool own = bench->what->layout == BENCH_OWN_FILE;
    char name[4096];
    MPI_File file;

    snprintf(name, sizeof(name), own ? "%s.%d" : "%s", bench->file, bench->rank);
    bench_need(MPI_File_open(own ? MPI_COMM_SELF : MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file), name);
    return file;
}

static void file_set_view(const bench_t *bench, MPI_File file)
{
    MPI_Datatype etype, view;
    MPI_Offset displacement = bench_layout_view(bench, &etype, &view);

    bench_need(MPI_File_set_view(file, displacement, etype, view, "native", MPI_INFO_NULL), "MPI_File_set_view");
    MPI_Type_free(&view);
}

/* Every byte of the file, each rank a part of it. */
static void file_verify(const bench_t *bench, uint64_t seed)
{
    bool own = bench->what->layout == BENCH_OWN_FILE;
    size_t words = bench->file_bytes / sizeof(uint64_t), parts = own ? 1 : (size_t)bench->ranks;
    size_t part = own ? 0 : (size_t)bench->rank, first = words * part / parts, end = words * (part + 1) / parts;
    static uint64_t buffer[BENCH_MIB / sizeof(uint64_t)];
    MPI_File file = file_open(bench, MPI_MODE_RDONLY);
    MPI_Offset size;

    bench_need(MPI_File_get_size(file, &size), "MPI_File_get_size");
    if ((size_t)size != bench->file_bytes)
        bench_need(MPI_ERR_OTHER, "the file has a wrong size");
    while (first < end) {
        size_t count = end - first < BENCH_MIB / sizeof(uint64_t) ? end - first : BENCH_MIB / sizeof(uint64_t);
        size_t offset = first * sizeof(uint64_t), bytes = count * sizeof(uint64_t);

        data_poison(buffer, bytes);
        bench_need(MPI_File_read_at(file, (MPI_Offset)offset, buffer, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE), "read");
        for (size_t i = 0; i < count; i++)
            if (buffer[i] != word_value(bench, seed, offset + i * sizeof(uint64_t)))
                bench_need(MPI_ERR_OTHER, "wrong data is in the file");
        first += count;
    }
    bench_need(MPI_File_close(&file), "MPI_File_close");
}

static void file_delete(const bench_t *bench)
{
    char name[4096];

    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(name, sizeof(name), "%s.%d", bench->file, bench->rank);
    if (bench->what->layout == BENCH_OWN_FILE)
        bench_need(MPI_File_delete(name, MPI_INFO_NULL), "MPI_File_delete");
    else if (bench->rank == 0)
        bench_need(MPI_File_delete(bench->file, MPI_INFO_NULL), "MPI_File_delete");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* --- passes ------------------------------------------------------------------------------------------------------- */

/* `bytes` bytes; offset is in the file, and unused with a view. */
static void move_one(const bench_t *bench, MPI_File file, bool write, char *data, int bytes, MPI_Offset offset)
{
    MPI_Status status;
    int rc, got;

    if (bench->what->view && bench->what->collective)
        rc = write ? MPI_File_write_all(file, data, bytes, MPI_BYTE, &status)
                   : MPI_File_read_all(file, data, bytes, MPI_BYTE, &status);
    else if (bench->what->view)
        rc = write ? MPI_File_write(file, data, bytes, MPI_BYTE, &status)
                   : MPI_File_read(file, data, bytes, MPI_BYTE, &status);
    else if (bench->what->collective)
        rc = write ? MPI_File_write_at_all(file, offset, data, bytes, MPI_BYTE, &status)
                   : MPI_File_read_at_all(file, offset, data, bytes, MPI_BYTE, &status);
    else
        rc = write ? MPI_File_write_at(file, offset, data, bytes, MPI_BYTE, &status)
                   : MPI_File_read_at(file, offset, data, bytes, MPI_BYTE, &status);
    bench_need(rc, write ? "write" : "read");
    MPI_Get_count(&status, MPI_BYTE, &got);
    if (got != bytes)
        bench_need(MPI_ERR_OTHER, "a short transfer");
}

static void move_all(const bench_t *bench, MPI_File file, bool write)
{
    size_t calls = bench->what->calls > 0 ? (size_t)bench->what->calls : bench->bytes / bench->piece;
    size_t step = bench->bytes / calls;
    char *data = (char *)bench->data;

    for (size_t i = 0; i < calls; i++)
        move_one(bench, file, write, data + i * step, (int)step,
                 bench->what->view ? 0 : (MPI_Offset)bench_layout_place(bench, i));
}

/* The same bytes in the same order, copied. */
static void copy_all(const bench_t *bench, bool write)
{
    bool own = bench->what->layout == BENCH_OWN_FILE;
    char *shared = bench->shared + (own ? bench->bytes * (size_t)bench->rank : 0), *data = (char *)bench->data;

    for (size_t k = 0; k < bench->bytes / bench->piece; k++) {
        char *place = shared + bench_layout_place(bench, k);

        memcpy(write ? place : data, write ? data : place, bench->piece);
        data += bench->piece;
    }
}

static void report(const bench_t *bench, bool write, double took, double cpu)
{
    double sum[2] = {cpu, (double)bench->bytes}, gib;

    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    gib = sum[1] / (1024.0 * (double)BENCH_MIB);
    if (bench->rank != 0)
        return;
    printf("{\"case\": \"%s\", \"ranks\": %d, \"direction\": \"%s\", \"mib_s\": %.2f, \"cpu_s_per_gib\": %.4f}\n",
           bench->what->name, bench->ranks, write ? "write" : "read", gib * 1024 / took, sum[0] / gib);
    fflush(stdout);
}

static void pass(const bench_t *bench, bool write, bool counts)
{
    double start_end[2], cpu, servers;
    MPI_File file = MPI_FILE_NULL;

    if (bench->shared == NULL)
        file = file_open(bench, write ? MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY : MPI_MODE_RDONLY);
    if (bench->shared == NULL && bench->what->view)
        file_set_view(bench, file);
    MPI_Barrier(MPI_COMM_WORLD);
    cpu = -clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    servers = server_seconds(bench);
    start_end[0] = -MPI_Wtime();
    if (bench->shared == NULL) {
        move_all(bench, file, write);
        bench_need(MPI_File_close(&file), "MPI_File_close");
    } else {
        copy_all(bench, write);
    }
    start_end[1] = MPI_Wtime();
    cpu += clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    MPI_Allreduce(MPI_IN_PLACE, start_end, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    cpu += server_seconds(bench) - servers;
    if (counts)
        report(bench, write, start_end[0] + start_end[1], cpu);
}

/* Each repeat makes a new file, as a checkpoint does. The first is a warm-up and not counted, but where the first pass
 * is what the case is about. */
static void run(const bench_t *bench, int repeats)
{
    for (int repeat = bench->what->fresh ? 1 : 0; repeat <= repeats; repeat++) {
        data_fill(bench, (uint64_t)repeat);
        pass(bench, true, repeat > 0);
        data_poison(bench->data, bench->bytes);
        pass(bench, false, repeat > 0);
        data_verify(bench, (uint64_t)repeat);
        if (bench->shared != NULL)
            continue;
        file_verify(bench, (uint64_t)repeat);
        file_delete(bench);
    }
}

/* --- start -------------------------------------------------------------------------------------------------------- */

static void list_cases(void)
{
    const bench_case_t *found;

    for (size_t i = 0; (found = bench_case_at(i)) != NULL; i++)
        printf("%s%s\n", found->name, found->fresh ? " fresh" : "");
}

static void target_set(bench_t *bench, const char *file)
{
    size_t parts = bench->what->layout == BENCH_OWN_FILE ? (size_t)bench->ranks : 1;
    bool huge;

    bench->file = file;
    if (strncmp(file, memory_prefix, strlen(memory_prefix)) != 0)
        return;
    bench->shared = bench_memory_map(file + strlen(memory_prefix), parts * bench->file_bytes, &huge);
    if (bench->shared == NULL) {
        perror(file);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (bench->rank == 0 && !huge)
        fprintf(stderr, "The floor is measured with small pages: the kernel gives no huge ones.\n");
}

int main(int argc, char **argv)
{
    bench_t bench = {0};

    if (argc == 2 && strcmp(argv[1], "--cases") == 0) {
        list_cases();
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    if (argc < 5 || (bench.what = bench_case_find(argv[1])) == NULL || atoi(argv[2]) < 1 || atoi(argv[2]) > 1024) {
        fprintf(stderr, "usage: %s CASE MIB(1..1024) REPEATS FILE [SERVER-PID...]\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    bench_layout_set(&bench, (size_t)atoi(argv[2]) * BENCH_MIB);
    bench.data = malloc(bench.bytes);
    bench.n_servers = argc - 5;
    bench.servers = calloc((size_t)bench.n_servers + 1, sizeof(pid_t));
    if (bench.data == NULL || bench.servers == NULL)
        bench_need(MPI_ERR_NO_MEM, "malloc");
    for (int i = 0; i < bench.n_servers; i++)
        bench.servers[i] = (pid_t)atoi(argv[5 + i]);
    target_set(&bench, argv[4]);
    run(&bench, atoi(argv[3]));
    free(bench.random);
    free(bench.data);
    free(bench.servers);
    MPI_Finalize();
    return 0;
}
