/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment. Needs nothing but the C library, for libraries that do not read configuration files. */
#include <stdlib.h>
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
