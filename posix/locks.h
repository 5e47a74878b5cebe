/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Advisory locks: those of fcntl(2) and of flock(2), kept by the servers, so that they hold between mounts.
 *
 * An owner is what the kernel says it is: the process for fcntl's, the open file for flock's. Each has a handle of the
 * file of its own, as servers tell lock owners apart by handles. Both kinds are byte ranges there: the last 16 offsets
 * that a file can have are not the programs', and one of them is flock's. A wait asks again and again, up to 50 times a
 * second, and ends when its caller has abandoned it; so nobody is first, and a deadlock is not noticed.
 */
#pragma once
#include <fcntl.h>
#include <stdint.h>
#include "posix/file.h"

/* Locks of fcntl end here; EOVERFLOW: one begins past it. The bytes that follow are flock's and, at the end, that of
 * those who append (file.c). Every kind of mount uses the same ones, or their locks would not keep each other out. */
#define THEMIS_POSIX_LOCKS_END ((uint64_t)INT64_MAX - 16)
#define THEMIS_POSIX_LOCKS_FLOCK_BYTE ((uint64_t)INT64_MAX - 15)

typedef enum themis_posix_lock_kind { THEMIS_POSIX_LOCK_RANGES, THEMIS_POSIX_LOCK_FILE } themis_posix_lock_kind_t;

/* `lock` with offsets from the start of the file. As F_SETLK, or with `wait` until it can be had: EAGAIN, EINTR, EBADF
 * if an exclusive one is asked for by who may not write. EIO: locks were lost, as a server has restarted; none is left.
 */
int themis_posix_lock_set(themis_posix_file_t *file, const themis_posix_caller_t *caller, uint64_t owner,
                          const struct flock *lock, int wait);

/* As F_GETLK. Who holds a lock, and of which range, is not told: the range is the one that was asked for, the process
 * 0.
 */
int themis_posix_lock_get(themis_posix_file_t *file, const themis_posix_caller_t *caller, uint64_t owner,
                          struct flock *lock);

/* Which lock of another handle keeps this one from `type`: *type becomes F_UNLCK (none), F_RDLCK or F_WRLCK. Nothing is
 * locked. */
themis_status_t themis_posix_lock_probe(themis_file_t *file, uint64_t offset, uint64_t length, short *type);

/* `operation` as of flock(2): EWOULDBLOCK with LOCK_NB. */
int themis_posix_lock_file(themis_posix_file_t *file, const themis_posix_caller_t *caller, uint64_t owner,
                           int operation);

/* Releases all of an owner: at each close for fcntl's, at the last one for flock's. */
void themis_posix_locks_release(themis_posix_node_t *node, themis_posix_lock_kind_t kind, uint64_t owner);

/* Those of all owners, at the end of the file system. */
void themis_posix_locks_free(themis_posix_node_t *node);
