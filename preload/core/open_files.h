/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stands behind descriptors: an open file or directory for each open file description of the kernel that this
 * process knows. It is found, or made from what the descriptor says of itself, at its first use in a process.
 */
#pragma once
#include <pthread.h>
#include "posix/directory.h"
#include "posix/file.h"
#include "preload/description.h"

typedef struct themis_preload_open {
    _Atomic unsigned references; /* of descriptors, and of calls */
    uint64_t generation;
    themis_posix_t *filesystem;          /* borrowed */
    themis_posix_node_t *node;           /* with a reference */
    themis_posix_file_t *file;           /* NULL: a directory */
    themis_posix_directory_t *directory; /* NULL: not listed so far */
    pthread_mutex_t lock;                /* of `directory`, and held while the offset is used */
    int flags;                           /* of open */
    _Atomic int append;                  /* O_APPEND is set, unless others may change it */
    _Atomic int shared;                  /* 1: other processes may have it */
} themis_preload_open_t;

/* The descriptor for what was opened; takes over references of node and file. 0, or an errno: they are released. */
int themis_preload_open_file_add(themis_posix_t *filesystem, themis_posix_node_t *node, themis_posix_file_t *file,
                                 int flags, themis_preload_blank_t *blank);

/* In a call: what stands behind a descriptor, with a reference; NULL, with errno. */
themis_preload_open_t *themis_preload_open_file_get(themis_posix_t *filesystem, int fd);
void themis_preload_open_file_put(themis_preload_open_t *open);

/* 1: the descriptor's was known; `duplicate` then is another one of it. */
void themis_preload_open_file_share(int fd, int duplicate);
/* Takes it from a descriptor, with the reference; NULL: it is not known here. */
themis_preload_open_t *themis_preload_open_file_take(int fd);

/* All that are known may be used by another process from now on. */
void themis_preload_open_files_inherit(void);
/* In a child: whoever held locks is not here. */
void themis_preload_open_files_reset(void);
/* Paused: closes all in this process's session; the descriptors stay. */
void themis_preload_open_files_close(void);
