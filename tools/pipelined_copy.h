/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying the bytes of a whole file, with several large requests in flight. */
#ifndef THEMIS_TOOLS_PIPELINED_COPY_H
#define THEMIS_TOOLS_PIPELINED_COPY_H
#include <stdint.h>
#include "tools/endpoint.h"

/* Called after each block with the bytes copied so far; may be NULL. */
typedef void (*themis_tools_progress_fn)(void *arg, uint64_t bytes);

/*
 * Copies until the end of `from`. Holes of a local file are not read, and a regular target keeps them. On failure
 * *cause is a text for a message (borrowed until the next call), and what was written stays.
 */
themis_status_t themis_tools_pipelined_copy(themis_tools_endpoint_t from, themis_tools_endpoint_t to,
                                            themis_tools_progress_fn progress, void *arg, const char **cause);
#endif
