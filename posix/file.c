/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* SEEK_DATA */
#include "posix/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>
#include "client/file.h"
#include "client/namespace.h"
#include "posix/attributes.h"
#include "posix/claim.h"
#include "posix/error.h"
#include "posix/hidden.h"
#include "posix/names.h"
#include "posix/rights.h"

/* Held by whoever appends: a byte that no file has. */
static const uint64_t append_byte = INT64_MAX - 1;

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static int access_of(int flags)
{
    switch (flags & O_ACCMODE) {
    case O_RDONLY:
        return THEMIS_OPEN_READ | (flags & O_TRUNC ? THEMIS_OPEN_WRITE : 0);
    case O_WRONLY:
        return THEMIS_OPEN_WRITE;
    default:
        return THEMIS_OPEN_READ | THEMIS_OPEN_WRITE;
    }
}

/* Takes `opened` over, which is closed on failure. */
static int file_make(themis_posix_t *filesystem, themis_posix_node_t *node, themis_file_t *opened, int access,
                     themis_posix_file_t **result)
{
    themis_posix_file_t *file = calloc(1, sizeof *file);

    if (!file) {
        themis_close(opened);
        return ENOMEM;
    }
    file->filesystem = filesystem;
    file->node = node;
    file->file = opened;
    file->writable = (access & THEMIS_OPEN_WRITE) != 0;
    atomic_init(&file->references, 1);
    pthread_mutex_lock(&filesystem->lock);
    node->references++;
    DL_APPEND(node->files, file);
    DL_APPEND2(filesystem->files, file, all_prev, all_next);
    pthread_mutex_unlock(&filesystem->lock);
    *result = file;
    return 0;
}

static int open_claimed(themis_posix_t *filesystem, themis_posix_node_t *node, const char *path, int flags,
                        themis_posix_file_t **file)
{
    const int access = access_of(flags);
    themis_file_t *opened;

    pthread_mutex_lock(&filesystem->lock);
    int is_lost = node->lost > 0;
    pthread_mutex_unlock(&filesystem->lock);
    /* who reads up to the size that is left would not notice */
    if (is_lost && access & THEMIS_OPEN_READ && !(flags & O_TRUNC))
        return EIO;
    themis_status_t status = themis_open(
        filesystem->session, path, access | (is_lost && flags & O_TRUNC ? THEMIS_OPEN_TRUNCATE : 0), 0, NULL, &opened);
    if (status != THEMIS_OK)
        return themis_posix_error(status);
    if (node->object && opened->attr.id != node->object) { /* another client has put another file here */
        themis_close(opened);
        return ESTALE;
    }
    if (flags & O_TRUNC && (status = themis_truncate(opened, 0)) != THEMIS_OK) {
        themis_close(opened);
        return themis_posix_error(status);
    }
    return file_make(filesystem, node, opened, access, file);
}

int themis_posix_open(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                      int flags, themis_posix_file_t **file)
{
    themis_posix_claim_t claim;
    int error = themis_posix_claim_node(filesystem, caller, node, THEMIS_POSIX_SHARED, &claim);

    if (error)
        return error;
    error = open_claimed(filesystem, node, claim.path, flags, file);
    themis_posix_unclaim(filesystem, &claim, 1);
    return error;
}

/* *fresh: 1 if it was made, which others may do at the same time. */
static themis_status_t make_or_open(themis_t *session, const char *path, int flags, mode_t mode, themis_file_t **file,
                                    int *fresh)
{
    const int access = access_of(flags), create = THEMIS_OPEN_CREATE | THEMIS_OPEN_EXCLUSIVE;
    const int truncate = flags & O_TRUNC ? THEMIS_OPEN_TRUNCATE : 0;
    themis_status_t status;

    do {
        status = themis_open(session, path, access | create, mode & 07777, NULL, file);
        *fresh = status == THEMIS_OK;
        if (status == THEMIS_EXISTS && !(flags & O_EXCL))
            status = themis_open(session, path, access | truncate, 0, NULL, file);
    } while (status == THEMIS_NO_ENTRY && !*fresh && !(flags & O_EXCL) &&
             themis_client_namespace_lookup(session, path, 0, NULL) == THEMIS_OK);
    return status;
}

static int create_claimed(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                          const themis_posix_claim_t *claim, int flags, mode_t mode, themis_posix_file_t **file,
                          struct stat *stat)
{
    themis_stat_t found;
    themis_file_t *opened;
    int fresh = 0;
    themis_status_t status = make_or_open(filesystem->session, claim->path, flags, mode, &opened, &fresh);

    if (status != THEMIS_OK)
        return themis_posix_error(status);
    int error = fresh ? themis_posix_own(filesystem, caller, claim->parent, claim->path, THEMIS_TYPE_FILE, mode) : 0;
    if (error)
        themis_unlink(filesystem->session, claim->path);
    else
        error = themis_posix_error(themis_client_namespace_look(filesystem->session, claim->path, &found));
    if (!error && found.id != opened->attr.id)
        error = ESTALE;
    if (error) {
        themis_close(opened);
        return error;
    }
    pthread_mutex_lock(&filesystem->lock);
    themis_posix_node_t *node = themis_posix_tree_get(&filesystem->tree, claim->parent, claim->name, &found);
    pthread_mutex_unlock(&filesystem->lock);
    error = node ? file_make(filesystem, node, opened, access_of(flags), file) : ENOMEM;
    if (error && node)
        themis_posix_release(filesystem, node, 1);
    if (!node)
        themis_close(opened);
    if (!error)
        themis_posix_attributes(node, &found, stat);
    return error;
}

int themis_posix_file_create(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                             themis_posix_node_t *parent, const char *name, int flags, mode_t mode,
                             themis_posix_file_t **file, struct stat *stat)
{
    themis_posix_claim_t claim;
    int error = themis_posix_claim_name(filesystem, caller, parent, name, THEMIS_POSIX_SHARED, &claim);

    if (error)
        return error;
    error = create_claimed(filesystem, caller, &claim, flags, mode, file, stat);
    themis_posix_unclaim(filesystem, &claim, 1);
    return error;
}

int themis_posix_file_adopt(themis_posix_t *filesystem, themis_posix_node_t *node, themis_file_t *handle,
                            themis_posix_file_t **file)
{
    const themis_stat_t found = {.type = THEMIS_TYPE_FILE, .mode = handle->attr.mode, .id = handle->attr.id};

    if (node && node->object == handle->attr.id)
        return file_make(filesystem, node, handle, handle->flags, file);
    pthread_mutex_lock(&filesystem->lock);
    node = themis_posix_tree_add_nameless(&filesystem->tree, &found);
    pthread_mutex_unlock(&filesystem->lock);
    const int error = node ? file_make(filesystem, node, handle, handle->flags, file) : ENOMEM;
    if (node)
        themis_posix_release(filesystem, node, 1);
    else
        themis_close(handle);
    return error;
}

void themis_posix_file_acquire(themis_posix_file_t *file)
{
    atomic_fetch_add(&file->references, 1);
}

void themis_posix_file_release(themis_posix_file_t *file)
{
    if (!file || atomic_fetch_sub(&file->references, 1) > 1)
        return;
    themis_posix_t *filesystem = file->filesystem;
    themis_posix_node_t *node = file->node;

    themis_close(file->file);
    pthread_mutex_lock(&filesystem->lock);
    DL_DELETE(node->files, file);
    DL_DELETE2(filesystem->files, file, all_prev, all_next);
    int removable = node->hidden && !node->files;
    pthread_mutex_unlock(&filesystem->lock);
    free(file);
    if (removable)
        themis_posix_hidden_remove(filesystem, node);
    themis_posix_release(filesystem, node, 1);
}

void themis_posix_files_close(themis_posix_t *filesystem)
{
    themis_posix_file_t *file, *next;

    DL_FOREACH_SAFE2(filesystem->files, file, next, all_next)
    {
        themis_close(file->file);
        free(file);
    }
    filesystem->files = NULL;
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

int themis_posix_file_read(themis_posix_file_t *file, void *buffer, size_t bytes, uint64_t offset, size_t *done)
{
    themis_status_t status;
    unsigned renewals = 0;

    do
        status = themis_read(file->file, buffer, bytes, offset, done);
    while (themis_posix_rights_renew(file, &renewals, status));
    return themis_posix_error(status);
}

/* Under the lock that all who append take. */
static themis_status_t append_locked(themis_posix_file_t *file, const void *buffer, size_t bytes)
{
    themis_stat_t stat;
    themis_status_t status = themis_file_stat(file->file, &stat);

    return status == THEMIS_OK ? themis_write(file->file, buffer, bytes, stat.size, NULL) : status;
}

static themis_status_t append_once(themis_posix_file_t *file, const void *buffer, size_t bytes)
{
    themis_status_t status = themis_lock(file->file, append_byte, 1, THEMIS_LOCK_EXCLUSIVE);

    if (status == THEMIS_OK) {
        status = append_locked(file, buffer, bytes);
        themis_unlock(file->file, append_byte, 1);
    } else if (status == THEMIS_STALE) {
        themis_unlock(file->file, 0, UINT64_MAX);
    }
    return status;
}

static int append(themis_posix_file_t *file, const themis_posix_caller_t *caller, const void *buffer, size_t bytes)
{
    themis_status_t status = THEMIS_CANCELED;
    unsigned renewals = 0;

    pthread_mutex_lock(&file->node->append); /* a handle's locks do not exclude its own threads */
    if (!atomic_load(&caller->abandoned)) {
        do
            status = append_once(file, buffer, bytes);
        while (themis_posix_rights_renew(file, &renewals, status));
    }
    pthread_mutex_unlock(&file->node->append);
    return status == THEMIS_LOCKED ? EIO : themis_posix_error(status);
}

int themis_posix_file_write(themis_posix_file_t *file, const themis_posix_caller_t *caller, const void *buffer,
                            size_t bytes, uint64_t offset, int appends)
{
    themis_status_t status;
    unsigned renewals = 0;

    if (appends)
        return append(file, caller, buffer, bytes);
    do
        status = themis_write(file->file, buffer, bytes, offset, NULL);
    while (themis_posix_rights_renew(file, &renewals, status));
    return themis_posix_error(status);
}

int themis_posix_file_sync(themis_posix_file_t *file, const themis_posix_caller_t *caller)
{
    themis_posix_t *filesystem = file->filesystem;
    themis_posix_claim_t claim;
    themis_status_t status;
    unsigned renewals = 0;

    do
        status = themis_sync(file->file);
    while (themis_posix_rights_renew(file, &renewals, status));
    if (status != THEMIS_OK)
        return themis_posix_error(status);
    /* the name may have changed since it was opened */
    int error = themis_posix_claim_node(filesystem, caller, file->node, THEMIS_POSIX_SHARED, &claim);
    if (error)
        return error == ESTALE ? 0 : error;
    if (strcmp(claim.path, themis_file_path(file->file)) != 0)
        error = themis_posix_error(themis_client_namespace_sync_path(filesystem->session, claim.path));
    themis_posix_unclaim(filesystem, &claim, 1);
    return error;
}

int themis_posix_file_flush(themis_posix_file_t *file)
{
    return themis_posix_error(themis_client_file_check(file->file));
}

static int resize(themis_posix_file_t *file, uint64_t size)
{
    themis_status_t status;
    unsigned renewals = 0;

    do
        status = themis_truncate(file->file, size);
    while (themis_posix_rights_renew(file, &renewals, status));
    return themis_posix_error(status);
}

int themis_posix_file_truncate(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                               themis_posix_node_t *node, themis_posix_file_t *file, uint64_t size)
{
    if (size > INT64_MAX)
        return EINVAL;
    if (file && file->writable)
        return resize(file, size);
    int error = themis_posix_open(filesystem, caller, node, O_WRONLY, &file);
    if (error)
        return error;
    error = themis_posix_error(themis_truncate(file->file, size));
    themis_posix_file_release(file);
    return error;
}

int themis_posix_file_allocate(themis_posix_file_t *file, int mode, uint64_t offset, uint64_t length)
{
    themis_status_t status;
    unsigned renewals = 0;

    if (mode != 0)
        return EOPNOTSUPP;
    if (length == 0)
        return EINVAL;
    if (offset > INT64_MAX || length > INT64_MAX - offset)
        return EFBIG;
    do
        status = themis_allocate(file->file, offset + length);
    while (themis_posix_rights_renew(file, &renewals, status));
    return themis_posix_error(status);
}

int themis_posix_file_stat(themis_posix_file_t *file, themis_stat_t *stat)
{
    themis_status_t status;
    unsigned renewals = 0;

    do
        status = themis_file_stat(file->file, stat);
    while (themis_posix_rights_renew(file, &renewals, status));
    return themis_posix_error(status);
}

int themis_posix_file_seek(themis_posix_file_t *file, uint64_t offset, int whence, uint64_t *found)
{
    themis_stat_t stat;

    if (whence != SEEK_DATA && whence != SEEK_HOLE)
        return EINVAL;
    int error = themis_posix_file_stat(file, &stat);
    if (error)
        return error;
    if (offset >= stat.size)
        return ENXIO;
    *found = whence == SEEK_DATA ? offset : stat.size;
    return 0;
}
