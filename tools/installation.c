/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/installation.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* The tool's own directory, its last component cut off `up` times. */
static int own_directory(int up, char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);

    if (length < 0)
        return 0;
    path[length] = '\0';
    for (int i = 0; i <= up; i++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return 0;
        *slash = '\0';
    }
    return 1;
}

static int path_try(int up, const char *relative, char *path, size_t size)
{
    char own[PATH_BYTES];

    return own_directory(up, own, sizeof own) && snprintf(path, size, "%s/%s", own, relative) < (int)size &&
           access(path, R_OK) == 0;
}

int themis_tools_installation_find(const char *installed, const char *built, const char *fixed, char *path, size_t size)
{
    /* the tool in a build tree is tools/.libs/themis, or tools/themis when it was linked without libtool's wrapper */
    return path_try(1, installed, path, size) || path_try(2, built, path, size) || path_try(1, built, path, size) ||
           (snprintf(path, size, "%s", fixed) < (int)size && access(path, R_OK) == 0);
}
