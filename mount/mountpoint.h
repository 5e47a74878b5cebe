/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories as mount points: without libfuse, and without asking what is mounted there, since that may not answer. */
#pragma once
#include <limits.h>
#include "themis/status.h"

/* The absolute path of a directory; its last component is not looked at, so that a mount point may be dead. The errors
 * of all functions are in `error`, for users. */
themis_status_t themis_mount_mountpoint_resolve(const char *directory, char path[PATH_MAX], char *error, int size);

/* Is it an empty directory where nothing is mounted, and can it be mounted at? */
themis_status_t themis_mount_mountpoint_check(const char *path, char *error, int size);

/* Unmounts Themis from it. `lazy`: from names at once, for programs that use it when they have ended. THEMIS_NO_ENTRY:
 * Themis is not mounted there. THEMIS_BUSY: it is in use. */
themis_status_t themis_mount_mountpoint_unmount(const char *path, int lazy, char *error, int size);
