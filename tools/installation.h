/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the installation that this tool belongs to, and directories of its own. */
#ifndef THEMIS_TOOLS_INSTALLATION_H
#define THEMIS_TOOLS_INSTALLATION_H
#include <stddef.h>

/*
 * Finds what belongs to the installation of this tool: `installed` relative to the directory above the tool's own
 * ("sbin/themisd"), or `built` in a build tree ("server/themisd"), or `fixed`. Returns 0 if it is in none of them.
 */
int themis_tools_find(const char *installed, const char *built, const char *fixed, char *path, size_t size);

/* Removes a directory and all below it. */
void themis_tools_remove_directory(const char *path);
#endif
