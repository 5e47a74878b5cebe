/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of directories with all below them. */
#pragma once
#include "tools/copy.h"
#include "tools/copy_pool.h"

/* Directories whose attributes are set when all files are in them. */
typedef struct themis_tools_copied_directories {
    struct themis_tools_copied_directory *list; /* owned */
    size_t count, capacity;
} themis_tools_copied_directories_t;

/*
 * Makes directory `to` and copies what is in `from`; files by the pool. Symbolic links are followed if
 * copying->follow, otherwise named and left out, as are FIFOs, sockets and devices. Prints its errors and goes on.
 */
int themis_tools_copy_tree(themis_tools_copying_t *copying, themis_tools_copy_pool_t *pool,
                           const themis_tools_location_t *from, const themis_tools_location_t *to,
                           const themis_tools_location_info_t *attributes, themis_tools_copied_directories_t *done);

/* After the end of the pool: sets the attributes, and frees the list. */
int themis_tools_copied_directories_finish(themis_tools_copied_directories_t *done);
