/* SPDX-License-Identifier: BSD-3-Clause */
#include "preload/core/target.h"
#include <errno.h>
#include "preload/core/calls.h"
#include "preload/core/state.h"
#include "preload/core/walk.h"

static int path_begin(const char *path, int flags, themis_preload_target_t *target)
{
    int error = themis_preload_begin(&target->filesystem);

    if (error)
        return error;
    error = themis_preload_walk(target->filesystem, path, flags, &target->node, &target->stat);
    if (!error && flags & THEMIS_PRELOAD_DIRECTORY && target->node->type != THEMIS_TYPE_DIRECTORY) {
        themis_posix_release(target->filesystem, target->node, 1);
        error = ENOTDIR;
    }
    if (error)
        themis_preload_end();
    return error;
}

int themis_preload_target_begin(int fd, const char *path, int flags, themis_preload_target_t *target)
{
    target->open = NULL;
    if (path)
        return path_begin(path, flags, target);
    if (themis_preload_call_begin(fd, &target->open) != 0)
        return errno;
    target->filesystem = target->open->filesystem;
    target->node = target->open->node;
    themis_posix_acquire(target->filesystem, target->node);
    return 0;
}

int themis_preload_target_end(themis_preload_target_t *target, int error)
{
    themis_posix_release(target->filesystem, target->node, 1);
    if (target->open)
        themis_preload_open_file_put(target->open);
    return themis_preload_end_with(error);
}
