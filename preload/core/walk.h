/* SPDX-License-Identifier: BSD-3-Clause */
/* From paths to nodes. Directories on the way are asked for once and known from then on, as every call names the whole
 * path to the servers, and they check it. */
#pragma once
#include <sys/stat.h>
#include "client/path.h"
#include "posix/filesystem.h"

/* A name in a directory. */
typedef struct themis_preload_place {
    themis_posix_node_t *parent;         /* with a reference */
    char name[THEMIS_CLIENT_NAME_BYTES]; /* "": the root */
} themis_preload_place_t;

/* The directory of a path, and its last name. Release with themis_posix_release(place->parent). */
int themis_preload_walk_parent(themis_posix_t *filesystem, const char *path, themis_preload_place_t *place);

/* What a path is. *node: with a reference that the caller gets. */
int themis_preload_walk(themis_posix_t *filesystem, const char *path, themis_posix_node_t **node, struct stat *stat);
