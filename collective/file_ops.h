/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the bytes of a collective call go to and come from: non-blocking list I/O on one file. The driver puts Themis
 * servers behind it, a test a local file.
 */
#pragma once
#include "util/runs.h"

typedef struct themis_collective_file_ops {
    void *arg; /* first argument of all */
    /* Starts a list, which is copied; its memory stays until the request has ended. */
    themis_status_t (*start)(void *arg, themis_direction_t direction, const themis_list_t *list, void **request);
    /* THEMIS_IN_PROGRESS, or the result, and the request is gone. *done: bytes moved; of a read those before the end of
     * the file. */
    themis_status_t (*test)(void *arg, void *request, size_t *done);
    /* The same, but waits for the result; sleeps rather than spins when it takes long. */
    themis_status_t (*wait)(void *arg, void *request, size_t *done);
} themis_collective_file_ops_t;
