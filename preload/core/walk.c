/* SPDX-License-Identifier: BSD-3-Clause */
#include "preload/core/walk.h"
#include <errno.h>
#include <string.h>
#include "posix/names.h"
#include "preload/core/state.h"

/* Directories that were on the way lately stay known, as they have references. */
enum { HELD = 256 };
static struct {
    uint64_t generation; /* of the session that the rest belongs to */
    themis_posix_node_t *nodes[HELD];
    unsigned next;
} held; /* guarded by the lock of the file system */

static void hold(themis_posix_t *filesystem, themis_posix_node_t *node)
{
    pthread_mutex_lock(&filesystem->lock);
    if (held.generation != themis_preload_generation()) {
        memset(&held, 0, sizeof held);
        held.generation = themis_preload_generation();
    }
    themis_posix_node_t **place = &held.nodes[held.next++ % HELD];
    node->references++;
    themis_posix_tree_release(&filesystem->tree, *place, 1);
    *place = node;
    pthread_mutex_unlock(&filesystem->lock);
}

/* A directory that is known, with a reference; NULL: none is. */
static themis_posix_node_t *known(themis_posix_t *filesystem, const themis_posix_node_t *parent, const char *name)
{
    pthread_mutex_lock(&filesystem->lock);
    themis_posix_node_t *node = themis_posix_tree_find(&filesystem->tree, parent, name);
    if (node && (node->type != THEMIS_TYPE_DIRECTORY || node->hidden))
        node = NULL;
    if (node)
        node->references++;
    pthread_mutex_unlock(&filesystem->lock);
    return node;
}

/* Goes down from *node, whose reference it takes, to the directory of that name. */
static int step(themis_posix_t *filesystem, const char *name, themis_posix_node_t **node)
{
    themis_posix_node_t *parent = *node;
    struct stat stat;
    int error = 0;

    *node = known(filesystem, parent, name);
    if (!*node) {
        error = themis_posix_lookup(filesystem, themis_preload_caller(), parent, name, node, &stat);
        if (!error && (*node)->type != THEMIS_TYPE_DIRECTORY) {
            themis_posix_release(filesystem, *node, 1);
            error = ENOTDIR;
        }
        if (!error)
            hold(filesystem, *node);
    }
    themis_posix_release(filesystem, parent, 1);
    return error;
}

int themis_preload_walk_parent(themis_posix_t *filesystem, const char *path, themis_preload_place_t *place)
{
    char normal[THEMIS_PATH_BYTES];
    themis_posix_node_t *node = themis_posix_root(filesystem);

    if (themis_client_path_normalise(path, normal) != THEMIS_OK)
        return ENAMETOOLONG;
    themis_posix_acquire(filesystem, node);
    char *name = normal + 1, *slash;
    while ((slash = strchr(name, '/'))) {
        *slash = '\0';
        const int error = step(filesystem, name, &node);
        if (error)
            return error;
        name = slash + 1;
    }
    place->parent = node;
    strcpy(place->name, name);
    return 0;
}

static int look_at_root(themis_posix_t *filesystem, themis_posix_node_t *root, themis_posix_node_t **node,
                        struct stat *stat)
{
    const int error = themis_posix_getattr(filesystem, themis_preload_caller(), root, stat);

    if (error)
        themis_posix_release(filesystem, root, 1);
    else
        *node = root;
    return error;
}

int themis_preload_walk(themis_posix_t *filesystem, const char *path, themis_posix_node_t **node, struct stat *stat)
{
    themis_preload_place_t place;
    int error = themis_preload_walk_parent(filesystem, path, &place);

    if (error)
        return error;
    if (!*place.name)
        return look_at_root(filesystem, place.parent, node, stat);
    error = themis_posix_lookup(filesystem, themis_preload_caller(), place.parent, place.name, node, stat);
    themis_posix_release(filesystem, place.parent, 1);
    return error;
}
