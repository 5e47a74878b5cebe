/* SPDX-License-Identifier: BSD-3-Clause */
/* An application with a rhythm: it computes, writes a checkpoint, and repeats. All ranks write their part of one file,
 * collectively.
 *
 *   mpirun -n 4 ./checkpoint 10 2.5 8 themis:/checkpoint     10 checkpoints, 2.5 s apart, 8 MiB from each rank
 *   mpirun -n 4 ./checkpoint --compute --limit 40 --time 60 100 1.2 8 themis:/checkpoint
 *                                                            each after 1.2 s of computing, at no more than 40 MiB/s a
 *                                                            rank, as many as begin within 60 s, but 100 at most
 */
#include "example.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    int count;        /* checkpoints, at most */
    double seconds;   /* from one to the next, or of computing before each */
    size_t bytes;     /* of each rank */
    const char *file; /* borrowed from argv */
    bool compute;
    double limit; /* bytes/s of each rank; 0: none */
    double time;  /* s after which none is begun; 0: no end */
} options_t;

/* What has been done so far, in s. */
typedef struct {
    int count;
    double start, computed, written, first_end, last_end; /* ends: since the start */
} progress_t;

static const double mib = 1 << 20;

static void usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [options] CHECKPOINTS SECONDS MIB_OF_A_RANK FILE\n"
            "  -c, --compute      SECONDS of computing before each; else from one to the next\n"
            "  -l, --limit MIB_S  each rank writes no faster\n"
            "  -t, --time SECONDS none begins later\n",
            program);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void options_parse(int argc, char **argv, options_t *o)
{
    static const struct option names[] = {{"compute", no_argument, NULL, 'c'},
                                          {"limit", required_argument, NULL, 'l'},
                                          {"time", required_argument, NULL, 't'},
                                          {NULL, 0, NULL, 0}};
    int option;

    *o = (options_t){.count = 0};
    while ((option = getopt_long(argc, argv, "cl:t:", names, NULL)) != -1) {
        if (option == 'c')
            o->compute = true;
        else if (option == 'l')
            o->limit = atof(optarg) * mib;
        else if (option == 't')
            o->time = atof(optarg);
        else
            usage(argv[0]);
    }
    if (argc - optind != 4)
        usage(argv[0]);
    double size = atof(argv[optind + 2]) * mib;
    o->count = atoi(argv[optind]);
    o->seconds = atof(argv[optind + 1]);
    o->bytes = size >= 1 && size <= 1e12 ? (size_t)size : 0;
    o->file = argv[optind + 3];
    if (o->count < 1 || !(o->seconds > 0) || o->bytes < 1 || o->limit < 0 || o->time < 0)
        usage(argv[0]);
}

static void wait_until(double time)
{
    double left = time - MPI_Wtime();

    if (left > 0)
        usleep((useconds_t)(left * 1e6));
}

/* In pieces, of which each begins when the limit allows it. */
static void checkpoint_write(const options_t *o, const char *part, size_t bytes)
{
    const size_t most = o->limit > 0 ? (size_t)mib : (size_t)1 << 30;
    double due = MPI_Wtime();
    MPI_File handle;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    example_check(MPI_File_open(MPI_COMM_WORLD, o->file, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &handle),
                  "MPI_File_open");
    for (size_t at = 0; at < bytes || at == 0; at += most) {
        size_t length = bytes - at < most ? bytes - at : most;

        example_check(MPI_File_write_at_all(handle, (MPI_Offset)rank * (MPI_Offset)o->bytes + (MPI_Offset)at, part + at,
                                            (int)length, MPI_BYTE, MPI_STATUS_IGNORE),
                      "MPI_File_write_at_all");
        due += o->limit > 0 ? (double)length / o->limit : 0;
        if (o->limit > 0)
            wait_until(due);
        due = due > MPI_Wtime() ? due : MPI_Wtime();
    }
    example_check(MPI_File_close(&handle), "MPI_File_close");
}

/* All ranks agree on whether another one begins. */
static bool is_over(const options_t *o, const progress_t *p)
{
    int over = p->count == o->count || (o->time > 0 && MPI_Wtime() - p->start >= o->time);

    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return over;
}

/* Computes, which is to wait, and writes. */
static void repeat(const options_t *o, progress_t *p, char *part)
{
    double begin = MPI_Wtime(), written;
    int rank;

    wait_until(o->compute ? begin + o->seconds : p->start + (p->count + 0.5) * o->seconds);
    memset(part, p->count + 1, o->bytes);
    written = MPI_Wtime();
    checkpoint_write(o, part, o->bytes);
    p->last_end = MPI_Wtime() - p->start;
    p->first_end = p->count == 0 ? p->last_end : p->first_end;
    p->computed += written - begin;
    p->written += p->start + p->last_end - written;
    p->count++;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (o->compute && rank == 0)
        printf("%d: computed %.4f s, wrote %.4f s\n", p->count, written - begin, p->start + p->last_end - written);
}

/* Of an application's part in SysEff: the part of its time in which it computed, until its last checkpoint was written.
 * Its dilation is that time over the same without others, which only who knows the machine can tell. */
static void report(const options_t *o, const progress_t *p)
{
    if (o->compute)
        printf("checkpoints=%d computed=%.4f wrote=%.4f seconds=%.4f efficiency=%.4f\n", p->count,
               p->count * o->seconds, p->written, p->last_end, p->count * o->seconds / p->last_end);
    else
        printf("%d checkpoints of %g MiB from each rank, one every %.4f s\n", p->count, (double)o->bytes / mib,
               p->count > 1 ? (p->last_end - p->first_end) / (p->count - 1) : o->seconds);
}

int main(int argc, char **argv)
{
    progress_t p = {.count = 0};
    options_t o;
    char *part;
    int rank;

    MPI_Init(&argc, &argv);
    options_parse(argc, argv, &o);
    part = calloc(1, o.bytes);
    if (part == NULL)
        usage(argv[0]);
    checkpoint_write(&o, part, 0); /* what the first access takes to set up is no part of the rhythm */
    MPI_Barrier(MPI_COMM_WORLD);
    p.start = MPI_Wtime();
    while (!is_over(&o, &p))
        repeat(&o, &p, part);
    if (!o.compute)
        wait_until(p.start + p.count * o.seconds);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        report(&o, &p);
    free(part);
    MPI_Finalize();
    return 0;
}
