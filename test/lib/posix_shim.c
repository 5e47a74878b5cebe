/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into programs that look at a file by POSIX before MPI does, under the path behind "themis:": below the
 * directory $POSIX_SHIM_DIRECTORY, which is on the servers, open(2) for reading, access(2), truncate(2) and unlink(2)
 * ask the command `themis`. A file that is opened is a copy of its first bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { COPY_BYTES = 65536, COMMAND_BYTES = 9000 };

static int is_on_servers(const char *path)
{
    const char *directory = getenv("POSIX_SHIM_DIRECTORY");
    size_t length = directory ? strlen(directory) : 0;

    return length > 0 && strncmp(path, directory, length) == 0 && path[length] == '/';
}

/* `themis` with what the format makes of it; paths have no quotes here. Returns 0, or -1 with ENOENT. */
__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
    char command[COMMAND_BYTES] = "exec 2>/dev/null; unset LD_PRELOAD; themis ";
    size_t used = strlen(command);
    va_list list;

    va_start(list, format);
    vsnprintf(command + used, sizeof command - used, format, list);
    va_end(list);
    if (system(command) == 0)
        return 0;
    errno = ENOENT;
    return -1;
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static int open_copy(const char *path, int (*real_open)(const char *, int, ...))
{
    char name[] = "/tmp/posix-shim.XXXXXX";
    int fd = mkstemp(name);

    if (fd < 0)
        return -1;
    close(fd);
    fd = -1;
    if (run("stat 'themis:%s' >/dev/null && themis cat 'themis:%s' | head -c %d >%s", path, path, COPY_BYTES, name) ==
        0)
        fd = real_open(name, O_RDONLY);
    unlink(name);
    return fd;
}

EXPORT int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))next("open");
    mode_t mode = 0;
    va_list list;

    va_start(list, flags);
    if (flags & (O_CREAT | O_TMPFILE))
        mode = va_arg(list, mode_t);
    va_end(list);
    if (is_on_servers(path) && (flags & O_ACCMODE) == O_RDONLY)
        return open_copy(path, real);
    return real(path, flags, mode);
}

EXPORT int access(const char *path, int mode)
{
    if (is_on_servers(path))
        return run("stat 'themis:%s' >/dev/null", path);
    return ((int (*)(const char *, int))next("access"))(path, mode);
}

EXPORT int truncate(const char *path, off_t length)
{
    if (is_on_servers(path) && length == 0)
        return run("stat 'themis:%s' >/dev/null && themis cp /dev/null 'themis:%s'", path, path);
    return ((int (*)(const char *, off_t))next("truncate"))(path, length);
}

EXPORT int unlink(const char *path)
{
    if (is_on_servers(path))
        return run("rm 'themis:%s'", path);
    return ((int (*)(const char *))next("unlink"))(path);
}
