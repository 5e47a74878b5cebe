/* SPDX-License-Identifier: BSD-3-Clause */
#define HASH_NONFATAL_OOM 1 /* an element without memory has no table then */
#include "posix/tree.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include "util/hash_ring.h"

/* Files have the numbers of their objects, others this bit. */
static const uint64_t no_object = UINT64_C(1) << 63;

enum { KEY_BYTES = sizeof(void *) + THEMIS_CLIENT_NAME_BYTES };

/* Writes at most KEY_BYTES; a longer name is that of no node. Returns the length, 0 if it is too long. */
static size_t key_make(const themis_posix_node_t *parent, const char *name, char key[KEY_BYTES])
{
    size_t length = strlen(name);

    if (length >= THEMIS_CLIENT_NAME_BYTES)
        return 0;
    memcpy(key, &parent, sizeof parent);
    memcpy(key + sizeof parent, name, length + 1);
    return sizeof parent + length;
}

themis_posix_node_t *themis_posix_tree_find(const themis_posix_tree_t *tree, const themis_posix_node_t *parent,
                                            const char *name)
{
    themis_posix_node_t *node = NULL;
    char key[KEY_BYTES];
    size_t length = key_make(parent, name, key);

    if (length)
        HASH_FIND(hh, tree->named, key, length, node);
    return node;
}

/* Takes a reference of the parent. Returns 0 without memory; the node has no name then. */
static int name_give(themis_posix_tree_t *tree, themis_posix_node_t *node, themis_posix_node_t *parent,
                     const char *name)
{
    char bytes[KEY_BYTES];
    size_t length = key_make(parent, name, bytes);
    char *key = length ? malloc(length + 1) : NULL;

    if (!key)
        return 0;
    memcpy(key, bytes, length + 1);
    node->hh.tbl = NULL;
    HASH_ADD_KEYPTR(hh, tree->named, key, (unsigned)length, node);
    if (!node->hh.tbl) { /* out of memory */
        free(key);
        return 0;
    }
    parent->references++;
    node->parent = parent;
    node->key = key;
    node->name = key + sizeof parent;
    return 1;
}

static void name_take(themis_posix_tree_t *tree, themis_posix_node_t *node)
{
    themis_posix_node_t *parent = node->parent;
    static char none[] = "";

    HASH_DEL(tree->named, node);
    free(node->key);
    node->key = NULL;
    node->name = none;
    node->parent = NULL;
    themis_posix_tree_release(tree, parent, 1);
}

static themis_posix_node_t *node_create(themis_posix_tree_t *tree, themis_type_t type, uint64_t object)
{
    static char none[] = "";
    themis_posix_node_t *node = calloc(1, sizeof *node);

    if (!node)
        return NULL;
    node->references = 1;
    node->name = none;
    node->type = type;
    node->object = object;
    node->number = object;
    node->serial = ++tree->serial;
    pthread_mutex_init(&node->append, NULL);
    pthread_mutex_init(&node->locking, NULL);
    DL_APPEND(tree->all, node);
    return node;
}

static void node_free(themis_posix_tree_t *tree, themis_posix_node_t *node)
{
    DL_DELETE(tree->all, node);
    pthread_mutex_destroy(&node->append);
    pthread_mutex_destroy(&node->locking);
    free(node->key);
    free(node);
}

/* A directory has the number of its path; it keeps that when it is renamed, as long as it is known. */
static void number_choose(const themis_posix_tree_t *tree, themis_posix_node_t *node)
{
    char path[THEMIS_PATH_BYTES];

    if (node->object || themis_posix_tree_path(tree, node, "", path) != THEMIS_OK)
        return;
    node->number = themis_util_hash_ring_hash(path, strlen(path)) | no_object;
}

themis_status_t themis_posix_tree_init(themis_posix_tree_t *tree)
{
    *tree = (themis_posix_tree_t){0};
    tree->root = node_create(tree, THEMIS_TYPE_DIRECTORY, 0);
    if (!tree->root)
        return THEMIS_NO_MEMORY;
    number_choose(tree, tree->root);
    return THEMIS_OK;
}

void themis_posix_tree_free(themis_posix_tree_t *tree)
{
    themis_posix_node_t *node, *next;

    HASH_CLEAR(hh, tree->named);
    DL_FOREACH_SAFE(tree->all, node, next)
    {
        node_free(tree, node);
    }
    tree->root = NULL;
}

static uint64_t object_of(const themis_stat_t *stat)
{
    return stat->type == THEMIS_TYPE_DIRECTORY ? 0 : stat->id;
}

int themis_posix_tree_is_same(const themis_posix_node_t *node, const themis_stat_t *stat)
{
    return node->type == stat->type && node->object == object_of(stat);
}

themis_posix_node_t *themis_posix_tree_get(themis_posix_tree_t *tree, themis_posix_node_t *parent, const char *name,
                                           const themis_stat_t *stat)
{
    themis_posix_node_t *node = themis_posix_tree_find(tree, parent, name);

    if (node && themis_posix_tree_is_same(node, stat)) {
        node->references++;
    } else {
        themis_posix_tree_detach(tree, node);
        node = node_create(tree, stat->type, object_of(stat));
        if (!node)
            return NULL;
        if (!name_give(tree, node, parent, name)) {
            node_free(tree, node);
            return NULL;
        }
        number_choose(tree, node);
    }
    node->mode = stat->mode;
    node->gid = stat->gid;
    node->lost = stat->lost;
    return node;
}

themis_posix_node_t *themis_posix_tree_add_nameless(themis_posix_tree_t *tree, const themis_stat_t *stat)
{
    themis_posix_node_t *node = node_create(tree, stat->type, stat->id);

    if (node) {
        node->mode = stat->mode;
        node->gid = stat->gid;
    }
    return node;
}

void themis_posix_tree_move(themis_posix_tree_t *tree, themis_posix_node_t *node, themis_posix_node_t *parent,
                            const char *name)
{
    themis_posix_node_t *old = themis_posix_tree_find(tree, parent, name);

    if (old == node)
        return;
    themis_posix_tree_detach(tree, old);
    themis_posix_tree_detach(tree, node);
    name_give(tree, node, parent, name);
}

void themis_posix_tree_detach(themis_posix_tree_t *tree, themis_posix_node_t *node)
{
    if (node && node->parent)
        name_take(tree, node);
}

void themis_posix_tree_release(themis_posix_tree_t *tree, themis_posix_node_t *node, uint64_t count)
{
    while (node && node != tree->root) {
        themis_posix_node_t *parent = node->parent;
        node->references -= count < node->references ? count : node->references;
        if (node->references > 0)
            return;
        if (parent)
            HASH_DEL(tree->named, node);
        node_free(tree, node);
        node = parent;
        count = 1;
    }
}

int themis_posix_tree_is_below(const themis_posix_node_t *node, const themis_posix_node_t *directory)
{
    while (node && node != directory)
        node = node->parent;
    return node != NULL;
}

/* Puts "/name" in front of what is at `*at`. Returns 0 if there is no room. */
static int component_put(char *path, size_t *at, const char *name)
{
    size_t length = strlen(name);

    if (length + 1 > *at)
        return 0;
    *at -= length;
    memcpy(path + *at, name, length);
    path[--*at] = '/';
    return 1;
}

themis_status_t themis_posix_tree_path(const themis_posix_tree_t *tree, const themis_posix_node_t *directory,
                                       const char *name, char path[THEMIS_PATH_BYTES])
{
    size_t at = THEMIS_PATH_BYTES - 1;
    int fits = 1;

    path[at] = '\0';
    if (*name)
        fits = component_put(path, &at, name);
    for (; directory->parent && fits; directory = directory->parent)
        fits = component_put(path, &at, directory->name);
    if (!fits)
        return THEMIS_NAME_TOO_LONG;
    if (directory != tree->root)
        return THEMIS_STALE;
    if (at == THEMIS_PATH_BYTES - 1)
        path[--at] = '/';
    memmove(path, path + at, THEMIS_PATH_BYTES - at);
    return THEMIS_OK;
}
