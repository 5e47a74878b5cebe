/* SPDX-License-Identifier: BSD-3-Clause */
#include "mount/mountpoint.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "util/status.h"

static const char type_of_mounts[] = "fuse.themis";

__attribute__((format(printf, 4, 5))) static themis_status_t fail(themis_status_t status, char *error, int size,
                                                                  const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(error, (size_t)size, format, list);
    va_end(list);
    return status;
}

static themis_status_t fail_errno(const char *path, char *error, int size)
{
    const int code = errno;

    return fail(themis_util_status_from_errno(code), error, size, "%s: %s", path, strerror(code));
}

/* Cuts "/a/b" into "/a" and "b", which is returned. Trailing slashes are dropped. */
static const char *last_component(char *path)
{
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return path;
    *slash = '\0';
    return slash + 1;
}

themis_status_t themis_mount_mountpoint_resolve(const char *directory, char path[PATH_MAX], char *error, int size)
{
    char copy[PATH_MAX], above[PATH_MAX];

    if (!*directory || strlen(directory) >= sizeof copy)
        return fail(THEMIS_INVALID, error, size, "'%.100s' is not a directory", directory);
    strcpy(copy, directory);
    const char *name = last_component(copy);
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return realpath(directory, path) ? THEMIS_OK : fail_errno(directory, error, size);
    if (!realpath(name == copy ? "." : *copy ? copy : "/", above))
        return fail_errno(directory, error, size);
    if (snprintf(path, PATH_MAX, "%s/%s", above[1] ? above : "", name) >= PATH_MAX)
        return fail(THEMIS_NAME_TOO_LONG, error, size, "%.100s...: the path is too long", directory);
    return THEMIS_OK;
}

/* The type of what is mounted at a path; "" if nothing is. The last one counts. */
static void mounted_type(const char *path, char type[64])
{
    char buffer[8192];
    struct mntent entry;
    FILE *mounts = setmntent("/proc/self/mounts", "r");

    type[0] = '\0';
    while (mounts && getmntent_r(mounts, &entry, buffer, sizeof buffer))
        if (strcmp(entry.mnt_dir, path) == 0)
            snprintf(type, 64, "%s", entry.mnt_type);
    if (mounts)
        endmntent(mounts);
}

static int is_empty(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    int count = 0;

    while (directory && (entry = readdir(directory)))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (directory)
        closedir(directory);
    return count == 0;
}

/* The program that mounts for users. */
static int helper_exists(void)
{
    static const char *const places[] = {"/usr/bin/fusermount3", "/bin/fusermount3", "/usr/local/bin/fusermount3"};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0)
            return 1;
    return 0;
}

themis_status_t themis_mount_mountpoint_check(const char *path, char *error, int size)
{
    struct stat stats;
    char type[64];

    mounted_type(path, type);
    if (strcmp(type, type_of_mounts) == 0)
        return fail(THEMIS_EXISTS, error, size, "%s: Themis is mounted there already; see 'themis umount'", path);
    if (stat(path, &stats) != 0)
        return fail_errno(path, error, size);
    if (!S_ISDIR(stats.st_mode))
        return fail(THEMIS_NOT_DIRECTORY, error, size, "%s: not a directory", path);
    if (!is_empty(path))
        return fail(THEMIS_NOT_EMPTY, error, size, "%s: the directory is not empty", path);
    if (access("/dev/fuse", F_OK) != 0)
        return fail(THEMIS_UNSUPPORTED, error, size, "/dev/fuse is not there; 'modprobe fuse' loads the kernel module");
    if (geteuid() != 0 && !helper_exists())
        return fail(THEMIS_UNSUPPORTED, error, size,
                    "fusermount3 is needed to mount without being root, and not there; on Debian install the package "
                    "fuse3");
    return THEMIS_OK;
}

/* By fusermount3, whose messages go to standard error. */
static themis_status_t unmount_by_helper(const char *path, int lazy, char *error, int size)
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0) {
        execlp("fusermount3", "fusermount3", "-u", lazy ? "-qz" : "-q", "--", path, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return THEMIS_OK;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return fail(THEMIS_UNSUPPORTED, error, size,
                    "fusermount3 could not be run; on Debian it is in the package fuse3");
    return fail(THEMIS_BUSY, error, size, "%s could not be unmounted: it is in use, or another user's", path);
}

themis_status_t themis_mount_mountpoint_unmount(const char *path, int lazy, char *error, int size)
{
    char type[64];

    mounted_type(path, type);
    if (strcmp(type, type_of_mounts) != 0)
        return fail(THEMIS_NO_ENTRY, error, size, "%s: Themis is not mounted there", path);
    if (geteuid() != 0)
        return unmount_by_helper(path, lazy, error, size);
    if (umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
        return THEMIS_OK;
    if (errno == EBUSY)
        return fail(THEMIS_BUSY, error, size,
                    "%s is in use ('fuser -vm %s' lists by whom); -l unmounts it as soon as it is not", path, path);
    return fail_errno(path, error, size);
}
