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
#include "client/path.h"

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Takes `text` over. */
static int locate(const themis_tools_command_t *self, char *text, themis_tools_place_t *place)
{
    *place = (themis_tools_place_t){text, NULL, text};
    if (!text)
        return themis_tools_complain(self, "out of memory");
    if (!themis_tools_is_remote(text))
        return THEMIS_TOOLS_OK;
    int result = themis_tools_resolve(self, text, &place->session, &place->path);
    if (result != THEMIS_TOOLS_OK)
        themis_tools_place_free(place);
    return result;
}

int themis_tools_place_at(const themis_tools_command_t *self, const char *text, themis_tools_place_t *place)
{
    return locate(self, strdup(text), place);
}

int themis_tools_place_below(const themis_tools_command_t *self, const themis_tools_place_t *directory,
                             const char *name, size_t length, themis_tools_place_t *place)
{
    size_t above = strlen(directory->text);
    char *text;

    if (length == 0)
        return themis_tools_place_at(self, directory->text, place);
    while (above > 0 && directory->text[above - 1] == '/')
        above--;
    if (asprintf(&text, "%.*s/%.*s", (int)above, directory->text, (int)length, name) < 0)
        text = NULL;
    return locate(self, text, place);
}

void themis_tools_place_free(themis_tools_place_t *place)
{
    free(place->text);
    *place = (themis_tools_place_t){0};
}

const char *themis_tools_place_name(const char *path, size_t *length)
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

/* --- what is there ------------------------------------------------------------------------------------------------ */

static themis_status_t look_here(const char *path, themis_tools_attributes_t *attributes)
{
    struct stat stats;

    if (stat(path, &stats) != 0)
        return errno == ENOENT ? THEMIS_NO_ENTRY : THEMIS_IO;
    *attributes = (themis_tools_attributes_t){S_ISDIR(stats.st_mode)   ? THEMIS_TOOLS_DIRECTORY
                                              : S_ISREG(stats.st_mode) ? THEMIS_TOOLS_FILE
                                                                       : THEMIS_TOOLS_SPECIAL,
                                              stats.st_mode & 0777, (uint64_t)stats.st_size};
    return THEMIS_OK;
}

themis_status_t themis_tools_place_look(const themis_tools_place_t *place, themis_tools_attributes_t *attributes)
{
    themis_stat_t stats;

    if (!place->session)
        return look_here(place->path, attributes);
    themis_status_t status = themis_stat(place->session, place->path, &stats);
    if (status == THEMIS_OK)
        *attributes = (themis_tools_attributes_t){stats.type == THEMIS_TYPE_DIRECTORY ? THEMIS_TOOLS_DIRECTORY
                                                                                      : THEMIS_TOOLS_FILE,
                                                  stats.mode & 0777, stats.size};
    return status;
}

/* --- what is the same --------------------------------------------------------------------------------------------- */

/* The directory `path`, or the one in which it would be made; -1 with errno. */
static int open_nearest(const char *path)
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

/* From directory `fd`, which is closed, upwards: 1 if it meets `wanted`, 0 at the root, -1 with errno. */
static int climb(int fd, const struct stat *wanted)
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

static int is_within_here(const themis_tools_command_t *self, const char *path, const char *directory, int *within)
{
    struct stat stats;
    int fd = -1, found = -1;

    if (stat(directory, &stats) == 0 && (fd = open_nearest(path)) >= 0)
        found = climb(fd, &stats);
    if (found < 0 && errno != ENOENT && errno != ENOTDIR)
        return themis_tools_complain(self, "%s: %s", path, strerror(errno));
    *within = found == 1; /* where even the directory above is not there, nothing can be made */
    return THEMIS_TOOLS_OK;
}

static int is_within_there(const themis_tools_command_t *self, const themis_tools_place_t *place,
                           const themis_tools_place_t *directory, int *within)
{
    char inner[THEMIS_CLIENT_PATH_BYTES], outer[THEMIS_CLIENT_PATH_BYTES];

    *within = 0;
    if (themis_client_path_normalise(place->path, inner) != THEMIS_OK ||
        themis_client_path_normalise(directory->path, outer) != THEMIS_OK || !themis_client_path_is_below(inner, outer))
        return THEMIS_TOOLS_OK;
    return themis_tools_same_servers(self, place->session, directory->session, within);
}

int themis_tools_place_is_within(const themis_tools_command_t *self, const themis_tools_place_t *place,
                                 const themis_tools_place_t *directory, int *within)
{
    if (place->session && directory->session)
        return is_within_there(self, place, directory, within);
    *within = 0;
    if (place->session || directory->session)
        return THEMIS_TOOLS_OK;
    return is_within_here(self, place->path, directory->path, within);
}
