/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving the bytes of a whole file, with several large requests under way at once. */
#ifndef THEMIS_TOOLS_PIPELINED_COPY_H
#define THEMIS_TOOLS_PIPELINED_COPY_H
#include <stdint.h>
#include "themis/themis.h"

/* Called now and then with the bytes moved so far; may be NULL. */
typedef void (*themis_tools_moved_fn)(void *arg, uint64_t bytes);

/* One end of a transfer: a file on servers, or a descriptor of this host. */
typedef struct themis_tools_end {
    themis_file_t *file; /* NULL: `fd` */
    int fd;
    int is_regular; /* a file from its beginning, not a stream */
    int replaces;   /* of a regular target: what it holds goes as soon as the first bytes of the source were read */
} themis_tools_end_t;

/*
 * Copies until the end of `from`. Holes of a local file are not read, and a regular target keeps them. On failure
 * *cause is a text to show (borrowed until the next call), and what was written stays.
 */
themis_status_t themis_tools_transfer(themis_tools_end_t from, themis_tools_end_t to, themis_tools_moved_fn moved,
                                      void *arg, const char **cause);
#endif
