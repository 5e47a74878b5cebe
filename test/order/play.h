/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a sequence on a file, and checks what is read. */
#pragma once
#include <mpi.h>
#include "model.h"

enum { ORDER_TEXT = 1200 };

/* The handles of one file. */
typedef struct order_files {
    MPI_File file[ORDER_HANDLES];
} order_files_t;

/* Collective over MPI_COMM_WORLD. The file is made, and removed at the end. Ends the program where that fails. */
void order_files_open(const char *name, MPI_Info info, order_files_t *files);
void order_files_close(order_files_t *files);

/*
 * Collective; the file is emptied first. 1 if this rank has found nothing wrong; otherwise 0, and the first thing wrong
 * in `text`. Ends the program where a call fails.
 */
int order_play(const order_model_t *model, const order_files_t *files, char text[ORDER_TEXT]);
