/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/preload.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "themis/themis.h"
#include "tools/command.h"
#include "tools/installation.h"
#include "util/config.h"
#include "util/mount_point.h"

enum { PATH_BYTES = 4096 };
static const char variable[] = "LD_PRELOAD";

typedef struct libraries {
    char path[2][PATH_BYTES];
    int count;
} libraries_t;

static int library_find(libraries_t *libraries, const char *installed, const char *built, const char *fixed)
{
    const int found =
        themis_tools_installation_find(installed, built, fixed, libraries->path[libraries->count], PATH_BYTES);

    libraries->count += found;
    return found ? THEMIS_TOOLS_OK
                 : themis_tools_error("%s is not installed with this tool", strrchr(installed, '/') + 1);
}

static int libraries_find(int with_posix, libraries_t *libraries)
{
    libraries->count = 0;
    int result = library_find(libraries, "lib/libthemis-mpiio.so", "adio/.libs/libthemis-mpiio.so",
                              THEMIS_LIBDIR "/libthemis-mpiio.so");
    if (result == THEMIS_TOOLS_OK && with_posix)
        result = library_find(libraries, "lib/libthemis-posix.so", "preload/.libs/libthemis-posix.so",
                              THEMIS_LIBDIR "/libthemis-posix.so");
    return result;
}

/* `length` bytes of libraries, separated by colons or blanks, with ours behind them; NULL if out of memory. */
static char *libraries_join(const char *before, size_t length, const libraries_t *libraries)
{
    char *joined = strndup(before, length);

    for (int i = 0; i < libraries->count && joined; i++) {
        char *longer = NULL;
        if (strstr(joined, libraries->path[i]))
            continue;
        if (asprintf(&longer, "%s%s%s", joined, *joined ? ":" : "", libraries->path[i]) < 0)
            longer = NULL;
        free(joined);
        joined = longer;
    }
    return joined;
}

int themis_tools_preload_set(int with_posix)
{
    const char *already = themis_util_config_env(variable);
    libraries_t libraries;

    if (libraries_find(with_posix, &libraries) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    char *value = libraries_join(already ? already : "", already ? strlen(already) : 0, &libraries);
    int failed = !value || setenv(variable, value, 1) != 0;
    free(value);
    return failed ? themis_tools_error("out of memory") : THEMIS_TOOLS_OK;
}

/* Where `argument` sets the variable, or NULL: in "LD_PRELOAD=x" or, for srun, "--export=A,LD_PRELOAD=x"; or all of it
 * after "-genv LD_PRELOAD". *length: bytes of the value. */
static const char *value_find(char **command, int at, size_t *length)
{
    const char *argument = command[at], *assigned = argument;
    int listed = strncmp(argument, "--export=", 9) == 0;

    if (at >= 2 && strcmp(command[at - 1], variable) == 0 && command[at - 2][0] == '-' &&
        strstr(command[at - 2], "env")) {
        *length = strlen(argument);
        return argument;
    }
    if (listed)
        assigned = strstr(argument, variable);
    if (!assigned || strncmp(assigned, variable, sizeof variable - 1) != 0 || assigned[sizeof variable - 1] != '=')
        return NULL;
    assigned += sizeof variable;
    *length = listed ? strcspn(assigned, ",") : strlen(assigned);
    return assigned;
}

int themis_tools_preload_merge(int with_posix, char **command)
{
    libraries_t libraries;
    size_t length;

    if (libraries_find(with_posix, &libraries) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    for (int at = 0; command[at]; at++) {
        const char *value = value_find(command, at, &length);
        char *joined = value ? libraries_join(value, length, &libraries) : NULL, *argument;
        if (!value)
            continue;
        if (!joined ||
            asprintf(&argument, "%.*s%s%s", (int)(value - command[at]), command[at], joined, value + length) < 0)
            return themis_tools_error("out of memory");
        free(joined);
        command[at] = argument;
    }
    return THEMIS_TOOLS_OK;
}

int themis_tools_mount_point_set(void)
{
    char *mount = NULL;

    if (themis_configured_mount(&mount) != THEMIS_OK)
        return themis_tools_error_last();
    if (mount)
        themis_util_config_env_default(THEMIS_UTIL_MOUNT_POINT_VARIABLE, mount);
    free(mount);
    return THEMIS_TOOLS_OK;
}
