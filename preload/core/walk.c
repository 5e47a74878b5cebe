/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "preload/core/walk.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "posix/names.h"
#include "preload/core/rights.h"
#include "preload/core/state.h"
#include "util/clock.h"

/* Directories that were on the way lately: they have references, so that they stay known, and are believed in for a
 * while, as a mount does, since another client may put something else in their place. */
enum { HELD = 256 };
static const uint64_t believed = THEMIS_NS_PER_S;
static struct {
    uint64_t generation; /* of the session that the rest belongs to */
    struct {
        themis_posix_node_t *node; /* NULL: none */
        uint64_t seen;             /* when the servers had it */
        mode_t mode;               /* then */
        uid_t uid;
        gid_t gid;
    } places[HELD]; /* by serial numbers */
} held;             /* guarded by the lock of the file system */

static void hold(themis_posix_t *filesystem, themis_posix_node_t *node, const struct stat *stat)
{
    pthread_mutex_lock(&filesystem->lock);
    if (held.generation != themis_preload_generation()) {
        memset(&held, 0, sizeof held);
        held.generation = themis_preload_generation();
    }
    themis_posix_node_t **place = &held.places[node->serial % HELD].node;
    if (*place != node) {
        node->references++;
        themis_posix_tree_release(&filesystem->tree, *place, 1);
        *place = node;
    }
    held.places[node->serial % HELD].seen = themis_util_clock_now();
    held.places[node->serial % HELD].mode = stat->st_mode;
    held.places[node->serial % HELD].uid = stat->st_uid;
    held.places[node->serial % HELD].gid = stat->st_gid;
    pthread_mutex_unlock(&filesystem->lock);
}

void themis_preload_walk_changed(themis_posix_t *filesystem, const themis_posix_node_t *node)
{
    pthread_mutex_lock(&filesystem->lock);
    if (held.places[node->serial % HELD].node == node)
        held.places[node->serial % HELD].seen = 0;
    pthread_mutex_unlock(&filesystem->lock);
}

/* With the lock. */
static int is_believed(const themis_posix_node_t *node)
{
    return held.generation == themis_preload_generation() && held.places[node->serial % HELD].node == node &&
           themis_util_clock_now() - held.places[node->serial % HELD].seen < believed;
}

/* Servers check the directories above a name as far as they are their own. The caller may be another user than the one
 * who came here first. */
static int is_closed(themis_posix_t *filesystem, const themis_posix_node_t *node)
{
    struct stat stat = {0};

    pthread_mutex_lock(&filesystem->lock);
    const int believed_in = is_believed(node);
    stat.st_mode = held.places[node->serial % HELD].mode;
    stat.st_uid = held.places[node->serial % HELD].uid;
    stat.st_gid = held.places[node->serial % HELD].gid;
    pthread_mutex_unlock(&filesystem->lock);
    return believed_in && !themis_preload_may_access(&stat, X_OK, geteuid(), getegid());
}

/* A directory that is known, with a reference; NULL: none is. */
static themis_posix_node_t *known(themis_posix_t *filesystem, const themis_posix_node_t *parent, const char *name)
{
    pthread_mutex_lock(&filesystem->lock);
    themis_posix_node_t *node = themis_posix_tree_find(&filesystem->tree, parent, name);
    if (node && (node->type != THEMIS_TYPE_DIRECTORY || node->hidden || !is_believed(node)))
        node = NULL;
    if (node)
        node->references++;
    pthread_mutex_unlock(&filesystem->lock);
    return node;
}

int themis_preload_walk_child(themis_posix_t *filesystem, themis_posix_node_t *parent, const char *name,
                              themis_posix_node_t **node)
{
    struct stat stat;

    *node = known(filesystem, parent, name);
    if (*node)
        return 0;
    const int error = themis_posix_lookup(filesystem, themis_preload_caller(), parent, name, node, &stat);
    if (!error && (*node)->type == THEMIS_TYPE_DIRECTORY)
        hold(filesystem, *node, &stat);
    return error;
}

/* Goes down from *node, whose reference it takes, to the directory of that name. */
static int step(themis_posix_t *filesystem, const char *name, themis_posix_node_t **node)
{
    themis_posix_node_t *parent = *node;
    int error = themis_preload_walk_child(filesystem, parent, name, node);

    if (!error && (*node)->type != THEMIS_TYPE_DIRECTORY) {
        error = (*node)->type == THEMIS_TYPE_SYMLINK ? ELOOP : ENOTDIR;
        themis_posix_release(filesystem, *node, 1);
    } else if (!error && is_closed(filesystem, *node)) {
        error = EACCES;
        themis_posix_release(filesystem, *node, 1);
    }
    themis_posix_release(filesystem, parent, 1);
    return error;
}

static int goes_up(const char *path)
{
    for (const char *at = strstr(path, "/.."); at; at = strstr(at + 1, "/.."))
        if (at[3] == '/' || at[3] == '\0')
            return 1;
    return 0;
}

int themis_preload_walk_parent(themis_posix_t *filesystem, const char *path, themis_preload_place_t *place)
{
    char normal[THEMIS_PATH_BYTES];
    themis_posix_node_t *node = themis_posix_root(filesystem);

    if (goes_up(path))
        return ELOOP;
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

int themis_preload_walk(themis_posix_t *filesystem, const char *path, int flags, themis_posix_node_t **node,
                        struct stat *stat)
{
    themis_preload_place_t place;
    int error = themis_preload_walk_parent(filesystem, path, &place);

    if (error)
        return error;
    if (!*place.name)
        return look_at_root(filesystem, place.parent, node, stat);
    error = themis_posix_lookup(filesystem, themis_preload_caller(), place.parent, place.name, node, stat);
    themis_posix_release(filesystem, place.parent, 1);
    if (!error && !(flags & AT_SYMLINK_NOFOLLOW) && (*node)->type == THEMIS_TYPE_SYMLINK) {
        themis_posix_release(filesystem, *node, 1);
        error = ELOOP;
    }
    return error;
}
