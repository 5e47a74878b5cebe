/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/options.h"
#include <string.h>

static const char *const names[] = {
    [THEMIS_COLLECTIVE_AUTO] = "auto", [THEMIS_COLLECTIVE_TWOPHASE] = "twophase", [THEMIS_COLLECTIVE_LIST] = "list"};

const char *themis_collective_mode_name(themis_collective_mode_t mode)
{
    return names[mode];
}

themis_status_t themis_collective_mode_parse(const char *name, themis_collective_mode_t *mode)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(name, names[i])) {
            *mode = (themis_collective_mode_t)i;
            return THEMIS_OK;
        }
    }
    return THEMIS_INVALID;
}
