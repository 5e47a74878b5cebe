/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/hidden.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "posix/error.h"
#include "util/log.h"

/* With the lock held. */
static void name_choose(themis_posix_t *filesystem, char name[THEMIS_CLIENT_NAME_BYTES])
{
    snprintf(name, THEMIS_CLIENT_NAME_BYTES, THEMIS_POSIX_HIDDEN "%016" PRIx64 "_%" PRIu64, filesystem->instance,
             ++filesystem->hidden);
}

/* The file of the claimed name if it is open, with a reference, and a path for it in that directory. */
static themis_posix_node_t *candidate(themis_posix_t *filesystem, const themis_posix_claim_t *claim,
                                      char name[THEMIS_CLIENT_NAME_BYTES], char path[THEMIS_PATH_BYTES])
{
    pthread_mutex_lock(&filesystem->lock);
    themis_posix_node_t *node = themis_posix_tree_find(&filesystem->tree, claim->parent, claim->name);
    if (node && node->files)
        name_choose(filesystem, name);
    if (node && (!node->files || themis_posix_tree_path(&filesystem->tree, claim->parent, name, path) != THEMIS_OK))
        node = NULL;
    if (node)
        node->references++;
    pthread_mutex_unlock(&filesystem->lock);
    return node;
}

int themis_posix_hide(themis_posix_t *filesystem, const themis_posix_claim_t *claim, themis_posix_node_t **result)
{
    char name[THEMIS_CLIENT_NAME_BYTES], path[THEMIS_PATH_BYTES];
    themis_posix_node_t *node = candidate(filesystem, claim, name, path);

    *result = NULL;
    if (!node)
        return 0;
    themis_status_t status = themis_rename(filesystem->session, claim->path, path);
    pthread_mutex_lock(&filesystem->lock);
    if (status == THEMIS_OK) {
        themis_posix_tree_move(&filesystem->tree, node, claim->parent, name);
        node->hidden = 1;
    } else {
        themis_posix_tree_release(&filesystem->tree, node, 1);
    }
    pthread_mutex_unlock(&filesystem->lock);
    if (status == THEMIS_OK)
        *result = node;
    /* another user's may be removed, but not renamed; its bytes go with it */
    return status == THEMIS_OK || status == THEMIS_ACCESS ? 0 : themis_posix_error(status);
}

void themis_posix_unhide(themis_posix_t *filesystem, const themis_posix_claim_t *claim, themis_posix_node_t *node)
{
    char path[THEMIS_PATH_BYTES];

    pthread_mutex_lock(&filesystem->lock);
    themis_status_t status = themis_posix_tree_path(&filesystem->tree, node, "", path);
    pthread_mutex_unlock(&filesystem->lock);
    if (status == THEMIS_OK)
        status = themis_rename(filesystem->session, path, claim->path);
    if (status != THEMIS_OK)
        themis_error("%s could not be replaced, and is now %s: %s", claim->path, path, themis_last_error());
    pthread_mutex_lock(&filesystem->lock);
    node->hidden = 0;
    if (status == THEMIS_OK)
        themis_posix_tree_move(&filesystem->tree, node, claim->parent, claim->name);
    pthread_mutex_unlock(&filesystem->lock);
}

void themis_posix_hidden_remove(themis_posix_t *filesystem, themis_posix_node_t *node)
{
    themis_posix_claim_t claim;

    if (themis_posix_claim_node(filesystem, NULL, node, THEMIS_POSIX_EXCLUSIVE, &claim) != 0)
        return;
    pthread_mutex_lock(&filesystem->lock);
    int unused = node->hidden && !node->files;
    pthread_mutex_unlock(&filesystem->lock);
    if (unused) {
        themis_status_t status = themis_unlink(filesystem->session, claim.path);
        if (status != THEMIS_OK && status != THEMIS_NO_ENTRY)
            themis_warn("%s, a removed file that was open, is left: %s", claim.path, themis_last_error());
        pthread_mutex_lock(&filesystem->lock);
        themis_posix_tree_detach(&filesystem->tree, node);
        pthread_mutex_unlock(&filesystem->lock);
    }
    themis_posix_unclaim(filesystem, &claim, 1);
}

/* A hidden file, of `directory` if that is not NULL, with a reference. */
static themis_posix_node_t *any_hidden(themis_posix_t *filesystem, const themis_posix_node_t *directory)
{
    themis_posix_node_t *node, *next, *found = NULL;

    pthread_mutex_lock(&filesystem->lock);
    HASH_ITER(hh, filesystem->tree.named, node, next)
    {
        if (node->hidden && (!directory || node->parent == directory)) {
            found = node;
            found->references++;
            break;
        }
    }
    pthread_mutex_unlock(&filesystem->lock);
    return found;
}

void themis_posix_hidden_remove_all(themis_posix_t *filesystem)
{
    themis_posix_node_t *node;
    char path[THEMIS_PATH_BYTES];
    int reachable = 1;

    while ((node = any_hidden(filesystem, NULL))) {
        pthread_mutex_lock(&filesystem->lock);
        themis_status_t status = themis_posix_tree_path(&filesystem->tree, node, "", path);
        themis_posix_tree_detach(&filesystem->tree, node);
        pthread_mutex_unlock(&filesystem->lock);
        themis_posix_release(filesystem, node, 1);
        if (status == THEMIS_OK && reachable)
            status = themis_unlink(filesystem->session, path);
        else if (status == THEMIS_OK)
            status = THEMIS_UNREACHABLE;
        reachable = status > THEMIS_UNREACHABLE;
        if (status != THEMIS_OK && status != THEMIS_NO_ENTRY)
            themis_warn("%s, a removed file that was open, is left", path);
    }
}

/* Returns 0 if it could not be moved. */
static int move_up(themis_posix_t *filesystem, themis_posix_node_t *directory, themis_posix_node_t *node)
{
    char path[THEMIS_PATH_BYTES], name[THEMIS_CLIENT_NAME_BYTES];
    themis_posix_claim_t claim;

    if (themis_posix_claim_node(filesystem, NULL, node, THEMIS_POSIX_EXCLUSIVE, &claim) != 0)
        return 1; /* removed by now */
    pthread_mutex_lock(&filesystem->lock);
    name_choose(filesystem, name);
    themis_status_t status = themis_posix_tree_path(&filesystem->tree, directory->parent, name, path);
    pthread_mutex_unlock(&filesystem->lock);
    if (status == THEMIS_OK)
        status = themis_rename(filesystem->session, claim.path, path);
    if (status == THEMIS_OK) {
        pthread_mutex_lock(&filesystem->lock);
        themis_posix_tree_move(&filesystem->tree, node, directory->parent, name);
        pthread_mutex_unlock(&filesystem->lock);
    }
    themis_posix_unclaim(filesystem, &claim, 1);
    return status == THEMIS_OK;
}

int themis_posix_hidden_move_up(themis_posix_t *filesystem, themis_posix_node_t *directory)
{
    themis_posix_node_t *node;
    int count = 0, moved = 1;

    while (directory->parent && moved && (node = any_hidden(filesystem, directory))) {
        moved = move_up(filesystem, directory, node);
        count += moved;
        themis_posix_release(filesystem, node, 1);
    }
    return count;
}
