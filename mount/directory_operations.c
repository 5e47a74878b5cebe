/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include "client/array.h"
#include "mount/operations.h"
#include "mount/pool.h"
#include "posix/attributes.h"
#include "posix/directory.h"
#include "posix/names.h"

/* Offsets of a listing: after ".", after "..", after entry i. */
enum { AFTER_DOT = 1, AFTER_DOTS = 2, AFTER_ENTRIES = 3 };

static themis_posix_directory_t *directory_of(const struct fuse_file_info *info)
{
    return (themis_posix_directory_t *)(uintptr_t)info->fh;
}

void themis_mount_opendir(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info)
{
    themis_posix_directory_t *directory = NULL;
    themis_mount_request_t request;
    int delivered = 0;

    themis_mount_begin(&request, fuse, number);
    int error = themis_posix_directory_open(request.requests->filesystem, &request.caller, request.node, &directory);
    info->fh = (uintptr_t)directory;
    if (themis_mount_request_end(&request))
        delivered = (error ? fuse_reply_err(fuse, error) : fuse_reply_open(fuse, info)) == 0;
    if (!error && !delivered)
        themis_posix_directory_release(directory);
}

void themis_mount_releasedir(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info)
{
    (void)number;
    themis_posix_directory_release(directory_of(info));
    fuse_reply_err(fuse, 0);
}

void themis_mount_fsyncdir(fuse_req_t fuse, fuse_ino_t number, int data_only, struct fuse_file_info *info)
{
    themis_posix_directory_t *directory = directory_of(info);
    themis_mount_request_t request;

    (void)number;
    (void)data_only;
    themis_posix_directory_acquire(directory);
    themis_mount_begin(&request, fuse, 0);
    int error = themis_posix_directory_sync(directory, &request.caller);
    if (themis_mount_request_end(&request))
        fuse_reply_err(fuse, error);
    themis_posix_directory_release(directory);
}

/* --- listings ----------------------------------------------------------------------------------------------------- */

/* A reply that is being filled. */
typedef struct listing {
    themis_mount_state_t *state;
    themis_mount_request_t *request;
    fuse_req_t fuse;
    int plus; /* 1: with attributes */
    char *buffer;
    size_t size, used;
    themis_posix_node_t **nodes; /* owned; of which the reply has a reference */
    size_t count, capacity;
} listing_t;

/* Returns 0 if there is no room. */
static int entry_put(listing_t *listing, const char *name, const struct fuse_entry_param *entry, off_t next)
{
    char *at = listing->buffer + listing->used;
    const size_t left = listing->size - listing->used;
    const size_t bytes = listing->plus ? fuse_add_direntry_plus(listing->fuse, at, left, name, entry, next)
                                       : fuse_add_direntry(listing->fuse, at, left, name, &entry->attr, next);

    if (bytes > left)
        return 0;
    listing->used += bytes;
    return 1;
}

static struct fuse_entry_param entry_of(uint64_t number, themis_type_t type)
{
    return (struct fuse_entry_param){.attr = {.st_ino = number, .st_mode = themis_posix_type_mode(type)}};
}

/* With its attributes; the kernel takes that as a lookup. */
static int entry_put_plus(listing_t *listing, const char *name, themis_type_t type, off_t next)
{
    themis_posix_t *filesystem = listing->state->filesystem;
    struct fuse_entry_param entry = entry_of((uint64_t)-1, type);
    themis_posix_node_t *node = NULL;
    struct stat stat;

    if (themis_client_array_reserve(&listing->nodes, &listing->capacity, listing->count + 1, sizeof(*listing->nodes)) !=
        THEMIS_OK)
        return 0;
    int error = themis_posix_lookup(filesystem, &listing->request->caller, listing->request->node, name, &node, &stat);
    if (error == ENOENT) /* removed by now */
        return 1;
    if (!error)
        entry = themis_mount_entry(listing->state, node, &stat);
    int put = entry_put(listing, name, &entry, next);
    if (!error && put)
        listing->nodes[listing->count++] = node;
    else if (!error)
        themis_posix_release(filesystem, node, 1);
    return put;
}

static int entry_see(void *arg, uint64_t index, const char *name, themis_type_t type)
{
    listing_t *listing = arg;
    const off_t next = (off_t)index + AFTER_ENTRIES;
    const struct fuse_entry_param entry = entry_of((uint64_t)-1, type); /* its number is not known */

    return !(listing->plus ? entry_put_plus(listing, name, type, next) : entry_put(listing, name, &entry, next));
}

static int listing_fill(listing_t *listing, themis_posix_directory_t *directory, off_t offset)
{
    const themis_posix_node_t *node = listing->request->node;
    const struct fuse_entry_param self = entry_of(node->number, THEMIS_TYPE_DIRECTORY);
    const struct fuse_entry_param above = entry_of((uint64_t)-1, THEMIS_TYPE_DIRECTORY);

    if (offset < AFTER_DOT && !entry_put(listing, ".", &self, AFTER_DOT))
        return 0;
    if (offset < AFTER_DOTS && !entry_put(listing, "..", &above, AFTER_DOTS))
        return 0;
    const uint64_t index = offset > AFTER_DOTS ? (uint64_t)offset - AFTER_DOTS : 0;
    return themis_posix_directory_read(directory, &listing->request->caller, index, entry_see, listing);
}

static void listing_end(listing_t *listing, int error)
{
    int delivered = 0;

    if (themis_mount_request_end(listing->request))
        delivered = (error && !listing->used ? fuse_reply_err(listing->fuse, error)
                                             : fuse_reply_buf(listing->fuse, listing->buffer, listing->used)) == 0;
    for (size_t i = 0; i < listing->count && !delivered; i++)
        themis_posix_release(listing->state->filesystem, listing->nodes[i], 1);
    free(listing->nodes);
}

static void list(fuse_req_t fuse, fuse_ino_t number, size_t size, off_t offset, const struct fuse_file_info *info,
                 int plus)
{
    themis_posix_directory_t *directory = directory_of(info);
    themis_mount_request_t request;
    listing_t listing = {.state = themis_mount_state_of(fuse),
                         .request = &request,
                         .fuse = fuse,
                         .plus = plus,
                         .buffer = themis_mount_pool_buffer(size),
                         .size = size};

    themis_posix_directory_acquire(directory);
    themis_mount_begin(&request, fuse, number);
    listing_end(&listing, listing.buffer ? listing_fill(&listing, directory, offset) : ENOMEM);
    themis_posix_directory_release(directory);
}

void themis_mount_readdir(fuse_req_t fuse, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *info)
{
    list(fuse, number, size, offset, info, 0);
}

void themis_mount_readdirplus(fuse_req_t fuse, fuse_ino_t number, size_t size, off_t offset,
                              struct fuse_file_info *info)
{
    list(fuse, number, size, offset, info, 1);
}
