/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "preload/core/open_files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "posix/error.h"
#include "preload/core/state.h"
#include "preload/core/walk.h"
#include "preload/description.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static themis_preload_open_t *table[THEMIS_PRELOAD_DESCRIPTORS]; /* guarded by the lock */
static int end;                                                  /* of what has ever been used of the table; likewise */

/* --- one of them ---------------------------------------------------------------------------------------------------
 */

static themis_preload_open_t *open_make(themis_posix_t *filesystem, themis_posix_node_t *node,
                                        themis_posix_file_t *file, int flags)
{
    themis_preload_open_t *open = calloc(1, sizeof *open);

    if (!open)
        return NULL;
    open->filesystem = filesystem;
    open->node = node;
    open->file = file;
    open->flags = flags;
    open->append = (flags & O_APPEND) != 0;
    open->generation = themis_preload_generation();
    atomic_init(&open->references, 1);
    pthread_mutex_init(&open->lock, NULL);
    return open;
}

/* What it has in the session. */
static void contents_release(themis_preload_open_t *open)
{
    if (open->generation != themis_preload_generation())
        return; /* of a session that is no more, or the parent's */
    themis_posix_directory_release(open->directory);
    themis_posix_file_release(open->file);
    if (open->node)
        themis_posix_release(open->filesystem, open->node, 1);
}

void themis_preload_open_file_put(themis_preload_open_t *open)
{
    if (!open || atomic_fetch_sub(&open->references, 1) > 1)
        return;
    contents_release(open);
    pthread_mutex_destroy(&open->lock);
    free(open);
}

/* --- descriptors ---------------------------------------------------------------------------------------------------
 */

/* Puts it, or NULL, behind a descriptor; returns what was there. */
static themis_preload_open_t *exchange(int fd, themis_preload_open_t *open)
{
    pthread_mutex_lock(&lock);
    themis_preload_open_t *before = table[fd];
    table[fd] = open;
    end = open && fd >= end ? fd + 1 : end;
    pthread_mutex_unlock(&lock);
    return before;
}

static int is_number(int fd)
{
    return (unsigned)fd < THEMIS_PRELOAD_DESCRIPTORS;
}

themis_preload_open_t *themis_preload_open_file_take(int fd)
{
    return is_number(fd) ? exchange(fd, NULL) : NULL;
}

void themis_preload_open_file_share(int fd, int duplicate)
{
    themis_preload_open_t *before = NULL;

    if (!is_number(fd) || !is_number(duplicate))
        return;
    pthread_mutex_lock(&lock);
    if (table[fd] && table[fd] != table[duplicate]) {
        before = table[duplicate];
        table[duplicate] = table[fd];
        end = duplicate >= end ? duplicate + 1 : end;
        atomic_fetch_add(&table[fd]->references, 1);
    }
    pthread_mutex_unlock(&lock);
    themis_preload_open_file_put(before);
}

/* Of a file without any name it has the path that it was opened by. */
static void path_get(themis_posix_t *filesystem, const themis_posix_node_t *node, const themis_posix_file_t *file,
                     char path[THEMIS_PATH_BYTES])
{
    pthread_mutex_lock(&filesystem->lock);
    const themis_status_t status = themis_posix_tree_path(&filesystem->tree, node, "", path);
    pthread_mutex_unlock(&filesystem->lock);
    if (status != THEMIS_OK)
        strcpy(path, file ? themis_file_path(file->file) : "/");
}

static int describe(themis_posix_t *filesystem, const themis_posix_node_t *node, const themis_posix_file_t *file,
                    int flags, themis_preload_blank_t *blank)
{
    char path[THEMIS_PATH_BYTES];
    size_t length = 0;
    void *handle = file ? malloc(THEMIS_HANDLE_BYTES) : NULL;
    int error = ENOMEM;

    path_get(filesystem, node, file, path);
    if (!file || (handle && themis_file_pack(file->file, handle, THEMIS_HANDLE_BYTES, &length) == THEMIS_OK)) {
        const themis_preload_description_t description = {.kind = THEMIS_PRELOAD_OPENED,
                                                          .flags = flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_CLOEXEC),
                                                          .path_bytes = (uint32_t)strlen(path) + 1,
                                                          .handle_bytes = (uint32_t)length};
        error = themis_preload_description_end(blank, &description, path, handle ? handle : "") == 0 ? 0 : errno;
    }
    free(handle);
    return error;
}

int themis_preload_open_file_add(themis_posix_t *filesystem, themis_posix_node_t *node, themis_posix_file_t *file,
                                 int flags, themis_preload_blank_t *blank)
{
    themis_preload_open_t *open = open_make(filesystem, node, file, flags);

    if (!open) {
        themis_posix_file_release(file);
        themis_posix_release(filesystem, node, 1);
        return ENOMEM;
    }
    const int error = describe(filesystem, node, file, flags, blank);
    themis_preload_open_file_put(error ? open : exchange(blank->fd, open));
    return error;
}

/* --- from what a descriptor says of itself -------------------------------------------------------------------------
 */

/* A file that is open, by its handle; its name may be another's by now, or gone. */
static int file_restore(themis_posix_t *filesystem, const themis_preload_description_t *description, const char *path,
                        const void *handle, themis_preload_open_t **result)
{
    themis_posix_node_t *node = NULL;
    themis_posix_file_t *file = NULL;
    themis_file_t *opened;
    struct stat stat;
    themis_status_t status = themis_file_unpack(filesystem->session, handle, description->handle_bytes, &opened);

    if (status != THEMIS_OK)
        return themis_posix_error(status);
    themis_preload_walk(filesystem, path, AT_SYMLINK_NOFOLLOW, &node, &stat);
    int error = themis_posix_file_adopt(filesystem, node, opened, &file);
    if (node)
        themis_posix_release(filesystem, node, 1);
    if (error)
        return error;
    themis_posix_acquire(filesystem, file->node);
    *result = open_make(filesystem, file->node, file, description->flags);
    if (!*result) {
        themis_posix_release(filesystem, file->node, 1);
        themis_posix_file_release(file);
    }
    return *result ? 0 : ENOMEM;
}

static int directory_restore(themis_posix_t *filesystem, const themis_preload_description_t *description,
                             const char *path, themis_preload_open_t **result)
{
    themis_posix_node_t *node;
    struct stat stat;
    int error = themis_preload_walk(filesystem, path, AT_SYMLINK_NOFOLLOW, &node, &stat);

    if (error)
        return error;
    *result = open_make(filesystem, node, NULL, description->flags);
    if (!*result)
        themis_posix_release(filesystem, node, 1);
    return *result ? 0 : ENOMEM;
}

static int restore(themis_posix_t *filesystem, int fd, themis_preload_open_t **result)
{
    const size_t room = sizeof(themis_preload_description_t) + THEMIS_PATH_BYTES + THEMIS_HANDLE_BYTES;
    themis_preload_description_t description;
    const void *handle;
    const char *path;
    void *buffer = malloc(room);

    if (!buffer)
        return ENOMEM;
    int error = themis_preload_description_read(fd, buffer, room, &description, &path, &handle) != 0 ? errno : 0;
    if (!error)
        error = description.handle_bytes ? file_restore(filesystem, &description, path, handle, result)
                                         : directory_restore(filesystem, &description, path, result);
    free(buffer);
    return error;
}

static themis_preload_open_t *known(int fd)
{
    pthread_mutex_lock(&lock);
    themis_preload_open_t *open = table[fd];
    if (open && open->generation == themis_preload_generation())
        atomic_fetch_add(&open->references, 1);
    else
        open = NULL;
    pthread_mutex_unlock(&lock);
    return open;
}

themis_preload_open_t *themis_preload_open_file_get(themis_posix_t *filesystem, int fd)
{
    themis_preload_open_t *open = is_number(fd) ? known(fd) : NULL;

    if (open || !is_number(fd)) {
        errno = open ? errno : EBADF;
        return open;
    }
    const int error = restore(filesystem, fd, &open);
    if (error || !open) {
        errno = error;
        return NULL;
    }
    open->shared = 1;
    atomic_fetch_add(&open->references, 1);
    themis_preload_open_file_put(exchange(fd, open));
    return open;
}

/* --- all of them ---------------------------------------------------------------------------------------------------
 */

void themis_preload_open_files_inherit(void)
{
    pthread_mutex_lock(&lock);
    for (int fd = 0; fd < end; fd++)
        if (table[fd])
            table[fd]->shared = 1;
    pthread_mutex_unlock(&lock);
}

void themis_preload_open_files_reset(void)
{
    pthread_mutex_init(&lock, NULL);
}

/* Each is released once, though several descriptors may have it; it is then of an earlier generation. */
void themis_preload_open_files_close(void)
{
    for (int fd = 0; fd < end; fd++) {
        themis_preload_open_t *open = table[fd];
        if (open && open->generation == themis_preload_generation()) {
            contents_release(open);
            open->generation = 0;
        }
    }
}
