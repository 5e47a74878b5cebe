/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* RENAME_NOREPLACE */
#include "posix/names.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "client/namespace.h"
#include "posix/attributes.h"
#include "posix/claim.h"
#include "posix/error.h"
#include "posix/file.h"
#include "posix/hidden.h"
#include "util/clock.h"

/* --- looking ------------------------------------------------------------------------------------------------------ */

/* The node of a claimed name, of which servers told `stat`. */
static int node_get(themis_posix_t *filesystem, const themis_posix_claim_t *claim, const themis_stat_t *found,
                    themis_posix_node_t **node, struct stat *stat)
{
    pthread_mutex_lock(&filesystem->lock);
    themis_posix_node_t *got = themis_posix_tree_get(&filesystem->tree, claim->parent, claim->name, found);
    pthread_mutex_unlock(&filesystem->lock);
    if (!got)
        return ENOMEM;
    themis_posix_attributes(got, found, stat);
    *node = got;
    return 0;
}

/* The claimed name has no file any more. */
static void name_forget(themis_posix_t *filesystem, const themis_posix_claim_t *claim)
{
    pthread_mutex_lock(&filesystem->lock);
    themis_posix_tree_detach(&filesystem->tree, themis_posix_tree_find(&filesystem->tree, claim->parent, claim->name));
    pthread_mutex_unlock(&filesystem->lock);
}

int themis_posix_look(themis_posix_t *filesystem, const themis_posix_claim_t *claim, themis_posix_node_t **node,
                      struct stat *stat)
{
    themis_stat_t found;
    themis_status_t status = themis_client_namespace_look(filesystem->session, claim->path, &found);

    if (status == THEMIS_OK)
        return node_get(filesystem, claim, &found, node, stat);
    if (status == THEMIS_NO_ENTRY)
        name_forget(filesystem, claim);
    return themis_posix_error(status);
}

int themis_posix_lookup(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *parent,
                        const char *name, themis_posix_node_t **node, struct stat *stat)
{
    themis_posix_claim_t claim;
    int error = themis_posix_claim_name(filesystem, caller, parent, name, THEMIS_POSIX_SHARED, &claim);

    if (error)
        return error;
    error = themis_posix_look(filesystem, &claim, node, stat);
    themis_posix_unclaim(filesystem, &claim, 1);
    return error;
}

/* What servers told of the node's name: is it still that file? */
static int node_check(themis_posix_t *filesystem, themis_posix_node_t *node, const themis_stat_t *found)
{
    pthread_mutex_lock(&filesystem->lock);
    int same = themis_posix_tree_is_same(node, found);
    if (same) {
        node->mode = found->mode;
        node->gid = found->gid;
        node->lost = found->lost;
    }
    pthread_mutex_unlock(&filesystem->lock);
    return same ? 0 : ENOENT;
}

static int getattr_by_name(themis_posix_t *filesystem, const themis_posix_claim_t *claim, themis_posix_node_t *node,
                           struct stat *stat)
{
    themis_stat_t found;
    int error = themis_posix_error(themis_client_namespace_look(filesystem->session, claim->path, &found));

    if (!error)
        error = node_check(filesystem, node, &found);
    if (error == ENOENT) {
        pthread_mutex_lock(&filesystem->lock);
        themis_posix_tree_detach(&filesystem->tree, node);
        pthread_mutex_unlock(&filesystem->lock);
    }
    if (error)
        return error;
    themis_posix_attributes(node, &found, stat);
    if (node->hidden)
        stat->st_nlink = 0;
    return 0;
}

/* Of a node without a name. */
static int getattr_by_file(themis_posix_t *filesystem, themis_posix_node_t *node, struct stat *stat)
{
    themis_stat_t found;

    pthread_mutex_lock(&filesystem->lock);
    themis_posix_file_t *file = node->files;
    if (file)
        themis_posix_file_acquire(file);
    pthread_mutex_unlock(&filesystem->lock);
    if (!file)
        return ENOENT;
    int error = themis_posix_file_stat(file, &found);
    themis_posix_file_release(file);
    if (error)
        return error;
    themis_posix_attributes(node, &found, stat);
    stat->st_nlink = 0;
    return 0;
}

int themis_posix_getattr(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                         struct stat *stat)
{
    themis_posix_claim_t claim;
    int error = themis_posix_claim_node(filesystem, caller, node, THEMIS_POSIX_SHARED, &claim);

    if (!error) {
        error = getattr_by_name(filesystem, &claim, node, stat);
        themis_posix_unclaim(filesystem, &claim, 1);
    }
    return error == ESTALE || error == ENOENT ? getattr_by_file(filesystem, node, stat) : error;
}

/* --- changing attributes ------------------------------------------------------------------------------------------ */

/* Who may pass to a name, but not change it, does not own it. */
static int owner_error(themis_status_t status)
{
    return status == THEMIS_ACCESS ? EPERM : themis_posix_error(status);
}

static uint64_t time_of(const struct stat *wanted, int mask)
{
    if (mask & THEMIS_POSIX_SET_MODIFIED_NOW)
        return themis_util_clock_wall();
    if (wanted->st_mtim.tv_sec < 0) /* before 1970 */
        return 0;
    return (uint64_t)wanted->st_mtim.tv_sec * THEMIS_NS_PER_S + (uint64_t)wanted->st_mtim.tv_nsec;
}

static int attributes_set(themis_t *session, const char *path, int mask, const struct stat *wanted)
{
    const uint32_t uid = mask & THEMIS_POSIX_SET_UID ? wanted->st_uid : UINT32_MAX;
    const uint32_t gid = mask & THEMIS_POSIX_SET_GID ? wanted->st_gid : UINT32_MAX;
    themis_status_t status = THEMIS_OK;

    if (mask & (THEMIS_POSIX_SET_UID | THEMIS_POSIX_SET_GID))
        status = themis_client_namespace_set_owner(session, path, uid, gid);
    if (status == THEMIS_OK && mask & THEMIS_POSIX_SET_MODE)
        status = themis_client_namespace_set_mode(session, path, wanted->st_mode & 07777);
    if (status == THEMIS_OK && mask & (THEMIS_POSIX_SET_MODIFIED | THEMIS_POSIX_SET_MODIFIED_NOW))
        status = themis_client_namespace_set_modified(session, path, time_of(wanted, mask));
    return owner_error(status);
}

int themis_posix_setattr(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                         struct themis_posix_file *file, int mask, const struct stat *wanted, struct stat *stat)
{
    themis_posix_claim_t claim;
    int error = 0;

    if (mask & THEMIS_POSIX_SET_SIZE)
        error = themis_posix_file_truncate(filesystem, caller, node, file, (uint64_t)wanted->st_size);
    if (!error && mask & ~THEMIS_POSIX_SET_SIZE) {
        error = themis_posix_claim_node(filesystem, caller, node, THEMIS_POSIX_SHARED, &claim);
        if (!error) {
            error = attributes_set(filesystem->session, claim.path, mask, wanted);
            themis_posix_unclaim(filesystem, &claim, 1);
        }
    }
    return error ? error : themis_posix_getattr(filesystem, caller, node, stat);
}

int themis_posix_own(themis_posix_t *filesystem, const themis_posix_caller_t *caller, const themis_posix_node_t *parent,
                     const char *path, themis_type_t type, mode_t mode)
{
    const int inherits = (parent->mode & S_ISGID) != 0;
    uint32_t uid = UINT32_MAX, gid = UINT32_MAX;
    themis_status_t status = THEMIS_OK;

    if (filesystem->uid == 0 && caller->uid != 0)
        uid = caller->uid;
    if (inherits || (filesystem->uid == 0 && caller->gid != getegid()))
        gid = inherits ? parent->gid : caller->gid;
    if (uid != UINT32_MAX || gid != UINT32_MAX)
        status = themis_client_namespace_set_owner(filesystem->session, path, uid, gid);
    if (inherits && status == THEMIS_ACCESS) /* not one of the user's groups */
        status = THEMIS_OK;
    if (status == THEMIS_OK && inherits && type == THEMIS_TYPE_DIRECTORY)
        status = themis_client_namespace_set_mode(filesystem->session, path, (mode & 07777) | S_ISGID);
    return themis_posix_error(status);
}

/* --- making and removing ------------------------------------------------------------------------------------------ */

static int mkdir_claimed(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                         const themis_posix_claim_t *claim, mode_t mode, themis_posix_node_t **node, struct stat *stat)
{
    int error = themis_posix_error(themis_mkdir(filesystem->session, claim->path, mode & 07777));

    if (error)
        return error;
    error = themis_posix_own(filesystem, caller, claim->parent, claim->path, THEMIS_TYPE_DIRECTORY, mode);
    if (error)
        themis_rmdir(filesystem->session, claim->path);
    return error ? error : themis_posix_look(filesystem, claim, node, stat);
}

int themis_posix_mkdir(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *parent,
                       const char *name, mode_t mode, themis_posix_node_t **node, struct stat *stat)
{
    themis_posix_claim_t claim;
    int error = themis_posix_claim_name(filesystem, caller, parent, name, THEMIS_POSIX_SHARED, &claim);

    if (error)
        return error;
    error = mkdir_claimed(filesystem, caller, &claim, mode, node, stat);
    themis_posix_unclaim(filesystem, &claim, 1);
    return error;
}

/* The node of a claimed name, with a reference; NULL: none is known. */
static themis_posix_node_t *node_of(themis_posix_t *filesystem, const themis_posix_claim_t *claim)
{
    pthread_mutex_lock(&filesystem->lock);
    themis_posix_node_t *node = themis_posix_tree_find(&filesystem->tree, claim->parent, claim->name);
    if (node)
        node->references++;
    pthread_mutex_unlock(&filesystem->lock);
    return node;
}

static int rmdir_claimed(themis_posix_t *filesystem, const themis_posix_claim_t *claim)
{
    themis_posix_node_t *node = node_of(filesystem, claim);
    themis_status_t status = themis_rmdir(filesystem->session, claim->path);

    if (status == THEMIS_NOT_EMPTY && node && themis_posix_hidden_move_up(filesystem, node) > 0)
        status = themis_rmdir(filesystem->session, claim->path);
    if (status == THEMIS_OK)
        name_forget(filesystem, claim);
    if (node)
        themis_posix_release(filesystem, node, 1);
    return themis_posix_error(status);
}

int themis_posix_rmdir(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *parent,
                       const char *name)
{
    themis_posix_claim_t claim;
    int error = themis_posix_claim_name(filesystem, caller, parent, name, THEMIS_POSIX_EXCLUSIVE, &claim);

    if (error)
        return error;
    error = rmdir_claimed(filesystem, &claim);
    themis_posix_unclaim(filesystem, &claim, 1);
    return error;
}

/* After its claim has ended: a file that was hidden, NULL: none, may have been closed meanwhile. */
static void hidden_release(themis_posix_t *filesystem, themis_posix_node_t *hidden)
{
    if (!hidden)
        return;
    themis_posix_hidden_remove(filesystem, hidden);
    themis_posix_release(filesystem, hidden, 1);
}

int themis_posix_unlink(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *parent,
                        const char *name)
{
    themis_posix_node_t *hidden = NULL;
    themis_posix_claim_t claim;
    int error = themis_posix_claim_name(filesystem, caller, parent, name, THEMIS_POSIX_EXCLUSIVE, &claim);

    if (error)
        return error;
    error = themis_posix_hide(filesystem, &claim, &hidden);
    if (!error && !hidden)
        error = themis_posix_error(themis_unlink(filesystem->session, claim.path));
    if ((!error && !hidden) || error == ENOENT)
        name_forget(filesystem, &claim);
    themis_posix_unclaim(filesystem, &claim, 1);
    hidden_release(filesystem, hidden);
    return error;
}

/* --- renaming ----------------------------------------------------------------------------------------------------- */

/* Of claimed names. *hidden: the file that was replaced and is open, with a reference. */
static int rename_claimed(themis_posix_t *filesystem, const themis_posix_claim_t *from, const themis_posix_claim_t *to,
                          unsigned flags, themis_posix_node_t **hidden)
{
    themis_stat_t there;
    int error = 0;

    if (flags & RENAME_NOREPLACE) {
        themis_status_t status = themis_client_namespace_look(filesystem->session, to->path, &there);
        if (status != THEMIS_NO_ENTRY)
            return status == THEMIS_OK ? EEXIST : themis_posix_error(status);
    }
    error = themis_posix_hide(filesystem, to, hidden);
    if (error)
        return error;
    error = themis_posix_error(themis_rename(filesystem->session, from->path, to->path));
    if (error && *hidden) {
        themis_posix_unhide(filesystem, to, *hidden);
        themis_posix_release(filesystem, *hidden, 1);
        *hidden = NULL;
    }
    if (error)
        return error;
    pthread_mutex_lock(&filesystem->lock);
    themis_posix_tree_detach(&filesystem->tree, themis_posix_tree_find(&filesystem->tree, to->parent, to->name));
    themis_posix_node_t *node = themis_posix_tree_find(&filesystem->tree, from->parent, from->name);
    if (node)
        themis_posix_tree_move(&filesystem->tree, node, to->parent, to->name);
    pthread_mutex_unlock(&filesystem->lock);
    return 0;
}

/* What is known below a directory waits until it has its new path. The node has a reference then. */
static void claim_below(themis_posix_t *filesystem, themis_posix_claim_t *claim)
{
    themis_posix_node_t *node = node_of(filesystem, claim);

    if (node && node->type != THEMIS_TYPE_DIRECTORY) {
        themis_posix_release(filesystem, node, 1);
        node = NULL;
    }
    claim->below = node;
}

static int rename_pair(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_claim_t claims[2],
                       unsigned flags)
{
    themis_posix_node_t *hidden = NULL;
    int error = themis_posix_claim(filesystem, caller, claims, 2);

    if (error)
        return error;
    error = rename_claimed(filesystem, &claims[0], &claims[1], flags, &hidden);
    themis_posix_unclaim(filesystem, claims, 2);
    hidden_release(filesystem, hidden);
    return error;
}

int themis_posix_rename(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *from,
                        const char *from_name, themis_posix_node_t *to, const char *to_name, unsigned flags)
{
    themis_posix_claim_t claims[2];

    if (flags & ~(unsigned)RENAME_NOREPLACE)
        return EINVAL;
    if (from == to && strcmp(from_name, to_name) == 0)
        return flags ? EEXIST : 0;
    int error = themis_posix_claim_init(&claims[0], from, from_name, THEMIS_POSIX_EXCLUSIVE);
    if (!error)
        error = themis_posix_claim_init(&claims[1], to, to_name, THEMIS_POSIX_EXCLUSIVE);
    if (error)
        return error;
    claim_below(filesystem, &claims[0]);
    themis_posix_node_t *below = claims[0].below;
    error = rename_pair(filesystem, caller, claims, flags);
    if (below)
        themis_posix_release(filesystem, below, 1);
    return error;
}
