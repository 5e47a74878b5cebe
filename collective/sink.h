/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the bytes of a collective call go to and come from: non-blocking list I/O on one file. The driver puts Themis
 * servers behind it, a test a local file.
 */
#ifndef THEMIS_COLLECTIVE_SINK_H
#define THEMIS_COLLECTIVE_SINK_H
#include "util/runs.h"

typedef struct themis_collective_sink {
    void *arg; /* first argument of all */
    /* Starts a list; it is copied, its memory stays until the request has ended. *request is for test. */
    themis_status_t (*start)(void *arg, themis_direction_t direction, const themis_list_t *list, void **request);
    /* THEMIS_IN_PROGRESS, or the result; the request is gone then. *done: bytes moved; of a read those before the end
     * of the file. */
    themis_status_t (*test)(void *arg, void *request, size_t *done);
    /* The same, waiting for it; sleeps rather than spins when it takes long. */
    themis_status_t (*wait)(void *arg, void *request, size_t *done);
    /* Blocking, through write-behind and read-ahead of this process, for small accesses. NULL: there is none. */
    themis_status_t (*quick)(void *arg, themis_direction_t direction, const themis_list_t *list, size_t *done);
    /* Ends write-behind and forgets what was read ahead; the first failure since the last time. NULL with quick. */
    themis_status_t (*settle)(void *arg);
} themis_collective_sink_t;
#endif
