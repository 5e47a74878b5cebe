/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended attributes, of files and directories: those of "user.", and among them the layout, as decimal numbers that
 * are not listed: user.themis.stripe_size in bytes and user.themis.stripe_count. They can be set of a directory, for
 * new files in it, and of a file that is empty and not open (else EBUSY); removing them of a directory leaves the
 * choice to the servers.
 */
#pragma once
#include "posix/filesystem.h"

/* As getxattr(2): capacity 0 asks for the length only. ENODATA, ERANGE. */
int themis_posix_xattr_get(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                           const char *name, void *value, size_t capacity, size_t *length);
/* `flags` as of setxattr(2). EOPNOTSUPP: not a name of "user.". ENOSPC: too much. */
int themis_posix_xattr_set(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                           const char *name, const void *value, size_t length, int flags);
int themis_posix_xattr_remove(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                              themis_posix_node_t *node, const char *name);
/* Names, each with its NUL. */
int themis_posix_xattr_list(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                            char *names, size_t capacity, size_t *length);
