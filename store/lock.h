/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server's directories and files are its own: each says what it is for, and no two servers use one at a time.
 *
 * A directory has a file STORE with one line, "themis-store 1 <content>", where <content> is for example "objects of
 * server 0". The server that uses it holds a lock (flock) on that file until it ends, however it ends. A file system
 * without such locks is used all the same, with a warning.
 */
#ifndef THEMIS_STORE_LOCK_H
#define THEMIS_STORE_LOCK_H
#include "themis/status.h"

/*
 * Takes a directory, which is there, for `content`: one line without a final newline, at most 64 bytes. The lock is
 * held until *fd is closed. A directory without a STORE gets one, unless it has a file for whose name `foreign` (may
 * be NULL) returns 1. THEMIS_CONFIG: it holds something else. THEMIS_BUSY: a server uses it. Nothing in it was changed
 * then, and the error is logged, with `key`, the directory's name in the configuration.
 */
themis_status_t themis_store_lock_directory(const char *key, const char *directory, const char *content,
                                            int (*foreign)(const char *name), int *fd);

/* Locks an open file, `path`, until it is closed. THEMIS_BUSY as above. */
themis_status_t themis_store_lock_file(const char *key, const char *path, int fd);
#endif
