/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exclusive use of a server's directories and files: each records what it contains, and only one server at a time uses
 * it.
 *
 * A directory has a file STORE with the line "themis-store 1 <content>", where <content> is for example "objects of
 * server 0", and for a store that outlives the process the line "store <identity>" (identity.h). The server that uses
 * it holds a lock (flock) on that file until its process ends. A file system without such locks is used without, after
 * a warning.
 */
#pragma once
#include "store/identity.h"
#include "themis/status.h"

/*
 * Locks an existing directory for `content`, one line without a final newline, at most 64 bytes, until *fd is closed,
 * and for `identity` (NULL: any). A directory without a STORE gets one, unless it has a file for whose name `foreign`
 * (may be NULL) returns 1; one without an identity gets that.
 * THEMIS_CONFIG: it contains something else. THEMIS_BUSY: another server uses it. Nothing in it was changed then, and
 * the error is logged with `key`, the configuration key of the directory.
 */
themis_status_t themis_store_exclusive_use_directory(const char *key, const char *directory, const char *content,
                                                     const themis_store_identity_t *identity,
                                                     int (*foreign)(const char *name), int *fd);

/* Locks an open file, `path`, until it is closed. THEMIS_BUSY: another server uses it; logged. */
themis_status_t themis_store_exclusive_use_file(const char *key, const char *path, int fd);
