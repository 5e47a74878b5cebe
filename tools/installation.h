/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the installation that this tool belongs to. */
#pragma once
#include <stddef.h>

/*
 * Finds a file: `installed`, relative to the directory above the tool's own ("sbin/themisd"), or `built`, in a build
 * tree
 * ("server/themisd"), or `fixed`. Returns 0 if it is in none of them.
 */
int themis_tools_installation_find(const char *installed, const char *built, const char *fixed, char *path,
                                   size_t size);
