/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories whose names have to last. */
#pragma once

/* Makes the names in a directory, as openat has it, survive a power failure. -1: errno says why not. */
int themis_util_directory_sync(int at, const char *name);
