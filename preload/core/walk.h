/* SPDX-License-Identifier: BSD-3-Clause */
/* From paths to nodes. Directories on the way are asked for once a second at most, as every call names the whole path
 * to the servers, and they check it. */
#pragma once
#include <sys/stat.h>
#include "client/path.h"
#include "posix/filesystem.h"

/* A name in a directory. */
typedef struct themis_preload_place {
    themis_posix_node_t *parent;         /* with a reference */
    char name[THEMIS_CLIENT_NAME_BYTES]; /* "": the root */
} themis_preload_place_t;

/* What a name in a directory is, with a reference that the caller gets; directories that are known are not asked for.
 */
int themis_preload_walk_child(themis_posix_t *filesystem, themis_posix_node_t *parent, const char *name,
                              themis_posix_node_t **node);

/* After this process has changed its mode or owner: it is asked for again. */
void themis_preload_walk_changed(themis_posix_t *filesystem, const themis_posix_node_t *node);

/* The directory of a path, and its last name. Release with themis_posix_release(place->parent). ELOOP: a symbolic link
 * is on the way, or "..", of which only links tell where it leads (core/follow.c). */
int themis_preload_walk_parent(themis_posix_t *filesystem, const char *path, themis_preload_place_t *place);

/* What a path is. *node: with a reference that the caller gets. ELOOP as above, and if it is a link itself, without
 * AT_SYMLINK_NOFOLLOW among the flags. */
int themis_preload_walk(themis_posix_t *filesystem, const char *path, int flags, themis_posix_node_t **node,
                        struct stat *stat);
