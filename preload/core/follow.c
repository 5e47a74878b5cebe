/* SPDX-License-Identifier: BSD-3-Clause */
/* Where paths lead through symbolic links and "..", as the kernel resolves them; also out of the mount point, and in
 * again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "client/links.h"
#include "posix/links.h"
#include "preload/core/calls.h"
#include "preload/core/state.h"
#include "preload/core/target.h"
#include "preload/core/walk.h"
#include "util/mount_point.h"

typedef struct trail {
    themis_posix_t *filesystem;
    char done[THEMIS_PATH_BYTES];     /* a path on servers without links; "": the root */
    char rest[2 * THEMIS_PATH_BYTES]; /* what is to be resolved from there, after a name with its slash; local: from the
                                         root */
    int local;
    int links; /* so far */
} trail_t;

/* What follows the mount point in an absolute path, which may get there as text only; NULL: it is local. */
static const char *below_mount(const char *path, char normal[THEMIS_PATH_BYTES])
{
    const char *below = themis_util_mount_point_below(path);

    if (below)
        return below;
    return themis_client_path_normalise(path, normal) == THEMIS_OK ? themis_util_mount_point_below(normal) : NULL;
}

/* The path goes on at `target`, which is absolute or in the directory where it is now. */
static int redirect(trail_t *trail, const char *target)
{
    char rest[sizeof trail->rest], normal[THEMIS_PATH_BYTES];
    const char *below = *target == '/' ? below_mount(target, normal) : NULL;

    if (snprintf(rest, sizeof rest, "%s%s", below ? below : target, trail->rest) >= (int)sizeof rest)
        return ENAMETOOLONG;
    strcpy(trail->rest, rest);
    if (*target == '/') {
        trail->done[0] = '\0';
        trail->local = !below;
    }
    return 0;
}

/* From the root of the servers to the directory that has the mount point. Which is resolved as text, as the kernel
 * knows no way out of what it does not know; and may lead back. */
static int leave(trail_t *trail)
{
    char whole[3 * THEMIS_PATH_BYTES], normal[THEMIS_PATH_BYTES];

    snprintf(whole, sizeof whole, "%s/..%s", themis_util_mount_point(), trail->rest);
    if (themis_client_path_normalise(whole, normal) != THEMIS_OK)
        return ENAMETOOLONG;
    trail->rest[0] = '\0';
    return redirect(trail, normal);
}

static void go_up(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash)
        *slash = '\0';
}

static int follow_link(trail_t *trail, themis_posix_node_t *node)
{
    char target[THEMIS_PATH_BYTES];

    if (++trail->links > THEMIS_CLIENT_MAX_LINKS)
        return ELOOP;
    const int error = themis_posix_readlink(trail->filesystem, themis_preload_caller(), node, target);
    go_up(trail->done);
    return error ? error : redirect(trail, target);
}

/* What `done` is, as far as it counts here: a directory, a link, or something else. */
static int look(const trail_t *trail, themis_posix_node_t **node)
{
    themis_preload_place_t place;
    int error = themis_preload_walk_parent(trail->filesystem, trail->done, &place);

    if (error)
        return error;
    error = themis_preload_walk_child(trail->filesystem, place.parent, place.name, node);
    themis_posix_release(trail->filesystem, place.parent, 1);
    return error;
}

/* `done` has a name more. `at_end`: nothing is to be found below it, so it need not exist. */
static int enter(trail_t *trail, int at_end)
{
    themis_posix_node_t *node;
    int error = look(trail, &node);

    if (error)
        return at_end && error == ENOENT ? 0 : error;
    if (node->type == THEMIS_TYPE_SYMLINK)
        error = follow_link(trail, node);
    else if (node->type != THEMIS_TYPE_DIRECTORY && !at_end)
        error = ENOTDIR;
    themis_posix_release(trail->filesystem, node, 1);
    return error;
}

/* Cuts the first component off, NULL: there is none. */
static char *component_take(char *rest, char name[THEMIS_PATH_BYTES])
{
    const char *begin = rest + strspn(rest, "/");
    const size_t length = strcspn(begin, "/");

    if (length == 0 || length >= THEMIS_PATH_BYTES)
        return NULL;
    memcpy(name, begin, length);
    name[length] = '\0';
    memmove(rest, begin + length, strlen(begin + length) + 1);
    return name;
}

static int resolve(trail_t *trail, int last)
{
    char name[THEMIS_PATH_BYTES];
    int error = 0;

    while (!error && !trail->local && component_take(trail->rest, name)) {
        const int at_end = trail->rest[strspn(trail->rest, "/")] == '\0';
        if (strcmp(name, ".") == 0)
            continue;
        if (strcmp(name, "..") == 0) {
            if (!trail->done[0])
                error = leave(trail);
            go_up(trail->done);
            continue;
        }
        if (strlen(trail->done) + strlen(name) + 2 > sizeof trail->done)
            return ENAMETOOLONG;
        strcat(strcat(trail->done, "/"), name);
        if (!at_end || last)
            error = enter(trail, at_end);
    }
    return error;
}

int themis_preload_core_follow(const char *path, int last, char *result, size_t size)
{
    trail_t trail = {.local = 0};
    int error = strlen(path) < sizeof trail.rest ? themis_preload_begin(&trail.filesystem) : ENAMETOOLONG;

    if (error)
        return themis_preload_result(error);
    strcpy(trail.rest, path);
    error = resolve(&trail, last);
    const char *found = trail.local ? trail.rest : trail.done[0] ? trail.done : "/";
    if (!error && strlen(found) >= size)
        error = ENAMETOOLONG;
    if (!error)
        strcpy(result, found);
    return themis_preload_end_with(error) == 0 ? !trail.local : -1;
}

ssize_t themis_preload_core_readlink(int fd, const char *path, int flags, char *target, size_t size)
{
    char whole[THEMIS_PATH_BYTES];
    themis_preload_target_t place;
    int error = size > 0 ? themis_preload_target_begin(fd, path, flags, &place) : EINVAL;
    size_t length = 0;

    if (error)
        return themis_preload_result(error);
    if (place.node->type != THEMIS_TYPE_SYMLINK)
        error = EINVAL;
    else
        error = themis_posix_readlink(place.filesystem, themis_preload_caller(), place.node, whole);
    if (!error) {
        length = strlen(whole) < size ? strlen(whole) : size;
        memcpy(target, whole, length);
    }
    return themis_preload_target_end(&place, error) == 0 ? (ssize_t)length : -1;
}
