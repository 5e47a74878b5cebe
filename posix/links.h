/* SPDX-License-Identifier: BSD-3-Clause */
/* Symbolic links. What they lead to is for the caller to look up. */
#pragma once
#include <sys/stat.h>
#include "posix/filesystem.h"

/* As lookup of the new link (posix/names.h). ENOENT: an empty target. */
int themis_posix_symlink(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *parent,
                         const char *name, const char *target, themis_posix_node_t **node, struct stat *stat);

/* EINVAL: it is none. */
int themis_posix_readlink(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                          char target[THEMIS_PATH_BYTES]);
