/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files. A file has references: that of who opened it, and one for each call that works on it, so that closing it
 * never takes away what another thread, or a call that was given up, still uses.
 */
#pragma once
#include <stdint.h>
#include <sys/stat.h>
#include "posix/filesystem.h"

typedef struct themis_posix_file {
    themis_posix_t *filesystem; /* borrowed */
    themis_posix_node_t *node;  /* with a reference */
    themis_file_t *file;        /* owned */
    int writable;
    _Atomic unsigned references;
    /* guarded by the file system's lock */
    struct themis_posix_file *prev, *next;         /* of the node's */
    struct themis_posix_file *all_prev, *all_next; /* of all that are open */
} themis_posix_file_t;

/* `flags` as of open(2): access mode, O_TRUNC. ESTALE: the name has become another file's. *file: with a reference. */
int themis_posix_open(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                      int flags, themis_posix_file_t **file);

/* With O_CREAT of `flags` implied; O_EXCL counts. *file and its node have a reference each that the caller gets. */
int themis_posix_file_create(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                             themis_posix_node_t *parent, const char *name, int flags, mode_t mode,
                             themis_posix_file_t **file, struct stat *stat);

/* Takes over a handle that another process has opened, which is closed on failure. `node`: what its path is now, or
 * NULL; if that is another file, the handle is that of one without a name. *file: with a reference. */
int themis_posix_file_adopt(themis_posix_t *filesystem, themis_posix_node_t *node, themis_file_t *handle,
                            themis_posix_file_t **file);

void themis_posix_file_acquire(themis_posix_file_t *file);
/* The last one closes it, and removes it if it is hidden. NULL is allowed. */
void themis_posix_file_release(themis_posix_file_t *file);

/* Closes all, whoever has references of them. */
void themis_posix_files_close(themis_posix_t *filesystem);

int themis_posix_file_read(themis_posix_file_t *file, void *buffer, size_t bytes, uint64_t offset, size_t *done);

/* `append`: at the end of the file, wherever that is by then, as one step for all processes that append, of all
 * clients; `offset` does not count. All is written, or it fails. */
int themis_posix_file_write(themis_posix_file_t *file, const themis_posix_caller_t *caller, const void *buffer,
                            size_t bytes, uint64_t offset, int append);

/* Bytes and names. */
int themis_posix_file_sync(themis_posix_file_t *file, const themis_posix_caller_t *caller);
/* EIO: a server has lost what was written. */
int themis_posix_file_flush(themis_posix_file_t *file);
/* `file` NULL, or not writable: the name is opened for it. */
int themis_posix_file_truncate(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                               themis_posix_node_t *node, themis_posix_file_t *file, uint64_t size);
int themis_posix_file_stat(themis_posix_file_t *file, themis_stat_t *stat);
/* As fallocate(2); EOPNOTSUPP for any `mode` but 0. */
int themis_posix_file_allocate(themis_posix_file_t *file, int mode, uint64_t offset, uint64_t length);
/* SEEK_DATA and SEEK_HOLE: a file is data up to its end, as POSIX allows where holes are not told. ENXIO: past it. */
int themis_posix_file_seek(themis_posix_file_t *file, uint64_t offset, int whence, uint64_t *found);
