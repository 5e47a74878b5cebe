/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/preload.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "tools/installation.h"
#include "util/config.h"

enum { PATH_BYTES = 4096 };
static const char variable[] = "LD_PRELOAD";

static int library_find(char path[PATH_BYTES])
{
    return themis_tools_installation_find("lib/libthemis-mpiio.so", "adio/.libs/libthemis-mpiio.so",
                                          THEMIS_LIBDIR "/libthemis-mpiio.so", path, PATH_BYTES)
               ? THEMIS_TOOLS_OK
               : themis_tools_error("libthemis-mpiio.so, the driver, is not installed with this tool");
}

/* `length` bytes of libraries, separated by colons or blanks, with the driver behind them; NULL if out of memory. */
static char *libraries_join(const char *libraries, size_t length, const char *driver)
{
    char *joined = NULL;

    if (memmem(libraries, length, driver, strlen(driver)))
        return strndup(libraries, length);
    return asprintf(&joined, "%.*s%s%s", (int)length, libraries, length > 0 ? ":" : "", driver) < 0 ? NULL : joined;
}

int themis_tools_preload_set(void)
{
    const char *already = themis_util_config_env(variable);
    char driver[PATH_BYTES];

    if (library_find(driver) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    char *value = libraries_join(already ? already : "", already ? strlen(already) : 0, driver);
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

int themis_tools_preload_merge(char **command)
{
    char driver[PATH_BYTES];
    size_t length;

    if (library_find(driver) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    for (int at = 0; command[at]; at++) {
        const char *value = value_find(command, at, &length);
        char *joined = value ? libraries_join(value, length, driver) : NULL, *argument;
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
