/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and attributes. `parent` and `node` are nodes that the caller holds a reference of. */
#pragma once
#include <sys/stat.h>
#include "posix/filesystem.h"

struct themis_posix_claim;
struct themis_posix_file;

/* What a name is. *node: with a reference that the caller gets. */
int themis_posix_lookup(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *parent,
                        const char *name, themis_posix_node_t **node, struct stat *stat);

/* The same of a name that is claimed. */
int themis_posix_look(themis_posix_t *filesystem, const struct themis_posix_claim *claim, themis_posix_node_t **node,
                      struct stat *stat);

/* ENOENT: the name is gone, or another file's now. Of a file without a name that is still open, what its servers tell.
 */
int themis_posix_getattr(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                         struct stat *stat);

enum {
    THEMIS_POSIX_SET_MODE = 1,
    THEMIS_POSIX_SET_UID = 2,
    THEMIS_POSIX_SET_GID = 4,
    THEMIS_POSIX_SET_SIZE = 8,
    THEMIS_POSIX_SET_MODIFIED = 16,
    THEMIS_POSIX_SET_MODIFIED_NOW = 32
};

/* Sets what `mask` names; *stat is then as by getattr. `file`: through which it is done, or NULL. EPERM: the caller
 * does not own it. */
int themis_posix_setattr(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                         struct themis_posix_file *file, int mask, const struct stat *wanted, struct stat *stat);

/* As lookup of the new directory. In a directory with S_ISGID it gets that, and the group. */
int themis_posix_mkdir(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *parent,
                       const char *name, mode_t mode, themis_posix_node_t **node, struct stat *stat);
int themis_posix_rmdir(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *parent,
                       const char *name);

/* Of a file that is open here, the bytes stay until it is closed (posix/hidden.h). */
int themis_posix_unlink(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *parent,
                        const char *name);

/* `flags` as of renameat2: 0 or RENAME_NOREPLACE, else EINVAL. A file that is replaced and open here stays as with
 * unlink. */
int themis_posix_rename(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *from,
                        const char *from_name, themis_posix_node_t *to, const char *to_name, unsigned flags);

/* Gives a new file, directory or link at `path` the owner and group that POSIX wants: those of the caller, and the
 * group of a directory with S_ISGID, which a directory inherits too. `mode`: that it was made with. */
int themis_posix_own(themis_posix_t *filesystem, const themis_posix_caller_t *caller, const themis_posix_node_t *parent,
                     const char *path, themis_type_t type, mode_t mode);
