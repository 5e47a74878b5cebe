/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying the bytes of a whole file, with several large requests in flight. */
#pragma once
#include <stdint.h>
#include "tools/endpoint.h"

/* Called after each block with the bytes copied so far; not 0: the copy ends with THEMIS_IO. */
typedef int (*themis_tools_progress_fn)(void *arg, uint64_t bytes);

typedef struct themis_tools_pipelined {
    themis_tools_progress_fn progress; /* may be NULL */
    void *arg;
    uint64_t *checksum; /* gets a checksum of the bytes and their places, in which holes are zeros; may be NULL */
} themis_tools_pipelined_t;

/*
 * Copies until the end of `from`. Holes of a local file are not read, and a regular target keeps them. On failure
 * *cause is a text for a message (borrowed until the next call in this thread), and what was written stays. A target
 * with neither file nor descriptor (-1) gets nothing: the source is only read.
 */
themis_status_t themis_tools_pipelined_copy(themis_tools_endpoint_t from, themis_tools_endpoint_t to,
                                            const themis_tools_pipelined_t *options, const char **cause);
