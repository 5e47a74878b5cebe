/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/claim.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include "posix/error.h"

int themis_posix_claim_init(themis_posix_claim_t *claim, themis_posix_node_t *parent, const char *name,
                            themis_posix_claim_kind_t kind)
{
    size_t length = strlen(name);

    if (length >= sizeof claim->name)
        return ENAMETOOLONG;
    claim->parent = parent;
    claim->below = NULL;
    claim->kind = kind;
    memcpy(claim->name, name, length + 1);
    return 0;
}

static int excludes(const themis_posix_claim_t *a, const themis_posix_claim_t *b)
{
    if (a->holder == b->holder)
        return 0;
    if ((a->kind == THEMIS_POSIX_EXCLUSIVE || b->kind == THEMIS_POSIX_EXCLUSIVE) && a->parent == b->parent &&
        strcmp(a->name, b->name) == 0)
        return 1;
    return (a->below && themis_posix_tree_is_below(b->parent, a->below)) ||
           (b->below && themis_posix_tree_is_below(a->parent, b->below));
}

/* Does one that came before exclude any of them? */
static int must_wait(const themis_posix_t *filesystem, const themis_posix_claim_t *claims, int count)
{
    for (const themis_posix_claim_t *other = filesystem->claims; other && other != claims; other = other->next)
        for (int i = 0; i < count; i++)
            if (excludes(other, &claims[i]))
                return 1;
    return 0;
}

/* The nodes stay as long as others may look at the claims. */
static void hold_nodes(const themis_posix_claim_t *claim)
{
    if (claim->parent)
        claim->parent->references++;
    if (claim->below)
        claim->below->references++;
}

static void enqueue(themis_posix_t *filesystem, themis_posix_claim_t *claims, int count)
{
    themis_posix_claim_t **last = &filesystem->claims;

    while (*last)
        last = &(*last)->next;
    for (int i = 0; i < count; i++) {
        hold_nodes(&claims[i]);
        claims[i].holder = claims;
        claims[i].next = NULL;
        *last = &claims[i];
        last = &claims[i].next;
    }
}

static void dequeue(themis_posix_t *filesystem, const themis_posix_claim_t *claims, int count)
{
    themis_posix_claim_t **at = &filesystem->claims;

    while (*at)
        if ((*at)->holder == claims)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    for (int i = 0; i < count; i++) {
        themis_posix_tree_release(&filesystem->tree, claims[i].parent, 1);
        themis_posix_tree_release(&filesystem->tree, claims[i].below, 1);
    }
    pthread_cond_broadcast(&filesystem->released);
}

static int is_abandoned(const themis_posix_caller_t *caller)
{
    return caller && atomic_load(&caller->abandoned);
}

/* With the lock held. */
static int await(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_claim_t *claims,
                 int count)
{
    enqueue(filesystem, claims, count);
    while (!is_abandoned(caller) && must_wait(filesystem, claims, count))
        pthread_cond_wait(&filesystem->released, &filesystem->lock);
    return is_abandoned(caller) ? EINTR : 0;
}

static int name_check(const themis_posix_t *filesystem, themis_posix_claim_t *claim)
{
    const themis_posix_node_t *node = themis_posix_tree_find(&filesystem->tree, claim->parent, claim->name);

    if (node && node->hidden)
        return ENOENT;
    themis_status_t status = themis_posix_tree_path(&filesystem->tree, claim->parent, claim->name, claim->path);
    return status == THEMIS_STALE ? ENOENT : themis_posix_error(status);
}

int themis_posix_claim(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_claim_t *claims,
                       int count)
{
    pthread_mutex_lock(&filesystem->lock);
    int error = await(filesystem, caller, claims, count);
    for (int i = 0; i < count && !error; i++)
        error = name_check(filesystem, &claims[i]);
    if (error)
        dequeue(filesystem, claims, count);
    pthread_mutex_unlock(&filesystem->lock);
    return error;
}

void themis_posix_unclaim(themis_posix_t *filesystem, themis_posix_claim_t *claims, int count)
{
    pthread_mutex_lock(&filesystem->lock);
    dequeue(filesystem, claims, count);
    pthread_mutex_unlock(&filesystem->lock);
}

/* The node may have got another name, or none, while the claim waited. */
static int claim_present_name(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                              themis_posix_node_t *node, themis_posix_claim_t *claim)
{
    for (;;) {
        if (!node->parent && node != filesystem->tree.root)
            return ESTALE;
        claim->parent = node->parent;
        memcpy(claim->name, node->name, strlen(node->name) + 1);
        int error = await(filesystem, caller, claim, 1);
        if (!error && node->parent == claim->parent && strcmp(node->name, claim->name) == 0)
            error = themis_posix_error(themis_posix_tree_path(&filesystem->tree, node, "", claim->path));
        else if (!error)
            error = EAGAIN;
        if (error)
            dequeue(filesystem, claim, 1);
        if (error != EAGAIN)
            return error;
    }
}

int themis_posix_claim_node(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                            themis_posix_claim_kind_t kind, themis_posix_claim_t *claim)
{
    claim->below = NULL;
    claim->kind = kind;
    pthread_mutex_lock(&filesystem->lock);
    int error = claim_present_name(filesystem, caller, node, claim);
    pthread_mutex_unlock(&filesystem->lock);
    return error;
}

int themis_posix_claim_name(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                            themis_posix_node_t *parent, const char *name, themis_posix_claim_kind_t kind,
                            themis_posix_claim_t *claim)
{
    int error = themis_posix_claim_init(claim, parent, name, kind);

    return error ? error : themis_posix_claim(filesystem, caller, claim, 1);
}
