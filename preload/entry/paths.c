/* SPDX-License-Identifier: BSD-3-Clause */
/* Which paths are below the mount point, and the working directory. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "preload/description.h"
#include "preload/entry/entry.h"
#include "preload/kernel.h"
#include "util/mount_point.h"

/* --- the working directory -----------------------------------------------------------------------------------------
 */

/* Where the kernel takes a process to be whose working directory is below the mount point, for programs that do not
 * have this library: nothing is there, and nothing can be made there. */
static const char *const nowhere[] = {"/proc/tty/ldisc", "/proc/self/fdinfo"};

static struct {
    char path[THEMIS_PATH_BYTES]; /* on servers; "" it is not there */
    int fd;                       /* for programs that are started; atomic */
} working = {.fd = -1};

/* Where a child of vfork has gone, whose memory is that of the thread that waits for it. */
static __thread struct {
    pid_t pid; /* 0: there is none */
    int fd;    /* as above; -1: not on servers */
} child;

static int is_child(void)
{
    return child.pid && child.pid == (pid_t)themis_preload_kernel(SYS_getpid);
}

/* The path in a descriptor, or NULL; `buffer`: for its description. */
typedef char described_t[sizeof(themis_preload_description_t) + THEMIS_PATH_BYTES];

static const char *described_path(int fd, described_t buffer)
{
    themis_preload_description_t description;
    const void *handle;
    const char *path;

    return themis_preload_description_read(fd, buffer, sizeof(described_t), &description, &path, &handle) == 0 &&
                   strlen(path) < THEMIS_PATH_BYTES
               ? path
               : NULL;
}

/* The path on servers of the working directory, valid as long as the buffer and until the next chdir; NULL: it is not
 * there. */
static const char *current(described_t buffer)
{
    if (child.pid) {
        if (is_child())
            return child.fd >= 0 ? described_path(child.fd, buffer) : NULL;
        child.pid = 0; /* it runs another program by now, or has ended */
    }
    return working.path[0] ? working.path : NULL;
}

int themis_preload_has_directory_descriptor(void)
{
    return __atomic_load_n(&working.fd, __ATOMIC_RELAXED) >= 0 || child.pid;
}

int themis_preload_is_directory_descriptor(int fd)
{
    if (fd < 0)
        return 0;
    return fd == __atomic_load_n(&working.fd, __ATOMIC_RELAXED) || (child.pid && fd == child.fd && is_child());
}

/* 1: the kernel takes the process to be nowhere. */
static int is_nowhere(void)
{
    char path[PATH_MAX];
    const int error = errno;
    const long length = themis_preload_kernel(SYS_getcwd, path, sizeof path);

    errno = error;
    if (length <= 0)
        return 0;
    const char *last = strrchr(path, '/');
    return strcmp(path, nowhere[0]) == 0 || (strncmp(path, "/proc/", 6) == 0 && strcmp(last, "/fdinfo") == 0);
}

/* A program in between that does not have this library may have gone elsewhere; then it is of no meaning. */
void themis_preload_directory_inherit(int fd)
{
    described_t buffer;
    const char *path = is_nowhere() && working.fd < 0 ? described_path(fd, buffer) : NULL;

    if (!path) {
        themis_preload_kernel(SYS_close, fd);
        return;
    }
    strcpy(working.path, path);
    working.fd = fd;
}

/* Out of the way of the numbers that programs expect. */
static int descriptor_make(const char *path)
{
    const themis_preload_description_t description = {.kind = THEMIS_PRELOAD_WORKING_DIRECTORY,
                                                      .path_bytes = (uint32_t)strlen(path) + 1};
    int fd = themis_preload_description_make(&description, path, "", 0);

    if (fd < 0)
        return -1;
    for (int least = 1000; least > 100; least /= 2) {
        const int high = (int)themis_preload_kernel(SYS_fcntl, fd, F_DUPFD, least);
        if (high >= 0) {
            themis_preload_kernel(SYS_close, fd);
            return high;
        }
    }
    return fd;
}

static int enter_nowhere(void)
{
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        if (REAL(chdir)(nowhere[i]) == 0)
            return 0;
    return -1;
}

/* `fd` and `path` are from now on the working directory; -1 and "": it is local. */
static void working_set(int fd, const char *path)
{
    if (themis_preload_owns()) {
        const int before = __atomic_exchange_n(&working.fd, fd, __ATOMIC_RELAXED);
        if (before >= 0)
            themis_preload_kernel(SYS_close, before);
        strcpy(working.path, path);
        return;
    }
    const int before = is_child() ? child.fd : working.fd;
    if (before >= 0) /* the child's number only */
        themis_preload_kernel(SYS_close, before);
    child.pid = (pid_t)themis_preload_kernel(SYS_getpid);
    child.fd = fd;
}

/* `remote`: a directory that exists. */
static int directory_set(const char *remote)
{
    char normal[THEMIS_PATH_BYTES];

    if (themis_client_path_normalise(*remote ? remote : "/", normal) != THEMIS_OK) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = descriptor_make(normal);
    if (fd < 0 || enter_nowhere() != 0) {
        if (fd >= 0)
            themis_preload_kernel(SYS_close, fd);
        return -1;
    }
    working_set(fd, normal);
    return 0;
}

/* After the kernel has gone to a local one. */
static void directory_leave(void)
{
    if (themis_preload_has_directory_descriptor())
        working_set(-1, "");
}

/* 0, and `arg`, a path on servers, is what it leads to: a directory that may be entered, or a local path. Or an errno.
 */
static int directory_find(void *arg)
{
    themis_preload_path_t *where = arg;
    int below = 1, result = -1;

    CALL_CORE(result, below, where, 1, access(where->remote, X_OK, AT_EACCESS | THEMIS_PRELOAD_DIRECTORY));
    if (below != 1)
        return below < 0 ? errno : 0;
    return result == 0 ? 0 : errno;
}

/* The same by a child, whose result is in memory that both have. */
static int directory_find_apart(themis_preload_path_t *where)
{
    themis_preload_path_t *shared = (themis_preload_path_t *)themis_preload_kernel(
        SYS_mmap, NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0L);

    if (shared == MAP_FAILED)
        return errno;
    *shared = *where;
    shared->remote = strcpy(shared->buffer, where->remote);
    const int error = themis_preload_apart(directory_find, shared);
    *where = *shared;
    where->remote = shared->remote ? where->buffer : NULL;
    where->path = where->buffer;
    themis_preload_kernel(SYS_munmap, shared, sizeof *shared);
    return error;
}

static int enter_remote(themis_preload_path_t *where)
{
    const int error = themis_preload_may_enter() ? directory_find(where) : directory_find_apart(where);

    if (error) {
        errno = error;
        return -1;
    }
    return where->remote ? directory_set(where->remote) : chdir(where->path);
}

EXPORTED int chdir(const char *path)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve(AT_FDCWD, path, &where);

    if (below != 0)
        return below < 0 ? -1 : enter_remote(&where);
    const int result = REAL(chdir)(where.path);
    if (result == 0)
        directory_leave();
    return result;
}

/* A link that was opened with O_PATH is not followed. */
static int enter_descriptor(int fd)
{
    themis_preload_path_t where = {.remote = where.buffer};
    const themis_preload_core_t *core = themis_preload_enter();
    struct stat stat;

    if (!core)
        return -1;
    int result = core->path(fd, where.buffer, THEMIS_PATH_BYTES);
    if (result == 0)
        result = core->stat(-1, where.buffer, AT_SYMLINK_NOFOLLOW | THEMIS_PRELOAD_DIRECTORY, &stat);
    themis_preload_leave();
    return result == 0 ? enter_remote(&where) : -1;
}

EXPORTED int fchdir(int fd)
{
    if (themis_preload_is_ours(fd))
        return enter_descriptor(fd);
    const int result = REAL(fchdir)(fd);
    if (result == 0)
        directory_leave();
    return result;
}

int themis_preload_full_path(const char *remote, char *path, size_t size)
{
    const char *rest = strcmp(remote, "/") == 0 ? "" : remote;

    if (snprintf(path, size, "%s%s", themis_util_mount_point(), rest) < (int)size)
        return 0;
    errno = ERANGE;
    return -1;
}

EXPORTED char *getcwd(char *buffer, size_t size)
{
    char path[THEMIS_PATH_BYTES + PATH_MAX];
    described_t described;
    const char *remote = current(described);

    if (!remote)
        return REAL(getcwd)(buffer, size);
    if (buffer && size == 0) {
        errno = EINVAL;
        return NULL;
    }
    themis_preload_full_path(remote, path, sizeof path);
    if (!buffer && size == 0)
        return strdup(path);
    if (strlen(path) >= size) {
        errno = ERANGE;
        return NULL;
    }
    if (!buffer && !(buffer = malloc(size)))
        return NULL;
    return strcpy(buffer, path);
}

EXPORTED char *get_current_dir_name(void)
{
    return getcwd(NULL, 0);
}

EXPORTED char *getwd(char *buffer)
{
    return getcwd(buffer, PATH_MAX);
}

/* --- paths ---------------------------------------------------------------------------------------------------------
 */

/* 1: resolving "." and ".." and slashes may lead to another place. */
static int is_intricate(const char *path)
{
    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
        if (at[1] == '/' ||
            (at[1] == '.' && (at[2] == '/' || at[2] == '\0' || (at[2] == '.' && (at[3] == '/' || at[3] == '\0')))))
            return 1;
    return path[0] == '.' && path[1] == '.' && (path[2] == '/' || path[2] == '\0');
}

static int fail(int error)
{
    errno = error;
    return -1;
}

/* Looks at the end of the path. */
static void end_see(themis_preload_path_t *result, const char *path)
{
    size_t end = strlen(path);

    while (end > 0 && path[end - 1] == '/')
        end--;
    result->is_directory = path[end] == '/';
    for (size_t begin = end; begin > 0 && path[begin - 1] == '.';)
        if (--begin == 0 || path[begin - 1] == '/')
            result->dots = (int)(end - begin) <= 2 ? (int)(end - begin) : 0;
    result->is_directory |= result->dots > 0;
}

/* 1: there is ".." after a name, of which only servers know whether it is a link. */
static int is_winding(const char *path)
{
    int named = 0;

    for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
        const size_t length = strcspn(path, "/");
        const int up = length == 2 && path[0] == '.' && path[1] == '.';
        if (up && named)
            return 1;
        named |= !up && !(length == 1 && path[0] == '.');
        path += length;
    }
    return 0;
}

/* `absolute`, which may be intricate, as what it is: below the mount point or not. */
static int settle(const char *absolute, themis_preload_path_t *result)
{
    const char *below = themis_util_mount_point_below(absolute);
    char normal[THEMIS_PATH_BYTES];

    if (is_intricate(absolute) && !(below && is_winding(below))) {
        if (themis_client_path_normalise(absolute, normal) != THEMIS_OK)
            return below ? fail(ENAMETOOLONG) : 0;
        strcpy(result->buffer, normal);
        if (below) /* the kernel knows no way out of what it does not know */
            result->path = result->buffer;
        below = themis_util_mount_point_below(result->buffer);
    }
    if (!below)
        return 0;
    if (strlen(below) >= THEMIS_PATH_BYTES - 1)
        return fail(ENAMETOOLONG);
    result->remote = *below ? below : "/";
    return 1;
}

/* A path relative to one on servers; it may lead out of the mount point. */
static int settle_relative(const char *directory, const char *path, themis_preload_path_t *result)
{
    char absolute[2 * PATH_MAX + THEMIS_PATH_BYTES], normal[THEMIS_PATH_BYTES];

    if (themis_preload_full_path(directory, absolute, sizeof absolute) != 0 || strlen(path) >= THEMIS_PATH_BYTES)
        return fail(ENAMETOOLONG);
    strcat(strcat(absolute, "/"), path);
    if (is_winding(path) && strlen(absolute) < THEMIS_PATH_BYTES) {
        result->remote = strcpy(result->buffer, absolute) + strlen(themis_util_mount_point());
        return 1;
    }
    if (themis_client_path_normalise(absolute, normal) != THEMIS_OK)
        return fail(ENAMETOOLONG);
    strcpy(result->buffer, normal);
    const char *below = themis_util_mount_point_below(result->buffer);
    result->remote = below ? *below ? below : "/" : NULL;
    if (!below) {
        result->directory = AT_FDCWD;
        result->path = result->buffer;
    }
    return below != NULL;
}

/* 1: from a directory above the mount point such a path can lead there. */
static int begins_as_mount(const char *path)
{
    while (path[0] == '.' && path[1] == '/')
        for (path += 2; *path == '/'; path++)
            ;
    for (const char *at = themis_util_mount_point(); *at; at += strcspn(at, "/")) {
        const size_t length = strlen(++at);
        if (strncmp(path, at, length) == 0 && (path[length] == '/' || path[length] == '\0'))
            return 1;
    }
    return 0;
}

/* The path of a local directory, with room for another behind it; 0: it is not known. */
static int local_path(int directory, char path[2 * PATH_MAX + 2])
{
    char link[40];
    const int error = errno;

    if (directory == AT_FDCWD)
        return REAL(getcwd)(path, PATH_MAX) != NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    const long length = themis_preload_kernel(SYS_readlinkat, AT_FDCWD, link, path, (size_t)PATH_MAX - 1);
    errno = error;
    if (length <= 0 || *path != '/')
        return 0;
    path[length] = '\0';
    return 1;
}

/* A relative path that may lead below the mount point from a local directory. */
static int settle_local(themis_preload_path_t *result)
{
    char absolute[2 * PATH_MAX + 2];
    const char *mount = themis_util_mount_point(), *last = strrchr(mount, '/');

    if (!is_intricate(result->path) && !begins_as_mount(result->path))
        return 0;
    if (!last || !strstr(result->path, last + 1) || strlen(result->path) >= PATH_MAX ||
        !local_path(result->directory, absolute))
        return 0;
    if (strcmp(absolute, "/") != 0)
        strcat(absolute, "/");
    strcat(absolute, result->path);
    if (strlen(absolute) >= sizeof result->buffer)
        return 0;
    return settle(strcpy(result->buffer, absolute), result);
}

static int resolve_relative(themis_preload_path_t *result)
{
    if (result->directory == AT_FDCWD) {
        described_t described;
        const char *remote = current(described);
        if (remote)
            return settle_relative(remote, result->path, result);
        return settle_local(result);
    }
    if (!themis_preload_is_ours(result->directory))
        return settle_local(result);
    const char *directory = themis_preload_path_of(result->directory, result);
    return directory ? settle_relative(directory, result->path, result) : -1;
}

int themis_preload_follow(themis_preload_path_t *path, int last)
{
    const themis_preload_core_t *core = themis_preload_enter();

    if (!core)
        return -1;
    const int below = core->follow(path->remote, last || path->is_directory, path->buffer, sizeof path->buffer - 1);
    themis_preload_leave();
    if (below == 0) {
        path->directory = AT_FDCWD;
        path->path = path->is_directory ? strcat(path->buffer, "/") : path->buffer;
    }
    path->remote = below == 1 ? path->buffer : NULL;
    return below;
}

int themis_preload_is_elsewhere(const char *path)
{
    return path && *path == '/' && strncmp(path, "/proc", 5) != 0 && strncmp(path, "/dev", 4) != 0 &&
           !is_intricate(path) && !themis_util_mount_point_below(path);
}

static int resolve(int directory, const char *path, int is_name, themis_preload_path_t *result)
{
    result->directory = directory;
    result->path = path;
    result->remote = NULL;
    result->is_directory = 0;
    result->dots = 0;
    if (themis_preload_inside || !path || !*path || !*themis_util_mount_point())
        return 0;
    int below = is_name ? 0 : themis_preload_resolve_descriptor(path, result);
    if (below != 0)
        return below;
    if (*path == '/')
        below = settle(path, result);
    else
        below = resolve_relative(result);
    if (below == 1)
        end_see(result, path);
    return below;
}

int themis_preload_resolve(int directory, const char *path, themis_preload_path_t *result)
{
    return resolve(directory, path, 0, result);
}

int themis_preload_resolve_name(int directory, const char *path, themis_preload_path_t *result)
{
    return resolve(directory, path, 1, result);
}
