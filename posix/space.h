/* SPDX-License-Identifier: BSD-3-Clause */
/* The space of all servers together. */
#pragma once
#include <sys/statvfs.h>
#include "posix/filesystem.h"

/* Sums of the servers that answer; EIO: none does. How many names there may be is not limited, and shown as 0. */
int themis_posix_space(themis_posix_t *filesystem, struct statvfs *space);
