/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/directory.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "client/array.h"
#include "client/namespace.h"
#include "posix/claim.h"
#include "posix/error.h"
#include "posix/hidden.h"

/* One after the other: the type in a byte, the name, NUL. */
typedef struct entries {
    char *bytes; /* owned */
    size_t used, capacity;
    size_t *starts; /* owned; of the entries in `bytes` */
    size_t count, start_capacity;
} entries_t;

struct themis_posix_directory {
    themis_posix_t *filesystem; /* borrowed */
    themis_posix_node_t *node;  /* with a reference */
    _Atomic unsigned references;
    pthread_mutex_t lock; /* of what follows */
    entries_t entries;
    int read; /* 1: the entries were, since they were listed */
};

static void entries_free(entries_t *entries)
{
    free(entries->bytes);
    free(entries->starts);
    *entries = (entries_t){0};
}

typedef struct listing {
    const themis_posix_directory_t *directory;
    const char *path;
    entries_t entries;
    int failed;
} listing_t;

/* A name that hides a file here, or did when it was listed: if it is nobody's now, the servers know whether it is
 * another process's. */
static int is_hidden(const listing_t *listing, const char *name)
{
    themis_posix_t *filesystem = listing->directory->filesystem;
    char path[THEMIS_PATH_BYTES];

    if (strncmp(name, THEMIS_POSIX_HIDDEN, sizeof THEMIS_POSIX_HIDDEN - 1) != 0)
        return 0;
    pthread_mutex_lock(&filesystem->lock);
    const themis_posix_node_t *node = themis_posix_tree_find(&filesystem->tree, listing->directory->node, name);
    int hidden = node && node->hidden;
    pthread_mutex_unlock(&filesystem->lock);
    return hidden || (themis_client_path_join(listing->path, name, path) == THEMIS_OK &&
                      themis_client_namespace_lookup(filesystem->session, path, 0, NULL) == THEMIS_NO_ENTRY);
}

static int entry_add(void *arg, const char *name, themis_type_t type)
{
    listing_t *listing = arg;
    entries_t *entries = &listing->entries;
    const size_t bytes = strlen(name) + 2;

    if (is_hidden(listing, name))
        return 0;
    if (themis_client_array_reserve(&entries->bytes, &entries->capacity, entries->used + bytes, 1) != THEMIS_OK ||
        themis_client_array_reserve(&entries->starts, &entries->start_capacity, entries->count + 1,
                                    sizeof *entries->starts) != THEMIS_OK) {
        listing->failed = 1;
        return 1;
    }
    entries->starts[entries->count++] = entries->used;
    entries->bytes[entries->used] = (char)type;
    memcpy(entries->bytes + entries->used + 1, name, bytes - 1);
    entries->used += bytes;
    return 0;
}

/* With the directory's lock held, or before anyone else knows it. */
static int list(themis_posix_directory_t *directory, const themis_posix_caller_t *caller)
{
    themis_posix_t *filesystem = directory->filesystem;
    listing_t listing = {.directory = directory};
    themis_posix_claim_t claim;
    int error = themis_posix_claim_node(filesystem, caller, directory->node, THEMIS_POSIX_SHARED, &claim);

    if (error == ESTALE) { /* it was removed: it has no entries */
        entries_free(&directory->entries);
        return 0;
    }
    if (error)
        return error;
    listing.path = claim.path;
    error = themis_posix_error(themis_readdir(filesystem->session, claim.path, entry_add, &listing));
    themis_posix_unclaim(filesystem, &claim, 1);
    if (!error && listing.failed)
        error = ENOMEM;
    if (error) {
        entries_free(&listing.entries);
        return error;
    }
    entries_free(&directory->entries);
    directory->entries = listing.entries;
    directory->read = 0;
    return 0;
}

int themis_posix_directory_open(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                                themis_posix_node_t *node, themis_posix_directory_t **result)
{
    themis_posix_directory_t *directory = calloc(1, sizeof *directory);

    if (!directory)
        return ENOMEM;
    directory->filesystem = filesystem;
    directory->node = node;
    atomic_init(&directory->references, 1);
    pthread_mutex_init(&directory->lock, NULL);
    themis_posix_acquire(filesystem, node);
    int error = list(directory, caller);
    if (error)
        themis_posix_directory_release(directory);
    else
        *result = directory;
    return error;
}

void themis_posix_directory_acquire(themis_posix_directory_t *directory)
{
    atomic_fetch_add(&directory->references, 1);
}

void themis_posix_directory_release(themis_posix_directory_t *directory)
{
    if (!directory || atomic_fetch_sub(&directory->references, 1) > 1)
        return;
    themis_posix_release(directory->filesystem, directory->node, 1);
    entries_free(&directory->entries);
    pthread_mutex_destroy(&directory->lock);
    free(directory);
}

int themis_posix_directory_read(themis_posix_directory_t *directory, const themis_posix_caller_t *caller,
                                uint64_t index, themis_posix_entry_fn entry, void *arg)
{
    int error = 0;

    pthread_mutex_lock(&directory->lock);
    if (index == 0 && directory->read)
        error = list(directory, caller);
    if (index > 0)
        directory->read = 1;
    for (uint64_t i = index; !error && i < directory->entries.count; i++) {
        const char *bytes = directory->entries.bytes + directory->entries.starts[i];
        if (entry(arg, i, bytes + 1, (themis_type_t)*bytes) != 0)
            break;
        directory->read = 1;
    }
    pthread_mutex_unlock(&directory->lock);
    return error;
}

int themis_posix_directory_sync(themis_posix_directory_t *directory, const themis_posix_caller_t *caller)
{
    themis_posix_t *filesystem = directory->filesystem;
    themis_posix_claim_t claim;
    int error = themis_posix_claim_node(filesystem, caller, directory->node, THEMIS_POSIX_SHARED, &claim);

    if (error)
        return error == ESTALE ? 0 : error;
    error = themis_posix_error(themis_client_namespace_sync_path(filesystem->session, claim.path));
    themis_posix_unclaim(filesystem, &claim, 1);
    return error;
}
