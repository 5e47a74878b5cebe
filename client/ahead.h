/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read-ahead of a cache. A small read of one run that has the shape of the two before it, at the same distance each
 * time, is taken for a pattern: the reads that would follow are fetched as one list (a window) into one of two buffers,
 * and the next window while the first is being used. Windows grow while the pattern holds.
 */
#ifndef THEMIS_CLIENT_AHEAD_H
#define THEMIS_CLIENT_AHEAD_H
#include "client/behind.h"
#include "util/runs.h"
#include "client/span.h"
#include "themis/themis.h"

/* `count` reads of one shape, `distance` bytes from start to start. */
typedef struct themis_client_ahead_window {
    char *bytes; /* owned; NULL until the first use; read k at k * bytes of one read */
    uint64_t first, count;
    uint64_t valid;            /* bytes that were there; known when the request has ended */
    themis_request_t *request; /* under way; NULL: none */
    int filled;                /* 1: holds something, or will */
    themis_client_span_t span;
} themis_client_ahead_window_t;

typedef struct themis_client_ahead {
    themis_file_t *file;
    const themis_client_behind_t *behind; /* nothing is fetched that waits there to be written */
    size_t capacity;                      /* bytes of one window */
    themis_run_t shape;
    uint64_t offset, distance; /* of the last read, and from the one before */
    uint64_t bytes;            /* of one read */
    int repeated;              /* how often the distance was the same */
    uint64_t reads;            /* of the next window */
    themis_client_ahead_window_t windows[2];
    int current; /* index of the window that is read from; the other one follows it */
    themis_util_runs_t runs;
} themis_client_ahead_t;

/* `behind` is borrowed as long as the file. */
void themis_client_ahead_init(themis_client_ahead_t *ahead, themis_file_t *file, const themis_client_behind_t *behind,
                              size_t capacity);
void themis_client_ahead_free(themis_client_ahead_t *ahead);

/* 1: the read was served, and *done is set as themis_read_list does. 0: it is to be done otherwise. */
int themis_client_ahead_read(themis_client_ahead_t *ahead, const themis_list_t *list, uint64_t bytes, size_t *done);

/* Forgets all windows, or those that may hold a byte of the span. */
void themis_client_ahead_drop(themis_client_ahead_t *ahead);
void themis_client_ahead_forget(themis_client_ahead_t *ahead, const themis_client_span_t *span);
#endif
