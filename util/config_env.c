/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment. Needs nothing but the C library, for libraries that do not read configuration files. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/config.h"

const char *themis_util_config_env(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

void themis_util_config_env_default(const char *name, const char *value)
{
    setenv(name, value, 0);
}

int themis_util_config_env_each(const char *prefix, int (*each)(void *arg, const char *variable), void *arg)
{
    int result = 0;

    for (char **variable = environ; *variable && result == 0; variable++)
        if (strncmp(*variable, prefix, strlen(prefix)) == 0)
            result = each(arg, *variable);
    return result;
}
