/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the bytes of a collective call go to and come from: non-blocking list I/O on one file. The driver puts Themis
 * servers behind it, a test a local file.
 */
#ifndef THEMIS_COLLECTIVE_FILE_OPS_H
#define THEMIS_COLLECTIVE_FILE_OPS_H
#include "util/runs.h"

/* Bytes of the largest access that goes through the caches. */
#define THEMIS_COLLECTIVE_SMALL_ACCESS (UINT64_C(128) << 10)

typedef struct themis_collective_file_ops {
    void *arg; /* first argument of all */
    /* Starts a list, which is copied; its memory stays until the request has ended. */
    themis_status_t (*start)(void *arg, themis_direction_t direction, const themis_list_t *list, void **request);
    /* THEMIS_IN_PROGRESS, or the result, and the request is gone. *done: bytes moved; of a read those before the end of
     * the file. */
    themis_status_t (*test)(void *arg, void *request, size_t *done);
    /* The same, but waits for the result; sleeps rather than spins when it takes long. */
    themis_status_t (*wait)(void *arg, void *request, size_t *done);
    /* Blocking, through write-behind and read-ahead of this process, for small accesses. NULL: there are none. */
    themis_status_t (*run_cached)(void *arg, themis_direction_t direction, const themis_list_t *list, size_t *done);
    /* Writes out what is held back and forgets what was read ahead; the first failure since the last flush. NULL
     * together with run_cached. */
    themis_status_t (*flush)(void *arg);
} themis_collective_file_ops_t;
#endif
