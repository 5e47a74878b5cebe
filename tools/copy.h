/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of cp share: its options, its progress, and the copy of one file. */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include "tools/location.h"

typedef struct themis_tools_copying {
    int recursive, quiet, preserve, keep_existing, update, follow, verify;
    int no_follow; /* -P: not even operands */
    int jobs;      /* files at a time */
    /* progress of all files, guarded by `lock` */
    pthread_mutex_t lock;
    uint64_t started, shown; /* ns; of the command, of the last progress line */
    uint64_t bytes;          /* of all files */
} themis_tools_copying_t;

/* After this something else is printed on the terminal. */
void themis_tools_copying_progress_end(themis_tools_copying_t *copying);

/*
 * Copies one file. What it replaces stays as it is until all has been copied, and compared if asked for; a copy that
 * fails leaves nothing. Both do not hold where the target is written in place, since a new file in its stead would
 * lose other names, owner or group, or cannot be made. Any thread; prints its errors.
 */
int themis_tools_copy_file(themis_tools_copying_t *copying, const themis_tools_location_t *from,
                           const themis_tools_location_t *to, const themis_tools_location_info_t *attributes);

/* Gives a file or directory the mode, and on this host times and owner, of `attributes`. Prints its errors. */
int themis_tools_copy_attributes(const themis_tools_location_t *to, const themis_tools_location_info_t *attributes);

/* Makes `to` a symbolic link with the target of `from`, which is one; what has that name is replaced, or with -n and -u
 * left alone. */
int themis_tools_copy_link(const themis_tools_copying_t *copying, const themis_tools_location_t *from,
                           const themis_tools_location_t *to);
