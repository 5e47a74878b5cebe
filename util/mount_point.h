/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mount point: the path below which files on servers have ordinary names ("/themis/a" is "themis:/a"), for programs
 * with the library of preload/, for MPI-IO and for the tools. Needs nothing but the C library.
 */
#pragma once
#include <stddef.h>

#define THEMIS_UTIL_MOUNT_POINT_DEFAULT "/themis"
#define THEMIS_UTIL_MOUNT_POINT_VARIABLE "THEMIS_MOUNT"

/* THEMIS_MOUNT if it is an absolute path other than "/", without a slash at its end; the default where it is not set;
 * "" (none) with "off" or anything else. Borrowed until the process ends; fixed at the first call. */
const char *themis_util_mount_point(void);

/* 1 if the text can be a mount point: absolute, not "/", without empty, "." and ".." components. */
int themis_util_mount_point_is_valid(const char *text);

/* What follows the mount point in an absolute path: "/a/b", or "" for itself; it points into `path`. NULL: it is not
 * below it. Several slashes at its beginning count as one; the rest is compared as it is. */
const char *themis_util_mount_point_below(const char *path);
