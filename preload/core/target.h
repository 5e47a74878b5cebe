/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call is on: a path, or a descriptor. */
#pragma once
#include <sys/stat.h>
#include "preload/core/open_files.h"

typedef struct themis_preload_target {
    themis_posix_t *filesystem;
    themis_posix_node_t *node;   /* with a reference */
    themis_preload_open_t *open; /* of a descriptor; NULL: of a path */
    struct stat stat;            /* of a path */
} themis_preload_target_t;

/* Begins a call, unless it fails: by path, with flags as in preload/core.h, or by descriptor if the path is NULL. 0 or
 * an errno. */
int themis_preload_target_begin(int fd, const char *path, int flags, themis_preload_target_t *target);

/* Ends it with an errno or 0; as the calls of preload/core.h return. */
int themis_preload_target_end(themis_preload_target_t *target, int error);
