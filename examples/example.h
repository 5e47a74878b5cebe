/* SPDX-License-Identifier: BSD-3-Clause */
/* What the array examples share: options, a fatal check, verification and the report. Nothing here knows Themis: these
 * are plain MPI programs. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *file; /* borrowed from argv */
    int size[3];      /* elements in each dimension, slowest first */
    int repeats;      /* each writes and reads the whole array */
    bool show_hints;
    bool keep; /* leave the file there */
    bool json; /* the report as one JSON object */
    bool write_only;
    bool call_only; /* time the collective call alone */
    int shift;      /* rank r takes the part of rank r + shift, around the end */
    MPI_Info info;  /* from --hint; owned, free with example_options_free */
} example_options_t;

/* Ends the job with MPI's text if rc is an error. */
void example_check(int rc, const char *what);

/* Reads the command line; prints a usage text and ends the job if it is wrong. */
void example_options_parse(int argc, char **argv, const char *about, example_options_t *options);
void example_options_free(example_options_t *options);

/* begin and length of part `index` of `parts` when n elements are dealt out as evenly as possible. */
void example_part(int n, int parts, int index, int *begin, int *length);

/* The rank whose part of the array this process has. */
int example_part_of_rank(const example_options_t *options);

/* What element `index` (row-major over the global array) holds in a given repeat; never 0. */
double example_value(MPI_Offset index, int repeat);

/* The two halves of an array program. `view` selects this rank's elements of the file, count of them, and
 * index(context, i) tells the global index of the i-th. */
typedef struct {
    MPI_Datatype view;
    size_t count; /* elements of this rank */
    MPI_Offset (*index)(const void *context, size_t i);
    const void *context;
    MPI_Offset bytes; /* of the whole array, all ranks */
    const char *name;
} example_array_t;

/* Writes the array collectively, reads it back through a new open, compares every byte on every rank, and prints
 * bandwidths (on rank 0). Returns true on all ranks if all bytes were right. */
bool example_array_run(const example_options_t *options, const example_array_t *array);

#endif
