/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/creation_mode.h"
#include <sys/stat.h>

static mode_t mask;

void themis_tools_creation_mode_init(void)
{
    mask = umask(0); /* there is no way to read it only */
    umask(mask);
}

uint32_t themis_tools_creation_mode(uint32_t mode)
{
    return mode & ~(uint32_t)mask;
}
