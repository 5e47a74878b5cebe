/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths that lead through /proc and /dev to a descriptor: of this process, or another. The kernel would open the memory
 * file that stands for a file on servers, and hand out what is in it.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "preload/description.h"
#include "preload/entry/entry.h"
#include "preload/kernel.h"

/* What the kernel shows as the target of such a link. */
static const char link_target[] = "/memfd:" THEMIS_PRELOAD_MEMORY_NAME " (deleted)";

static int fail(int error)
{
    errno = error;
    return -1;
}

/* --- what a path names ---------------------------------------------------------------------------------------------
 */

/* What follows `prefix`, or NULL. */
static const char *after(const char *path, const char *prefix)
{
    const size_t length = strlen(prefix);

    return strncmp(path, prefix, length) == 0 ? path + length : NULL;
}

/* What follows a number, or NULL. */
static const char *after_number(const char *path, long *number)
{
    char *end;

    if (!isdigit((unsigned char)*path))
        return NULL;
    *number = strtol(path, &end, 10);
    return end;
}

/* What follows the directory of a process or thread; *process: 0 is this one. */
static const char *after_process(const char *path, long *process)
{
    const char *rest = after(path, "/proc/self");
    long thread;

    *process = 0;
    if (!rest && !(rest = after(path, "/proc/thread-self")))
        rest = (rest = after(path, "/proc/")) ? after_number(rest, process) : NULL;
    if (!rest)
        return NULL;
    if (*process == themis_preload_kernel(SYS_getpid))
        *process = 0;
    const char *task = after(rest, "/task/");
    return task ? after_number(task, &thread) : rest;
}

/* 1: the path is the link of a descriptor. */
static int names_descriptor(const char *path, long *process, long *fd)
{
    static const char *const standard[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    const char *rest;

    *process = 0;
    if (path[0] != '/' || (path[1] != 'd' && path[1] != 'p'))
        return 0;
    for (*fd = 0; *fd < 3; ++*fd)
        if (strcmp(path, standard[*fd]) == 0)
            return 1;
    if (!(rest = after(path, "/dev/fd/")))
        rest = (rest = after_process(path, process)) ? after(rest, "/fd/") : NULL;
    rest = rest ? after_number(rest, fd) : NULL;
    return rest && *rest == '\0' && *fd <= INT_MAX;
}

static int is_number(const char *path)
{
    const size_t length = path ? strlen(path) : 0;
    size_t at = length;

    while (at > 0 && isdigit((unsigned char)path[at - 1]))
        at--;
    return at < length && (at == 0 || path[at - 1] == '/');
}

int themis_preload_may_be_memory(const char *path)
{
    return themis_preload_was_any() || themis_preload_loaded() || is_number(path);
}

/* --- which file that is --------------------------------------------------------------------------------------------
 */

/* In the second half of the buffer; NULL, with errno. */
static const char *path_get(int fd, int is_own, themis_preload_path_t *result)
{
    const themis_preload_core_t *core = themis_preload_enter();
    char *path = result->buffer + THEMIS_PATH_BYTES;

    if (!core)
        return NULL;
    const int error = (is_own ? core->path : core->look)(fd, path, THEMIS_PATH_BYTES);
    themis_preload_leave();
    return error == 0 ? path : NULL;
}

const char *themis_preload_path_of(int fd, themis_preload_path_t *result)
{
    return path_get(fd, 1, result);
}

/* The file behind a memory file that this process has open for as long. */
static int memory_resolve(int fd, themis_preload_path_t *result)
{
    const themis_preload_kind_t kind = themis_preload_description_look(fd);

    if (kind == THEMIS_PRELOAD_NONE)
        return 0;
    if (kind != THEMIS_PRELOAD_OPENED || !themis_preload_is_trusted(fd))
        return fail(ENOENT);
    result->remote = path_get(fd, 0, result);
    return result->remote ? 1 : -1;
}

/* Of another process. */
static int elsewhere_resolve(const char *path, themis_preload_path_t *result)
{
    char target[sizeof link_target];
    const int error = errno;
    const long length = themis_preload_kernel(SYS_readlinkat, AT_FDCWD, path, target, sizeof target);

    errno = error;
    if (length != (long)sizeof target - 1 || memcmp(target, link_target, sizeof target - 1) != 0)
        return 0;
    const int fd =
        themis_preload_fresh((int)themis_preload_kernel(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
    if (fd < 0)
        return fail(ENOENT);
    const int below = memory_resolve(fd, result), why = errno;
    themis_preload_kernel(SYS_close, fd);
    errno = why;
    return below;
}

int themis_preload_resolve_descriptor(const char *path, themis_preload_path_t *result)
{
    long process, fd;

    if (!names_descriptor(path, &process, &fd))
        return 0;
    if (process != 0)
        return elsewhere_resolve(path, result);
    if (!themis_preload_is_ours((int)fd))
        return 0;
    result->remote = themis_preload_path_of((int)fd, result);
    return result->remote ? 1 : -1;
}

int themis_preload_opened_local(int fd, const char *path)
{
    if (fd < 0 || themis_preload_inside || !themis_preload_may_be_memory(path) ||
        themis_preload_description_look(fd) == THEMIS_PRELOAD_NONE)
        return themis_preload_internal(fd);
    REAL(close)(fd);
    return fail(ENOENT);
}
