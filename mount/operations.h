/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel asks, as calls of posix/: names in operations.c, files in file_operations.c, directories in
 * directory_operations.c, extended attributes in xattr_operations.c, locks
 * in lock_operations.c. All are called by the threads of the pool. */
#pragma once
#include "mount/fuse.h"
#include "mount/requests.h"
#include "mount/settings.h"
#include "posix/file.h"
#include "posix/filesystem.h"

/* The user data of a session. */
typedef struct themis_mount_state {
    themis_posix_t *filesystem;              /* borrowed */
    const themis_mount_settings_t *settings; /* borrowed */
    themis_mount_requests_t requests;
} themis_mount_state_t;

extern const struct fuse_lowlevel_ops themis_mount_operations;

themis_mount_state_t *themis_mount_state_of(fuse_req_t request);
void themis_mount_begin(themis_mount_request_t *request, fuse_req_t fuse, fuse_ino_t node);

/* What the kernel may believe of a node, and how long; a reference of the node becomes the kernel's. */
struct fuse_entry_param themis_mount_entry(const themis_mount_state_t *state, const themis_posix_node_t *node,
                                           const struct stat *stat);
double themis_mount_attr_timeout(const themis_mount_state_t *state, const struct stat *stat);

/* Begins a request on an open file, which stays until the end even if it is closed meanwhile. */
themis_posix_file_t *themis_mount_file_begin(themis_mount_request_t *request, fuse_req_t fuse,
                                             const struct fuse_file_info *info);
/* Answers with errno `error`, 0 for success, unless the request was interrupted. */
void themis_mount_file_end(themis_mount_request_t *request, fuse_req_t fuse, themis_posix_file_t *file, int error);

void themis_mount_open(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info);
void themis_mount_create(fuse_req_t fuse, fuse_ino_t parent, const char *name, mode_t mode,
                         struct fuse_file_info *info);
void themis_mount_mknod(fuse_req_t fuse, fuse_ino_t parent, const char *name, mode_t mode, dev_t device);
void themis_mount_read(fuse_req_t fuse, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *info);
void themis_mount_write(fuse_req_t fuse, fuse_ino_t number, const char *bytes, size_t size, off_t offset,
                        struct fuse_file_info *info);
void themis_mount_flush(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info);
void themis_mount_release(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info);
void themis_mount_fsync(fuse_req_t fuse, fuse_ino_t number, int data_only, struct fuse_file_info *info);
void themis_mount_fallocate(fuse_req_t fuse, fuse_ino_t number, int mode, off_t offset, off_t length,
                            struct fuse_file_info *info);
void themis_mount_lseek(fuse_req_t fuse, fuse_ino_t number, off_t offset, int whence, struct fuse_file_info *info);

void themis_mount_getlk(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info, struct flock *lock);
void themis_mount_setlk(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info, struct flock *lock, int sleep);
void themis_mount_flock(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info, int operation);

void themis_mount_setxattr(fuse_req_t fuse, fuse_ino_t number, const char *name, const char *value, size_t size,
                           int flags);
void themis_mount_getxattr(fuse_req_t fuse, fuse_ino_t number, const char *name, size_t size);
void themis_mount_listxattr(fuse_req_t fuse, fuse_ino_t number, size_t size);
void themis_mount_removexattr(fuse_req_t fuse, fuse_ino_t number, const char *name);

void themis_mount_opendir(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info);
void themis_mount_readdir(fuse_req_t fuse, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *info);
void themis_mount_readdirplus(fuse_req_t fuse, fuse_ino_t number, size_t size, off_t offset,
                              struct fuse_file_info *info);
void themis_mount_releasedir(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info);
void themis_mount_fsyncdir(fuse_req_t fuse, fuse_ino_t number, int data_only, struct fuse_file_info *info);
