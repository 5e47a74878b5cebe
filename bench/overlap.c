/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a non-blocking collective call hides behind computation. A plain MPI program.
 *
 *     mpirun -n N overlap FILE MIB REPEATS
 *
 * Three times are taken for each direction, medians over the repeats of the slowest rank: the call and its wait alone;
 * a computation of about the same length alone; and the call, the same computation with an MPI_Test every half
 * millisecond of it, and the wait. hidden_fraction = (call + computation - together) / call: 1 if the call costs no
 * time at all, 0 if nothing overlaps. Each rank has MIB MiB in blocks of 64 KiB that alternate over the ranks. Rank 0
 * prints a JSON array.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 65536, SLICES_PER_SECOND = 2000 };

typedef struct bench {
    MPI_File file;
    char *buffer;
    int bytes, rank;
    double work_per_slice; /* rounds of work() that take one slice */
} bench_t;

static void need(int code, const char *what)
{
    if (code == MPI_SUCCESS)
        return;
    fprintf(stderr, "%s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static volatile double sink;

static void work(double rounds)
{
    double x = sink + 1;
    for (double i = 0; i < rounds; i++)
        x = x * 0.999999 + 0.5;
    sink = x;
}

static void calibrate(bench_t *bench)
{
    double best = 1e30;
    for (int i = 0; i < 5; i++) {
        double start = MPI_Wtime();
        work(1e6);
        double took = MPI_Wtime() - start;
        best = took < best ? took : best;
    }
    bench->work_per_slice = 1e6 / best / SLICES_PER_SECOND;
}

static void start_call(bench_t *bench, int writes, MPI_Request *request)
{
    if (writes)
        need(MPI_File_iwrite_at_all(bench->file, 0, bench->buffer, bench->bytes, MPI_BYTE, request), "iwrite_at_all");
    else
        need(MPI_File_iread_at_all(bench->file, 0, bench->buffer, bench->bytes, MPI_BYTE, request), "iread_at_all");
}

static double call_alone(bench_t *bench, int writes)
{
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    start_call(bench, writes, &request);
    need(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    return MPI_Wtime() - start;
}

static double computation_alone(bench_t *bench, int slices)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < slices; i++)
        work(bench->work_per_slice);
    return MPI_Wtime() - start;
}

static double together(bench_t *bench, int writes, int slices)
{
    MPI_Request request;
    int done = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    start_call(bench, writes, &request);
    for (int i = 0; i < slices; i++) {
        work(bench->work_per_slice);
        if (!done)
            need(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "test");
    }
    if (!done)
        need(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
    return MPI_Wtime() - start;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the slowest rank in each repeat. */
static double median(double *values, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}

static void measure(bench_t *bench, int writes, int repeats, int ranks)
{
    double *call = calloc((size_t)repeats, sizeof *call), *computation = calloc((size_t)repeats, sizeof *computation);
    double *both = calloc((size_t)repeats, sizeof *both);
    if (!call || !computation || !both)
        need(MPI_ERR_NO_MEM, "memory");
    double usual = call_alone(bench, writes);
    for (int i = 0; i < repeats; i++)
        call[i] = call_alone(bench, writes);
    memcpy(computation, call, (size_t)repeats * sizeof *call);
    usual = median(computation, repeats);
    int slices = (int)(usual * SLICES_PER_SECOND) + 1;
    for (int i = 0; i < repeats; i++) {
        computation[i] = computation_alone(bench, slices);
        both[i] = together(bench, writes, slices);
    }
    double c = median(call, repeats), w = median(computation, repeats), b = median(both, repeats);
    if (bench->rank == 0)
        printf("%s{\"direction\": \"%s\", \"ranks\": %d, \"mib\": %d, \"call_ms\": %.2f, \"computation_ms\": %.2f, "
               "\"together_ms\": %.2f, \"hidden_fraction\": %.2f}\n",
               writes ? "[" : ",", writes ? "write" : "read", ranks, bench->bytes >> 20, c * 1e3, w * 1e3, b * 1e3,
               (c + w - b) / c);
    free(call);
    free(computation);
    free(both);
}

static void open_file(bench_t *bench, const char *name, int ranks)
{
    MPI_Datatype vector;
    need(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &bench->file), "open");
    MPI_Type_vector(bench->bytes / BLOCK, BLOCK, BLOCK * ranks, MPI_BYTE, &vector);
    MPI_Type_commit(&vector);
    need(MPI_File_set_view(bench->file, (MPI_Offset)bench->rank * BLOCK, MPI_BYTE, vector, "native", MPI_INFO_NULL),
         "set_view");
    MPI_Type_free(&vector);
}

int main(int argc, char **argv)
{
    bench_t bench;
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || atoi(argv[2]) < 1 || atoi(argv[2]) > 1024 || atoi(argv[3]) < 1) {
        fprintf(stderr, "usage: overlap FILE MIB REPEATS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    bench.bytes = atoi(argv[2]) << 20;
    bench.buffer = malloc((size_t)bench.bytes);
    if (!bench.buffer)
        need(MPI_ERR_NO_MEM, "memory");
    memset(bench.buffer, bench.rank + 1, (size_t)bench.bytes);
    calibrate(&bench);
    open_file(&bench, argv[1], ranks);
    measure(&bench, 1, atoi(argv[3]), ranks);
    measure(&bench, 0, atoi(argv[3]), ranks);
    if (bench.rank == 0)
        printf("]\n");
    need(MPI_File_close(&bench.file), "close");
    free(bench.buffer);
    MPI_Finalize();
    return 0;
}
