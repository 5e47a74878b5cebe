/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For test programs PROGRAM CASE FILE: every rank checks its results and reports what is wrong. The exit status is 0
 * only if all checks of all ranks passed.
 */
#pragma once
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, faults;
static char text[MPI_MAX_ERROR_STRING];

/* Any thread. */
static void expect(int condition, const char *what)
{
    if (condition)
        return;
    __atomic_add_fetch(&faults, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "rank %d: failed: %s; last error: %s\n", rank, what, text);
}

/* The class of a code; keeps its text. */
static int class_of(int code)
{
    int class = MPI_SUCCESS, length = 0;

    text[0] = '\0';
    if (code != MPI_SUCCESS) {
        MPI_Error_class(code, &class);
        MPI_Error_string(code, text, &length);
    }
    return class;
}

static int open_class(const char *name, int amode, MPI_Info info, MPI_File *file)
{
    return class_of(MPI_File_open(MPI_COMM_WORLD, name, amode, info, file));
}

__attribute__((unused)) static MPI_File open_ok(const char *name, int amode)
{
    MPI_File file = MPI_FILE_NULL;

    if (open_class(name, amode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fprintf(stderr, "rank %d: %s cannot be opened: %s\n", rank, name, text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return file;
}

__attribute__((unused)) static MPI_File open_hinted(const char *name, int hints, const char *const hint[][2])
{
    MPI_File file = MPI_FILE_NULL;
    MPI_Info info;

    MPI_Info_create(&info);
    for (int i = 0; i < hints; i++)
        MPI_Info_set(info, hint[i][0], hint[i][1]);
    if (open_class(name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file) != MPI_SUCCESS) {
        fprintf(stderr, "rank %d: cannot be opened with %s = %s: %s\n", rank, hint[0][0], hint[0][1], text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Info_free(&info);
    return file;
}

typedef struct test_case {
    const char *name;
    void (*run)(const char *file);
    int threads; /* 1: several call MPI at a time */
} test_case_t;

/* The body of main. */
__attribute__((unused)) static int run_case(int argc, char **argv, const test_case_t *cases, size_t count)
{
    const test_case_t *chosen = NULL;
    int all = 1, level;

    for (size_t i = 0; argc == 3 && i < count; i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            chosen = &cases[i];
    MPI_Init_thread(&argc, &argv, chosen && chosen->threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (chosen)
        chosen->run(argv[2]);
    MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return chosen && all == 0 ? 0 : 1;
}
