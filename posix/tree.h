/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names that this process knows, as a tree of nodes. A node is one file or directory and the name under which it
 * was found; when a name becomes another file's, its node loses it (is detached) and a new node gets it.
 *
 * A node lives as long as it has references: those of whoever got it, and one for each node below it. All functions are
 * called with the lock of the file system held (posix/filesystem.h).
 */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <uthash.h>
#include "client/path.h"
#include "themis/themis.h"

struct themis_posix_file;
struct themis_posix_lock_owner;

typedef struct themis_posix_node {
    struct themis_posix_node *parent; /* NULL: the root, or detached */
    char *name;                       /* owned; "" if there is no parent */
    uint64_t references;
    uint64_t object; /* id of a file's bytes, or of a link; 0: a directory, or a file that may not be accessed */
    uint64_t number; /* what stat shows as st_ino; stays over renames */
    uint64_t serial; /* of the node: no other has it, ever */
    themis_type_t type;
    uint32_t mode, gid;              /* when it was last looked at */
    uint32_t lost;                   /* servers that had lost bytes of it then */
    struct themis_posix_file *files; /* that are open; none is added while its name is claimed exclusively */
    int hidden;                      /* 1: its name is one that posix/hidden.h gave it */
    pthread_mutex_t append;          /* held by who appends to it */
    pthread_mutex_t locking;         /* of `lock_owners` */
    struct themis_posix_lock_owner *lock_owners; /* posix/locks.h; none without an open file */

    struct themis_posix_node *prev, *next; /* of all nodes */
    void *key;                             /* owned: the address of the parent, and the name */
    UT_hash_handle hh;
} themis_posix_node_t;

typedef struct themis_posix_tree {
    themis_posix_node_t *root;
    themis_posix_node_t *all;
    themis_posix_node_t *named; /* those with a parent, by their keys */
    uint64_t serial;            /* of the last node */
} themis_posix_tree_t;

/* THEMIS_NO_MEMORY. */
themis_status_t themis_posix_tree_init(themis_posix_tree_t *tree);
/* Frees all nodes, whoever has references of them. */
void themis_posix_tree_free(themis_posix_tree_t *tree);

/* Borrowed; NULL: none is known. */
themis_posix_node_t *themis_posix_tree_find(const themis_posix_tree_t *tree, const themis_posix_node_t *parent,
                                            const char *name);

/* 1: the node is what `stat` describes. */
int themis_posix_tree_is_same(const themis_posix_node_t *node, const themis_stat_t *stat);

/* The node of what `stat` describes, with one reference more, which is the caller's. A node of that name that is
 * another file is detached. NULL: out of memory. */
themis_posix_node_t *themis_posix_tree_get(themis_posix_tree_t *tree, themis_posix_node_t *parent, const char *name,
                                           const themis_stat_t *stat);

/* The node of a file that is open and has no name here, with one reference. NULL: out of memory. */
themis_posix_node_t *themis_posix_tree_add_nameless(themis_posix_tree_t *tree, const themis_stat_t *stat);

/* Gives a node another name; the node that had this one is detached. Without memory for it, the node itself is. */
void themis_posix_tree_move(themis_posix_tree_t *tree, themis_posix_node_t *node, themis_posix_node_t *parent,
                            const char *name);
/* The name is gone. NULL and detached nodes are allowed. */
void themis_posix_tree_detach(themis_posix_tree_t *tree, themis_posix_node_t *node);

void themis_posix_tree_release(themis_posix_tree_t *tree, themis_posix_node_t *node, uint64_t count);

/* 1 if `node` is `directory` or lies below it. */
int themis_posix_tree_is_below(const themis_posix_node_t *node, const themis_posix_node_t *directory);

/* The path of a name in a directory, of the directory itself if it is "". THEMIS_STALE: it has no path any more.
 * THEMIS_NAME_TOO_LONG. */
themis_status_t themis_posix_tree_path(const themis_posix_tree_t *tree, const themis_posix_node_t *directory,
                                       const char *name, char path[THEMIS_PATH_BYTES]);
