/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs that compare themis: with other targets share. They are plain MPI programs that know nothing of
 * Themis. A rank's data lies in its memory as pieces of equal length, one behind the other; the layout of a case says
 * where each piece is in the file. */
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_MIB ((size_t)1 << 20)

typedef enum {
    BENCH_REGION,    /* each rank has a region of its own */
    BENCH_ALTERNATE, /* pieces alternate over ranks */
    BENCH_RANDOM,    /* the file's pieces, dealt out at random */
    BENCH_OWN_FILE,  /* each rank has a file of its own */
    BENCH_ARRAY,     /* the parts of a cube of doubles; a piece is a row of a part */
} bench_layout_t;

typedef struct {
    const char *name;
    size_t piece; /* bytes; 0: the layout says it */
    bench_layout_t layout;
    bool collective; /* *_all calls */
    bool view;       /* a file view and the file pointer; otherwise explicit offsets */
    int calls;       /* in a pass, each for as many pieces; 0: a call for each piece */
    bool fresh;      /* the first pass counts: nothing of the file's space may have been written before */
} bench_case_t;

typedef struct {
    const bench_case_t *what;
    const char *file;
    int rank, ranks;
    size_t piece, bytes;         /* a piece; all pieces of this rank in a pass */
    size_t file_bytes;           /* of the file that this rank accesses, once all have written it */
    uint32_t *random;            /* BENCH_RANDOM: the place of each piece of this rank, in pieces; owned */
    int side, begin[3], part[3]; /* BENCH_ARRAY: of the cube; first and number of this rank's elements, slowest first */
    uint64_t *data;              /* `bytes` bytes; owned */
    char *shared;                /* the floor: all ranks' bytes in memory that they share; NULL: a file */
    pid_t *servers;              /* owned */
    int n_servers;
} bench_t;

/* NULL: there is none of that name. index 0.. */
const bench_case_t *bench_case_find(const char *name);
/* NULL: behind the last one. */
const bench_case_t *bench_case_at(size_t index);

/* Sets pieces and sizes for a pass of about `total` bytes over all ranks (at least 1 MiB a rank). */
void bench_layout_set(bench_t *bench, size_t total);
/* Offset of this rank's piece `index` in the file, in bytes. */
size_t bench_layout_place(const bench_t *bench, size_t index);
/* The displacement of this rank's view, and its type, committed; the caller frees it. */
MPI_Offset bench_layout_view(const bench_t *bench, MPI_Datatype *etype, MPI_Datatype *view);

/* `bytes` bytes of memory that all ranks share, by a file of that name on a tmpfs, which is gone when the call returns.
 * Every page is there and mapped, and huge where the kernel can: *huge says so. Collective; unmapped at the end of the
 * process. Returns NULL with errno set if any step failed. */
char *bench_memory_map(const char *name, size_t bytes, bool *huge);

/* Ends the job with MPI's text if rc is an error. */
void bench_need(int rc, const char *what);
