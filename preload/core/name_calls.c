/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and attributes, and opening. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "posix/attributes.h"
#include "posix/links.h"
#include "posix/names.h"
#include "posix/space.h"
#include "preload/core/calls.h"
#include "preload/core/locks.h"
#include "preload/core/maps.h"
#include "preload/core/rights.h"
#include "preload/core/state.h"
#include "preload/core/target.h"
#include "preload/core/walk.h"

enum { STALE_TRIES = 3 /* the name became another file's between two requests */ };

int themis_preload_end_with(int error)
{
    themis_preload_end();
    return themis_preload_result(error);
}

/* --- opening -------------------------------------------------------------------------------------------------------
 */

static int is_directory_open(const themis_posix_node_t *node, int flags)
{
    if (node->type == THEMIS_TYPE_FILE)
        return flags & O_DIRECTORY ? ENOTDIR : 0;
    if (node->type == THEMIS_TYPE_SYMLINK)
        return flags & O_DIRECTORY ? ENOTDIR : flags & O_PATH ? 0 : ELOOP;
    return (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC ? EISDIR : 0;
}

/* Takes over the node. */
static int open_node(themis_posix_t *filesystem, themis_posix_node_t *node, int flags, themis_preload_blank_t *blank)
{
    themis_posix_file_t *file = NULL;
    int error = is_directory_open(node, flags);

    if (!error && node->type == THEMIS_TYPE_FILE && !(flags & O_PATH))
        error = themis_posix_open(filesystem, themis_preload_caller(), node, flags, &file);
    if (error) {
        themis_posix_release(filesystem, node, 1);
        return error;
    }
    if (file && flags & O_TRUNC)
        themis_preload_maps_refresh(node);
    return themis_preload_open_file_add(filesystem, node, file, flags, blank);
}

/* A directory has to be readable to be listed; of a file servers know. */
static int open_existing(themis_posix_t *filesystem, const char *path, int flags, themis_preload_blank_t *blank)
{
    themis_posix_node_t *node;
    struct stat stat;
    const int error = themis_preload_walk(filesystem, path, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0, &node, &stat);

    if (error)
        return error;
    if (node->type == THEMIS_TYPE_DIRECTORY && !(flags & O_PATH) &&
        !themis_preload_may_access(&stat, R_OK, geteuid(), getegid())) {
        themis_posix_release(filesystem, node, 1);
        return EACCES;
    }
    return open_node(filesystem, node, flags, blank);
}

static int open_or_create(themis_posix_t *filesystem, const char *path, int flags, mode_t mode,
                          themis_preload_blank_t *blank)
{
    themis_preload_place_t place;
    themis_posix_file_t *file;
    struct stat stat;
    int error = themis_preload_walk_parent(filesystem, path, &place);

    if (error)
        return error;
    if (!*place.name)
        error = flags & O_EXCL ? EEXIST : EISDIR;
    else
        error = themis_posix_file_create(filesystem, themis_preload_caller(), place.parent, place.name, flags, mode,
                                         &file, &stat);
    themis_posix_release(filesystem, place.parent, 1);
    if (error)
        return error == EISDIR && flags & O_EXCL ? EEXIST : error;
    if (flags & O_TRUNC)
        themis_preload_maps_refresh(file->node);
    return themis_preload_open_file_add(filesystem, file->node, file, flags, blank);
}

static int open_begun(const char *path, int flags, mode_t mode, themis_preload_blank_t *blank)
{
    themis_posix_t *filesystem;
    int error = themis_preload_begin(&filesystem), tries = STALE_TRIES;

    if (error)
        return error;
    do
        error = flags & O_CREAT ? open_or_create(filesystem, path, flags, mode, blank)
                                : open_existing(filesystem, path, flags, blank);
    while (error == ESTALE && --tries > 0);
    themis_preload_end();
    return error == ESTALE ? ENOENT : error;
}

/* The descriptor is made before the file is opened, which may make or truncate it. */
int themis_preload_core_open(const char *path, int flags, mode_t mode)
{
    themis_preload_blank_t blank;

    if ((flags & O_TMPFILE) == O_TMPFILE)
        return themis_preload_result(EOPNOTSUPP);
    if ((flags & O_ACCMODE) == O_ACCMODE || (flags & O_CREAT && flags & O_DIRECTORY))
        return themis_preload_result(EINVAL);
    if (flags & O_PATH)
        flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (themis_preload_description_begin(flags, &blank) != 0)
        return -1;
    const int error = blank.fd < THEMIS_PRELOAD_DESCRIPTORS ? open_begun(path, flags, mode, &blank) : EMFILE;
    if (!error)
        return blank.fd;
    themis_preload_description_close(&blank);
    return themis_preload_result(error);
}

/* --- descriptors ---------------------------------------------------------------------------------------------------
 */

int themis_preload_core_close(int fd)
{
    themis_preload_open_t *open = themis_preload_open_file_take(fd);
    themis_posix_t *filesystem;
    int error = 0;

    if (open && open->generation == themis_preload_generation() && themis_preload_begin(&filesystem) == 0) {
        if (open->file) {
            themis_preload_locks_drop(open->node);
            error = themis_posix_file_flush(open->file);
        }
        themis_preload_open_file_put(open);
        themis_preload_end();
    } else {
        themis_preload_open_file_put(open);
    }
    if (syscall(SYS_close, fd) != 0)
        return -1;
    return themis_preload_result(error);
}

void themis_preload_core_forget(int fd)
{
    const int error = errno;
    themis_preload_open_t *open = themis_preload_open_file_take(fd);
    themis_posix_t *filesystem;

    if (open && themis_preload_begin(&filesystem) == 0) {
        if (open->file && open->generation == themis_preload_generation())
            themis_preload_locks_drop(open->node);
        themis_preload_open_file_put(open);
        themis_preload_end();
    }
    errno = error;
}

int themis_preload_core_path(int fd, char *path, size_t size)
{
    char whole[THEMIS_PATH_BYTES];
    themis_preload_open_t *open;

    if (themis_preload_call_begin(fd, &open) != 0)
        return -1;
    pthread_mutex_lock(&open->filesystem->lock);
    themis_status_t status = themis_posix_tree_path(&open->filesystem->tree, open->node, "", whole);
    pthread_mutex_unlock(&open->filesystem->lock);
    int error = status == THEMIS_OK ? 0 : ENOENT;
    if (!error && strlen(whole) >= size)
        error = ENAMETOOLONG;
    if (!error)
        strcpy(path, whole);
    return themis_preload_call_end_with(open, error);
}

/* Locks of this process stay, unlike with a close. */
int themis_preload_core_look(int fd, char *path, size_t size)
{
    const int result = themis_preload_core_path(fd, path, size), error = errno;
    themis_posix_t *filesystem;

    if (themis_preload_begin(&filesystem) == 0) {
        themis_preload_open_file_put(themis_preload_open_file_take(fd));
        themis_preload_end();
    }
    errno = error;
    return result;
}

int themis_preload_core_flags(int fd)
{
    const int status = O_APPEND | O_NONBLOCK;
    themis_preload_open_t *open;

    if (themis_preload_call_begin(fd, &open) != 0)
        return -1;
    const int kept = O_ACCMODE | O_SYNC | O_DSYNC | O_PATH | O_DIRECTORY | O_NOFOLLOW;
    const int flags = (open->flags & kept) | ((int)syscall(SYS_fcntl, fd, F_GETFL) & status) | O_LARGEFILE;
    themis_preload_call_end(open);
    return flags;
}

int themis_preload_core_set_flags(int fd, int flags)
{
    themis_preload_open_t *open;

    if (themis_preload_call_begin(fd, &open) != 0)
        return -1;
    int result = (int)syscall(SYS_fcntl, fd, F_SETFL, flags & (O_APPEND | O_NONBLOCK));
    if (result == 0)
        open->append = (flags & O_APPEND) != 0;
    themis_preload_call_end(open);
    return result;
}

typedef struct listing {
    themis_preload_entry_fn entry;
    void *arg;
} listing_t;

static int list_entry(void *arg, uint64_t index, const char *name, themis_type_t type)
{
    const listing_t *listing = arg;

    return listing->entry(listing->arg, index, 1, name, (unsigned char)IFTODT(themis_posix_type_mode(type)));
}

int themis_preload_core_list(int fd, uint64_t from, themis_preload_entry_fn entry, void *arg)
{
    listing_t listing = {entry, arg};
    themis_preload_open_t *open;
    int error = 0;

    if (themis_preload_call_begin(fd, &open) != 0)
        return -1;
    if (open->file || open->flags & O_PATH)
        error = open->file ? ENOTDIR : EBADF;
    pthread_mutex_lock(&open->lock);
    if (!error && !open->directory)
        error = themis_posix_directory_open(open->filesystem, themis_preload_caller(), open->node, &open->directory);
    if (!error)
        error = themis_posix_directory_read(open->directory, themis_preload_caller(), from, list_entry, &listing);
    pthread_mutex_unlock(&open->lock);
    return themis_preload_call_end_with(open, error);
}

/* --- attributes ----------------------------------------------------------------------------------------------------
 */

int themis_preload_core_stat(int fd, const char *path, int flags, struct stat *stat)
{
    themis_preload_target_t target;
    int error = themis_preload_target_begin(fd, path, flags, &target);

    if (error)
        return themis_preload_result(error);
    if (!path)
        error = themis_posix_getattr(target.filesystem, themis_preload_caller(), target.node, &target.stat);
    target.stat.st_dev = THEMIS_PRELOAD_DEVICE;
    if (!error)
        *stat = target.stat;
    return themis_preload_target_end(&target, error);
}

static int attributes_set(int fd, const char *path, int flags, int mask, const struct stat *wanted)
{
    struct stat stat;
    themis_preload_target_t target;
    int error = themis_preload_target_begin(fd, path, flags, &target);

    if (error)
        return themis_preload_result(error);
    if (target.open && target.open->flags & O_PATH)
        error = EBADF;
    else if (mask & THEMIS_POSIX_SET_MODE && target.node->type == THEMIS_TYPE_SYMLINK)
        error = EOPNOTSUPP;
    else if (mask)
        error = themis_posix_setattr(target.filesystem, themis_preload_caller(), target.node,
                                     target.open ? target.open->file : NULL, mask, wanted, &stat);
    themis_preload_walk_changed(target.filesystem, target.node);
    return themis_preload_target_end(&target, error);
}

int themis_preload_core_set_mode(int fd, const char *path, int flags, mode_t mode)
{
    const struct stat wanted = {.st_mode = mode & 07777};

    return attributes_set(fd, path, flags, THEMIS_POSIX_SET_MODE, &wanted);
}

int themis_preload_core_set_owner(int fd, const char *path, int flags, uid_t uid, gid_t gid)
{
    const struct stat wanted = {.st_uid = uid, .st_gid = gid};

    return attributes_set(fd, path, flags,
                          (uid != (uid_t)-1 ? THEMIS_POSIX_SET_UID : 0) | (gid != (gid_t)-1 ? THEMIS_POSIX_SET_GID : 0),
                          &wanted);
}

static int is_time(struct timespec time)
{
    return time.tv_nsec == UTIME_NOW || time.tv_nsec == UTIME_OMIT || (time.tv_nsec >= 0 && time.tv_nsec < 1000000000);
}

/* Times of access are not kept. */
int themis_preload_core_set_times(int fd, const char *path, int flags, const struct timespec times[2])
{
    struct stat wanted = {0};
    int mask = THEMIS_POSIX_SET_MODIFIED_NOW;

    if (times && (!is_time(times[0]) || !is_time(times[1])))
        return themis_preload_result(EINVAL);
    if (times && times[1].tv_nsec != UTIME_NOW) {
        wanted.st_mtim = times[1];
        mask = times[1].tv_nsec == UTIME_OMIT ? 0 : THEMIS_POSIX_SET_MODIFIED;
    }
    return attributes_set(fd, path, flags, mask, &wanted);
}

int themis_preload_core_space(struct statvfs *space)
{
    themis_posix_t *filesystem;
    const int error = themis_preload_begin(&filesystem);

    if (error)
        return themis_preload_result(error);
    return themis_preload_end_with(themis_posix_space(filesystem, space));
}

int themis_preload_core_access(const char *path, int mode, int flags)
{
    const int effective = flags & AT_EACCESS;
    themis_preload_target_t target;

    if (mode & ~(R_OK | W_OK | X_OK))
        return themis_preload_result(EINVAL);
    int error = themis_preload_target_begin(-1, path, flags, &target);
    if (error)
        return themis_preload_result(error);
    if (!themis_preload_may_access(&target.stat, mode, effective ? geteuid() : getuid(),
                                   effective ? getegid() : getgid()))
        error = EACCES;
    return themis_preload_target_end(&target, error);
}

/* --- names ---------------------------------------------------------------------------------------------------------
 */

/* Begins a call on a name; of the root, which has none, `of_root` is the error. */
static int place_begin(const char *path, int of_root, themis_posix_t **filesystem, themis_preload_place_t *place)
{
    int error = themis_preload_begin(filesystem);

    if (error)
        return error;
    error = themis_preload_walk_parent(*filesystem, path, place);
    if (!error && !*place->name) {
        themis_posix_release(*filesystem, place->parent, 1);
        error = of_root;
    }
    if (error)
        themis_preload_end();
    return error;
}

static int place_end(themis_posix_t *filesystem, themis_preload_place_t *place, int error)
{
    themis_posix_release(filesystem, place->parent, 1);
    return themis_preload_end_with(error);
}

/* The same after something was made, whose node nobody needs. */
static int place_end_made(themis_posix_t *filesystem, themis_preload_place_t *place, themis_posix_node_t *node,
                          int error)
{
    if (!error)
        themis_posix_release(filesystem, node, 1);
    return place_end(filesystem, place, error);
}

int themis_preload_core_truncate(const char *path, off_t size)
{
    themis_preload_target_t target;

    if (size < 0)
        return themis_preload_result(EINVAL);
    int error = themis_preload_target_begin(-1, path, 0, &target);
    if (error)
        return themis_preload_result(error);
    if (target.node->type == THEMIS_TYPE_DIRECTORY)
        error = EISDIR;
    else
        error =
            themis_posix_file_truncate(target.filesystem, themis_preload_caller(), target.node, NULL, (uint64_t)size);
    if (!error)
        themis_preload_maps_refresh(target.node);
    return themis_preload_target_end(&target, error);
}

int themis_preload_core_unlink(const char *path)
{
    themis_posix_t *filesystem;
    themis_preload_place_t place;
    const int error = place_begin(path, EISDIR, &filesystem, &place);

    if (error)
        return themis_preload_result(error);
    return place_end(filesystem, &place,
                     themis_posix_unlink(filesystem, themis_preload_caller(), place.parent, place.name));
}

int themis_preload_core_rmdir(const char *path)
{
    themis_posix_t *filesystem;
    themis_preload_place_t place;
    const int error = place_begin(path, EBUSY, &filesystem, &place);

    if (error)
        return themis_preload_result(error);
    return place_end(filesystem, &place,
                     themis_posix_rmdir(filesystem, themis_preload_caller(), place.parent, place.name));
}

int themis_preload_core_mkdir(const char *path, mode_t mode)
{
    themis_posix_t *filesystem;
    themis_preload_place_t place;
    themis_posix_node_t *node;
    struct stat stat;
    int error = place_begin(path, EEXIST, &filesystem, &place);

    if (error)
        return themis_preload_result(error);
    error = themis_posix_mkdir(filesystem, themis_preload_caller(), place.parent, place.name, mode, &node, &stat);
    return place_end_made(filesystem, &place, node, error);
}

static int path_is_below(const char *path, const char *directory)
{
    char low[THEMIS_PATH_BYTES], high[THEMIS_PATH_BYTES];

    return themis_client_path_normalise(path, low) == THEMIS_OK &&
           themis_client_path_normalise(directory, high) == THEMIS_OK && strcmp(low, high) != 0 &&
           themis_client_path_is_below(low, high);
}

/* Of what is renamed, and what has the new name. */
static int rename_pair_check(const themis_posix_node_t *old, const themis_posix_node_t *new, unsigned flags)
{
    if (flags & RENAME_NOREPLACE)
        return EEXIST;
    if ((old->type == THEMIS_TYPE_DIRECTORY) == (new->type == THEMIS_TYPE_DIRECTORY))
        return 0;
    return new->type == THEMIS_TYPE_DIRECTORY ? EISDIR : ENOTDIR;
}

/* What the kernel looks at before it asks a file system. *done: 1, both are the same file, so nothing is to be done. */
static int rename_check(themis_posix_t *filesystem, const char *from, const char *to, unsigned flags, int *done)
{
    themis_posix_node_t *old, *new = NULL;
    struct stat stat;
    int error = themis_preload_walk(filesystem, from, AT_SYMLINK_NOFOLLOW, &old, &stat);

    *done = 0;
    if (error)
        return error;
    error = themis_preload_walk(filesystem, to, AT_SYMLINK_NOFOLLOW, &new, &stat);
    if (error != ELOOP && old->type == THEMIS_TYPE_DIRECTORY && path_is_below(to, from))
        error = EINVAL;
    else if (error == ENOENT)
        error = 0;
    else if (!error)
        error = rename_pair_check(old, new, flags);
    *done = old == new;
    if (new)
        themis_posix_release(filesystem, new, 1);
    themis_posix_release(filesystem, old, 1);
    return error;
}

static int rename_places(themis_posix_t *filesystem, const themis_preload_place_t *old, const char *to, unsigned flags)
{
    themis_preload_place_t new;
    int error = themis_preload_walk_parent(filesystem, to, &new);

    if (error)
        return error;
    error = *new.name ? themis_posix_rename(filesystem, themis_preload_caller(), old->parent, old->name, new.parent,
                                            new.name, flags)
                      : EBUSY;
    themis_posix_release(filesystem, new.parent, 1);
    return error;
}

int themis_preload_core_rename(const char *from, const char *to, unsigned flags)
{
    themis_posix_t *filesystem;
    themis_preload_place_t old;
    int done, error;

    if (flags & ~(unsigned)RENAME_NOREPLACE)
        return themis_preload_result(EINVAL);
    error = place_begin(from, EBUSY, &filesystem, &old);
    if (error)
        return themis_preload_result(error);
    error = rename_check(filesystem, from, to, flags, &done);
    if (!error && !done)
        error = rename_places(filesystem, &old, to, flags);
    return place_end(filesystem, &old, error);
}

int themis_preload_core_symlink(const char *target, const char *path)
{
    themis_posix_t *filesystem;
    themis_preload_place_t place;
    themis_posix_node_t *node;
    struct stat stat;
    int error = place_begin(path, EEXIST, &filesystem, &place);

    if (error)
        return themis_preload_result(error);
    error = themis_posix_symlink(filesystem, themis_preload_caller(), place.parent, place.name, target, &node, &stat);
    return place_end_made(filesystem, &place, node, error);
}
