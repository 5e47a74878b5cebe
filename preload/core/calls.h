/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of the table in preload/core.h, which has their contracts. */
#pragma once
#include "preload/core.h"
#include "preload/core/open_files.h"

/* Begins a call on a descriptor: 0, or -1 with errno. End with themis_preload_call_end, which keeps errno. */
int themis_preload_call_begin(int fd, themis_preload_open_t **open);
void themis_preload_call_end(themis_preload_open_t *open);
/* The same with an errno or 0: returns -1, with errno, or 0. */
int themis_preload_call_end_with(themis_preload_open_t *open, int error);

/* Ends a call on names with an errno or 0. */
int themis_preload_end_with(int error);

int themis_preload_core_open(const char *path, int flags, mode_t mode);
int themis_preload_core_close(int fd);
void themis_preload_core_forget(int fd);
int themis_preload_core_path(int fd, char *path, size_t size);
int themis_preload_core_look(int fd, char *path, size_t size);
int themis_preload_core_flags(int fd);
int themis_preload_core_set_flags(int fd, int flags);

ssize_t themis_preload_core_read(int fd, const struct iovec *vector, int count);
ssize_t themis_preload_core_write(int fd, const struct iovec *vector, int count);
ssize_t themis_preload_core_read_at(int fd, const struct iovec *vector, int count, off_t offset);
ssize_t themis_preload_core_write_at(int fd, const struct iovec *vector, int count, off_t offset, int append);
off_t themis_preload_core_seek(int fd, off_t offset, int whence);
int themis_preload_core_sync(int fd);
int themis_preload_core_resize(int fd, off_t size);
int themis_preload_core_allocate(int fd, int mode, off_t offset, off_t length);
int themis_preload_core_list(int fd, uint64_t from, themis_preload_entry_fn entry, void *arg);

int themis_preload_core_stat(int fd, const char *path, int flags, struct stat *stat);
int themis_preload_core_set_mode(int fd, const char *path, int flags, mode_t mode);
int themis_preload_core_set_owner(int fd, const char *path, int flags, uid_t uid, gid_t gid);
int themis_preload_core_set_times(int fd, const char *path, int flags, const struct timespec times[2]);
int themis_preload_core_space(struct statvfs *space);
ssize_t themis_preload_core_get_xattr(int fd, const char *path, int flags, const char *name, void *value, size_t size);
int themis_preload_core_set_xattr(int fd, const char *path, int flags, const char *name, const struct iovec *value,
                                  int how);
int themis_preload_core_remove_xattr(int fd, const char *path, int flags, const char *name);
ssize_t themis_preload_core_list_xattrs(int fd, const char *path, int flags, char *names, size_t size);
ssize_t themis_preload_core_readlink(int fd, const char *path, int flags, char *target, size_t size);
int themis_preload_core_access(const char *path, int mode, int flags);
int themis_preload_core_truncate(const char *path, off_t size);
int themis_preload_core_unlink(const char *path);
int themis_preload_core_rmdir(const char *path);
int themis_preload_core_mkdir(const char *path, mode_t mode);
int themis_preload_core_rename(const char *from, const char *to, unsigned flags);
int themis_preload_core_symlink(const char *target, const char *path);
int themis_preload_core_follow(const char *path, int last, char *result, size_t size);

int themis_preload_core_lock(int fd, int command, struct flock *lock);
int themis_preload_core_flock(int fd, int operation);

void *themis_preload_core_map(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int themis_preload_core_map_sync(void *address, size_t length);
void themis_preload_core_unmap(void *address, size_t length);
int themis_preload_core_has_maps(void);
int themis_preload_core_meets_maps(const void *address, size_t length);
