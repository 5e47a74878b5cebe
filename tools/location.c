/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/location.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/sessions.h"
#include "util/clock.h"

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Takes ownership of `text`. */
static int location_make(char *text, themis_tools_location_t *location)
{
    *location = (themis_tools_location_t){text, NULL, text};
    if (!text)
        return themis_tools_error("out of memory");
    if (!themis_tools_session_is_remote(text))
        return THEMIS_TOOLS_OK;
    int result = themis_tools_session_resolve(text, &location->session, &location->path);
    if (result != THEMIS_TOOLS_OK)
        themis_tools_location_free(location);
    return result;
}

int themis_tools_location_at(const char *text, themis_tools_location_t *location)
{
    return location_make(strdup(text), location);
}

int themis_tools_location_below(const themis_tools_location_t *directory, const char *name, size_t length,
                                themis_tools_location_t *location)
{
    size_t above = strlen(directory->text);
    char *text;

    if (length == 0)
        return themis_tools_location_at(directory->text, location);
    while (above > 0 && directory->text[above - 1] == '/')
        above--;
    if (asprintf(&text, "%.*s/%.*s", (int)above, directory->text, (int)length, name) < 0)
        text = NULL;
    return location_make(text, location);
}

void themis_tools_location_free(themis_tools_location_t *location)
{
    free(location->text);
    *location = (themis_tools_location_t){0};
}

const char *themis_tools_location_name(const char *path, size_t *length)
{
    const char *end = path + strlen(path), *name;

    while (end > path && end[-1] == '/')
        end--;
    for (name = end; name > path && name[-1] != '/'; name--)
        ;
    *length = (size_t)(end - name);
    if ((*length == 1 && name[0] == '.') || (*length == 2 && name[0] == '.' && name[1] == '.'))
        *length = 0;
    return name;
}

/* --- attributes ------------------------------------------------------------------------------------------------ */

static void local_fill(const struct stat *stats, themis_tools_location_info_t *attributes)
{
    *attributes = (themis_tools_location_info_t){.kind = S_ISDIR(stats->st_mode)   ? THEMIS_TOOLS_DIRECTORY
                                                         : S_ISREG(stats->st_mode) ? THEMIS_TOOLS_FILE
                                                         : S_ISLNK(stats->st_mode) ? THEMIS_TOOLS_LINK
                                                                                   : THEMIS_TOOLS_SPECIAL,
                                                 .mode = stats->st_mode & 0777,
                                                 .size = (uint64_t)stats->st_size,
                                                 .modified = (uint64_t)stats->st_mtim.tv_sec * THEMIS_NS_PER_S +
                                                             (uint64_t)stats->st_mtim.tv_nsec,
                                                 .uid = stats->st_uid,
                                                 .gid = stats->st_gid,
                                                 .device = stats->st_dev,
                                                 .inode = stats->st_ino,
                                                 .links = (uint32_t)stats->st_nlink};
}

static themis_tools_kind_t remote_kind(themis_type_t type)
{
    if (type == THEMIS_TYPE_SYMLINK)
        return THEMIS_TOOLS_LINK;
    return type == THEMIS_TYPE_DIRECTORY ? THEMIS_TOOLS_DIRECTORY : THEMIS_TOOLS_FILE;
}

/* Directories of servers have no number; the time at which they were made tells them apart. */
static themis_status_t remote_look(const themis_tools_location_t *location, int follow,
                                   themis_tools_location_info_t *attributes)
{
    themis_stat_t stats;
    themis_status_t status = follow ? themis_stat(location->session, location->path, &stats)
                                    : themis_lstat(location->session, location->path, &stats);

    if (status == THEMIS_OK)
        *attributes = (themis_tools_location_info_t){.kind = remote_kind(stats.type),
                                                     .mode = stats.mode & 0777,
                                                     .size = stats.size,
                                                     .modified = stats.modified,
                                                     .uid = stats.uid,
                                                     .gid = stats.gid,
                                                     .device = UINT64_MAX,
                                                     .inode = stats.type == THEMIS_TYPE_DIRECTORY ? stats.created : 0,
                                                     .links = 1};
    return status;
}

static themis_status_t look(const themis_tools_location_t *location, int flags,
                            themis_tools_location_info_t *attributes)
{
    struct stat stats;

    if (location->session)
        return remote_look(location, !(flags & AT_SYMLINK_NOFOLLOW), attributes);
    if (fstatat(AT_FDCWD, location->path, &stats, flags) != 0)
        return errno == ENOENT ? THEMIS_NO_ENTRY : THEMIS_IO;
    local_fill(&stats, attributes);
    return THEMIS_OK;
}

themis_status_t themis_tools_location_look(const themis_tools_location_t *location,
                                           themis_tools_location_info_t *attributes)
{
    return look(location, 0, attributes);
}

themis_status_t themis_tools_location_look_link(const themis_tools_location_t *location,
                                                themis_tools_location_info_t *attributes)
{
    return look(location, AT_SYMLINK_NOFOLLOW, attributes);
}

int themis_tools_location_is_stream(const themis_tools_location_t *location)
{
    return !location->session && strcmp(location->path, "-") == 0;
}

/* --- identity --------------------------------------------------------------------------------------------- */

/* The directory `path`, or the one in which it would be made; -1 with errno. */
static int directory_open(const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *copy;

    if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR) || !(copy = strdup(path)))
        return fd;
    fd = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    return fd;
}

static int is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* 1 if `wanted` is directory `fd`, which is closed, or one above it, 0 if not, -1 with errno. */
static int is_above(int fd, const struct stat *wanted)
{
    struct stat now, above;
    int failed = fstat(fd, &now);

    while (!failed && !is_same(&now, wanted)) {
        int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        if (up < 0)
            return -1;
        fd = up;
        failed = fstat(fd, &above);
        if (!failed && is_same(&now, &above)) {
            close(fd);
            return 0;
        }
        now = above;
    }
    close(fd);
    return failed ? -1 : 1;
}

static int local_is_within(const char *path, const char *directory, int *within)
{
    struct stat stats;
    int fd = -1, found = -1;

    if (stat(directory, &stats) == 0 && (fd = directory_open(path)) >= 0)
        found = is_above(fd, &stats);
    if (found < 0 && errno != ENOENT && errno != ENOTDIR)
        return themis_tools_error_errno(path);
    *within = found == 1; /* where not even the directory above exists, nothing can be made */
    return THEMIS_TOOLS_OK;
}

/* Both are normalised. */
static int path_is_below(const char *path, const char *directory)
{
    size_t length = directory[1] ? strlen(directory) : 0;

    return strncmp(path, directory, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static int remote_is_within(const themis_tools_location_t *location, const themis_tools_location_t *directory,
                            int *within)
{
    char inner[THEMIS_PATH_BYTES], outer[THEMIS_PATH_BYTES];

    *within = 0;
    if (themis_path_normalise(location->path, inner) != THEMIS_OK ||
        themis_path_normalise(directory->path, outer) != THEMIS_OK || !path_is_below(inner, outer))
        return THEMIS_TOOLS_OK;
    return themis_tools_session_same_servers(location->session, directory->session, within);
}

int themis_tools_location_is_same_file(const themis_tools_location_t *a, const themis_tools_location_t *b, int *same)
{
    char path_a[THEMIS_PATH_BYTES], path_b[THEMIS_PATH_BYTES];
    struct stat at, bt;

    *same = 0;
    if (a->session && b->session)
        return themis_path_normalise(a->path, path_a) != THEMIS_OK ||
                       themis_path_normalise(b->path, path_b) != THEMIS_OK || strcmp(path_a, path_b) != 0
                   ? THEMIS_TOOLS_OK
                   : themis_tools_session_same_servers(a->session, b->session, same);
    if (!a->session && !b->session)
        *same = stat(a->path, &at) == 0 && stat(b->path, &bt) == 0 && is_same(&at, &bt) && S_ISREG(at.st_mode);
    return THEMIS_TOOLS_OK;
}

int themis_tools_location_is_within(const themis_tools_location_t *location, const themis_tools_location_t *directory,
                                    int *within)
{
    if (location->session && directory->session)
        return remote_is_within(location, directory, within);
    *within = 0;
    if (location->session || directory->session)
        return THEMIS_TOOLS_OK;
    return local_is_within(location->path, directory->path, within);
}
