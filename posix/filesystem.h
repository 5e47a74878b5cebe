/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file system as POSIX calls see it: names, open files and directories of one session, with errors as errno. What
 * serves such calls, as mount/ does, is above it.
 *
 * All functions of this directory that return int return 0 or an errno; results are written only on success. They may
 * be called by any thread. `lock` guards the tree and the claims, is held for bookkeeping only, and never while a
 * server is asked.
 */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>
#include "posix/tree.h"
#include "themis/themis.h"

struct themis_posix_claim;

typedef struct themis_posix {
    themis_t *session; /* borrowed */
    uid_t uid;         /* whose the session is; if it is root, files are given to the callers that make them */
    uint64_t instance; /* random; part of hidden names */
    pthread_mutex_t lock;
    pthread_cond_t released; /* a claim was, or a caller has given up */
    themis_posix_tree_t tree;
    struct themis_posix_claim *claims; /* in the order of arrival */
    uint64_t hidden;                   /* names that were hidden so far */
    struct themis_posix_file *files;   /* that are open */
} themis_posix_t;

/* Who makes a call. */
typedef struct themis_posix_caller {
    uid_t uid;
    gid_t gid;
    _Atomic int abandoned; /* 1: nobody waits for the result any more; what has not begun ends with EINTR */
} themis_posix_caller_t;

/* No call of the session follows symbolic links from now on. */
int themis_posix_create(themis_t *session, themis_posix_t **filesystem);
/* No call is being made. Files that are still open are closed. NULL is allowed. */
void themis_posix_destroy(themis_posix_t *filesystem);

/* Wakes calls that wait, after their callers have abandoned them. */
void themis_posix_wake(themis_posix_t *filesystem);

/* Borrowed, as long as the file system. */
themis_posix_node_t *themis_posix_root(themis_posix_t *filesystem);
void themis_posix_acquire(themis_posix_t *filesystem, themis_posix_node_t *node);
void themis_posix_release(themis_posix_t *filesystem, themis_posix_node_t *node, uint64_t count);
