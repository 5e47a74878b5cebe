/* SPDX-License-Identifier: BSD-3-Clause */
#include "mount/operations.h"
#include <errno.h>
#include "posix/file.h"
#include "posix/links.h"
#include "posix/names.h"
#include "posix/space.h"

enum { MAX_WRITE = 1 << 20 };

themis_mount_state_t *themis_mount_state_of(fuse_req_t request)
{
    return fuse_req_userdata(request);
}

void themis_mount_begin(themis_mount_request_t *request, fuse_req_t fuse, fuse_ino_t node)
{
    themis_mount_request_begin(&themis_mount_state_of(fuse)->requests, request, fuse, node);
}

double themis_mount_attr_timeout(const themis_mount_state_t *state, const struct stat *stat)
{
    return S_ISDIR(stat->st_mode) ? state->settings->directory_timeout : state->settings->attr_timeout;
}

struct fuse_entry_param themis_mount_entry(const themis_mount_state_t *state, const themis_posix_node_t *node,
                                           const struct stat *stat)
{
    const themis_mount_settings_t *settings = state->settings;

    return (struct fuse_entry_param){.ino = themis_mount_number_of(node),
                                     .generation = node->serial,
                                     .attr = *stat,
                                     .attr_timeout = themis_mount_attr_timeout(state, stat),
                                     .entry_timeout = S_ISDIR(stat->st_mode) ? settings->directory_timeout
                                                                             : settings->entry_timeout};
}

/* Ends a request whose result is an error, or nothing. */
static void end_plain(themis_mount_request_t *request, fuse_req_t fuse, int error)
{
    if (themis_mount_request_end(request))
        fuse_reply_err(fuse, error);
}

/* Ends one whose result is a node, of which the kernel gets the reference. */
static void end_entry(themis_mount_request_t *request, fuse_req_t fuse, int error, themis_posix_node_t *node,
                      const struct stat *stat)
{
    themis_mount_state_t *state = themis_mount_state_of(fuse);
    themis_posix_t *filesystem = state->filesystem;
    int delivered = 0;

    if (error) {
        end_plain(request, fuse, error);
        return;
    }
    const struct fuse_entry_param entry = themis_mount_entry(state, node, stat);
    if (themis_mount_request_end(request))
        delivered = fuse_reply_entry(fuse, &entry) == 0;
    if (!delivered)
        themis_posix_release(filesystem, node, 1);
}

/* Writing is not delayed, as others would not see it; each write of 1 MiB is one request. */
static void init(void *data, struct fuse_conn_info *connection)
{
    const themis_mount_settings_t *settings = ((themis_mount_state_t *)data)->settings;
    const unsigned plus = FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO;

    /* the kernel clears the set-user-ID bit of files that are written itself */
    connection->want &= ~(unsigned)(FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_SPLICE_READ);
    connection->want |= connection->capable & (FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_AUTO_INVAL_DATA |
                                               FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO);
    /* attributes in listings are of use only if they may be believed afterwards */
    if (settings->attr_timeout > 0 && settings->entry_timeout > 0)
        connection->want |= connection->capable & plus;
    else
        connection->want &= ~plus;
    connection->max_write = MAX_WRITE;
    connection->max_readahead = MAX_WRITE;
}

static void lookup(fuse_req_t fuse, fuse_ino_t parent, const char *name)
{
    themis_mount_request_t request;
    themis_posix_node_t *node = NULL;
    struct stat stat = {0};

    themis_mount_begin(&request, fuse, parent);
    int error = themis_posix_lookup(request.requests->filesystem, &request.caller, request.node, name, &node, &stat);
    end_entry(&request, fuse, error, node, &stat);
}

static void node_forget(fuse_req_t fuse, fuse_ino_t number, uint64_t count)
{
    themis_posix_t *filesystem = themis_mount_state_of(fuse)->filesystem;

    themis_posix_release(filesystem, themis_mount_node_of(filesystem, number), count);
}

static void forget(fuse_req_t fuse, fuse_ino_t number, uint64_t count)
{
    node_forget(fuse, number, count);
    fuse_reply_none(fuse);
}

static void forget_multi(fuse_req_t fuse, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++)
        node_forget(fuse, forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(fuse);
}

static void end_attributes(themis_mount_request_t *request, fuse_req_t fuse, int error, const struct stat *stat)
{
    if (error)
        end_plain(request, fuse, error);
    else if (themis_mount_request_end(request))
        fuse_reply_attr(fuse, stat, themis_mount_attr_timeout(themis_mount_state_of(fuse), stat));
}

static void getattr(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info)
{
    themis_mount_request_t request;
    struct stat stat = {0};

    (void)info;
    themis_mount_begin(&request, fuse, number);
    int error = themis_posix_getattr(request.requests->filesystem, &request.caller, request.node, &stat);
    end_attributes(&request, fuse, error, &stat);
}

/* Times of access are not kept. */
static int mask_of(int wanted)
{
    return (wanted & FUSE_SET_ATTR_MODE ? THEMIS_POSIX_SET_MODE : 0) |
           (wanted & FUSE_SET_ATTR_UID ? THEMIS_POSIX_SET_UID : 0) |
           (wanted & FUSE_SET_ATTR_GID ? THEMIS_POSIX_SET_GID : 0) |
           (wanted & FUSE_SET_ATTR_SIZE ? THEMIS_POSIX_SET_SIZE : 0) |
           (wanted & FUSE_SET_ATTR_MTIME_NOW ? THEMIS_POSIX_SET_MODIFIED_NOW
            : wanted & FUSE_SET_ATTR_MTIME   ? THEMIS_POSIX_SET_MODIFIED
                                             : 0);
}

static void setattr(fuse_req_t fuse, fuse_ino_t number, struct stat *wanted, int what, struct fuse_file_info *info)
{
    themis_posix_file_t *file = info ? (themis_posix_file_t *)(uintptr_t)info->fh : NULL;
    themis_mount_request_t request;
    struct stat stat = {0};

    if (file)
        themis_posix_file_acquire(file);
    themis_mount_begin(&request, fuse, number);
    int error = themis_posix_setattr(request.requests->filesystem, &request.caller, request.node, file, mask_of(what),
                                     wanted, &stat);
    end_attributes(&request, fuse, error, &stat);
    themis_posix_file_release(file);
}

static void make_directory(fuse_req_t fuse, fuse_ino_t parent, const char *name, mode_t mode)
{
    themis_mount_request_t request;
    themis_posix_node_t *node = NULL;
    struct stat stat = {0};

    themis_mount_begin(&request, fuse, parent);
    int error =
        themis_posix_mkdir(request.requests->filesystem, &request.caller, request.node, name, mode, &node, &stat);
    end_entry(&request, fuse, error, node, &stat);
}

static void remove_directory(fuse_req_t fuse, fuse_ino_t parent, const char *name)
{
    themis_mount_request_t request;

    themis_mount_begin(&request, fuse, parent);
    end_plain(&request, fuse, themis_posix_rmdir(request.requests->filesystem, &request.caller, request.node, name));
}

static void remove_file(fuse_req_t fuse, fuse_ino_t parent, const char *name)
{
    themis_mount_request_t request;

    themis_mount_begin(&request, fuse, parent);
    end_plain(&request, fuse, themis_posix_unlink(request.requests->filesystem, &request.caller, request.node, name));
}

static void rename_name(fuse_req_t fuse, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                        const char *new_name, unsigned flags)
{
    themis_posix_t *filesystem = themis_mount_state_of(fuse)->filesystem;
    themis_posix_node_t *to = themis_mount_node_of(filesystem, new_parent);
    themis_mount_request_t request;

    themis_posix_acquire(filesystem, to);
    themis_mount_begin(&request, fuse, parent);
    end_plain(&request, fuse,
              themis_posix_rename(filesystem, &request.caller, request.node, name, to, new_name, flags));
    themis_posix_release(filesystem, to, 1);
}

static void make_symlink(fuse_req_t fuse, const char *target, fuse_ino_t parent, const char *name)
{
    themis_mount_request_t request;
    themis_posix_node_t *node = NULL;
    struct stat stat = {0};

    themis_mount_begin(&request, fuse, parent);
    int error =
        themis_posix_symlink(request.requests->filesystem, &request.caller, request.node, name, target, &node, &stat);
    end_entry(&request, fuse, error, node, &stat);
}

static void read_symlink(fuse_req_t fuse, fuse_ino_t number)
{
    themis_mount_request_t request;
    char target[THEMIS_PATH_BYTES];

    themis_mount_begin(&request, fuse, number);
    int error = themis_posix_readlink(request.requests->filesystem, &request.caller, request.node, target);
    if (error)
        end_plain(&request, fuse, error);
    else if (themis_mount_request_end(&request))
        fuse_reply_readlink(fuse, target);
}

/* As link(2) says of file systems without hard links. */
static void refuse_link(fuse_req_t fuse, fuse_ino_t number, fuse_ino_t parent, const char *name)
{
    (void)number;
    (void)parent;
    (void)name;
    fuse_reply_err(fuse, EPERM);
}

static void space(fuse_req_t fuse, fuse_ino_t number)
{
    themis_mount_request_t request;
    struct statvfs found;

    (void)number;
    themis_mount_begin(&request, fuse, 0);
    int error = themis_posix_space(request.requests->filesystem, &found);
    if (error)
        end_plain(&request, fuse, error);
    else if (themis_mount_request_end(&request))
        fuse_reply_statfs(fuse, &found);
}

const struct fuse_lowlevel_ops themis_mount_operations = {.init = init,
                                                          .lookup = lookup,
                                                          .forget = forget,
                                                          .forget_multi = forget_multi,
                                                          .getattr = getattr,
                                                          .setattr = setattr,
                                                          .mknod = themis_mount_mknod,
                                                          .mkdir = make_directory,
                                                          .unlink = remove_file,
                                                          .rmdir = remove_directory,
                                                          .symlink = make_symlink,
                                                          .readlink = read_symlink,
                                                          .link = refuse_link,
                                                          .rename = rename_name,
                                                          .open = themis_mount_open,
                                                          .read = themis_mount_read,
                                                          .write = themis_mount_write,
                                                          .flush = themis_mount_flush,
                                                          .release = themis_mount_release,
                                                          .fsync = themis_mount_fsync,
                                                          .opendir = themis_mount_opendir,
                                                          .readdir = themis_mount_readdir,
                                                          .readdirplus = themis_mount_readdirplus,
                                                          .releasedir = themis_mount_releasedir,
                                                          .fsyncdir = themis_mount_fsyncdir,
                                                          .statfs = space,
                                                          .create = themis_mount_create,
                                                          .fallocate = themis_mount_fallocate,
                                                          .lseek = themis_mount_lseek,
                                                          .setxattr = themis_mount_setxattr,
                                                          .getxattr = themis_mount_getxattr,
                                                          .listxattr = themis_mount_listxattr,
                                                          .removexattr = themis_mount_removexattr,
                                                          .getlk = themis_mount_getlk,
                                                          .setlk = themis_mount_setlk,
                                                          .flock = themis_mount_flock};
