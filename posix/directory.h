/* SPDX-License-Identifier: BSD-3-Clause */
/* Open directories: the entries as they were when the directory was opened, or last read from its beginning. They have
 * references, as files have (posix/file.h). */
#pragma once
#include "posix/filesystem.h"

typedef struct themis_posix_directory themis_posix_directory_t;

/* Reads the entries. *directory: with a reference. */
int themis_posix_directory_open(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                                themis_posix_node_t *node, themis_posix_directory_t **directory);
void themis_posix_directory_acquire(themis_posix_directory_t *directory);
/* NULL is allowed. */
void themis_posix_directory_release(themis_posix_directory_t *directory);

/*
 * Calls `entry` for the entries from `index` on, in byte order of names and without "." and "..", until it returns
 * other than 0 or none is left. From index 0 on they are read again if they were read before.
 */
typedef int (*themis_posix_entry_fn)(void *arg, uint64_t index, const char *name, themis_type_t type);
int themis_posix_directory_read(themis_posix_directory_t *directory, const themis_posix_caller_t *caller,
                                uint64_t index, themis_posix_entry_fn entry, void *arg);

/* Makes the names of the directory, and those above it, durable. */
int themis_posix_directory_sync(themis_posix_directory_t *directory, const themis_posix_caller_t *caller);
