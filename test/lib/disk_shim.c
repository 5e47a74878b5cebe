/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into themisd, in front of what it asks of the disk. The directories that it syncs are listed in the file
 * $DISK_SHIM_SYNCS; while the file $DISK_SHIM_FULL exists, files below directories called "names" cannot grow.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void path_of(int fd, char path[PATH_MAX])
{
    char link[64];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
}

static void list_directory(int fd)
{
    const char *list = getenv("DISK_SHIM_SYNCS");
    char path[PATH_MAX];
    struct stat stat;

    if (!list || fstat(fd, &stat) < 0 || !S_ISDIR(stat.st_mode))
        return;
    path_of(fd, path);
    FILE *out = fopen(list, "a");
    if (out) {
        fprintf(out, "%s\n", path);
        fclose(out);
    }
}

EXPORT int fsync(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

    list_directory(fd);
    return real(fd);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t length)
{
    ssize_t (*real)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    const char *full = getenv("DISK_SHIM_FULL");
    char path[PATH_MAX];

    if (full && access(full, F_OK) == 0) {
        path_of(fd, path);
        if (strstr(path, "/names/")) {
            errno = ENOSPC;
            return -1;
        }
    }
    return real(fd, bytes, length);
}
