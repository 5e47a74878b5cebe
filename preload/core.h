/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libthemis-posix.so, which stands in front of the C library, wants of libthemis-posix-core.so, which it loads at
 * the first path below the mount point: file calls on paths of the servers ("/a/b") and on descriptors.
 *
 * Each open file has a descriptor of the kernel's, of a sealed memory file that says what it is
 * (preload/description.h). So numbers never collide with others; what is duplicated, closed, inherited by a child or
 * passed on to a program is the kernel's knowledge; and offset and status flags are those of the kernel's open file
 * description, which all share that have one. Whoever reads or writes it without this library gets an error.
 *
 * All functions return as the C library's do, with errno set. They may be called by any thread.
 *
 * None follows a symbolic link, as it may lead away from the servers: whoever gets ELOOP for a path asks `follow` what
 * it leads to, and makes the call for that.
 */
#pragma once
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Changes with this interface: both libraries are of one installation. */
enum { THEMIS_PRELOAD_INTERFACE = 3 };
/* Numbers of descriptors that can be files on servers. */
enum { THEMIS_PRELOAD_DESCRIPTORS = 1 << 20 };
/* Beside AT_SYMLINK_NOFOLLOW among `flags`: only a directory can be meant, else ENOTDIR. */
enum { THEMIS_PRELOAD_DIRECTORY = 1 << 30 };
#define THEMIS_PRELOAD_CORE_SYMBOL "themis_preload_core"

/* Called for each entry of a directory; `type` as d_type. Other than 0 ends the listing. */
typedef int (*themis_preload_entry_fn)(void *arg, uint64_t index, uint64_t number, const char *name,
                                       unsigned char type);

typedef struct themis_preload_core {
    int interface;

    /* --- descriptors: they are known to be those of files on servers ---------------------------------------------- */
    int (*open)(const char *path, int flags, mode_t mode); /* `mode` without the bits of the umask */
    int (*close)(int fd);
    void (*share)(int fd, int duplicate);         /* after the kernel has duplicated it */
    void (*forget)(int fd);                       /* after the kernel has closed it, or given its number to another */
    void (*inherit)(void);                        /* other processes may use all from now on */
    int (*path)(int fd, char *path, size_t size); /* of the file as it is now; ENOENT: it was removed */
    int (*look)(int fd, char *path, size_t size); /* the same of one that is not ours to use, of which nothing stays */
    int (*flags)(int fd);                         /* as F_GETFL */
    int (*set_flags)(int fd, int flags);          /* as F_SETFL */
    int (*lock)(int fd, int command, struct flock *lock); /* F_GETLK, F_SETLK, F_SETLKW, F_OFD_... */
    int (*flock)(int fd, int operation);

    ssize_t (*read)(int fd, const struct iovec *vector, int count);
    ssize_t (*write)(int fd, const struct iovec *vector, int count);
    ssize_t (*read_at)(int fd, const struct iovec *vector, int count, off_t offset);
    ssize_t (*write_at)(int fd, const struct iovec *vector, int count, off_t offset, int append);
    off_t (*seek)(int fd, off_t offset, int whence);
    int (*sync)(int fd);
    int (*resize)(int fd, off_t size);
    int (*allocate)(int fd, int mode, off_t offset, off_t length);
    int (*list)(int fd, uint64_t from, themis_preload_entry_fn entry, void *arg);

    /* --- attributes: of `fd` if path is NULL; else `flags` as of fstatat -------------------------------------------
     */
    int (*stat)(int fd, const char *path, int flags, struct stat *stat);
    int (*set_mode)(int fd, const char *path, int flags, mode_t mode);
    int (*set_owner)(int fd, const char *path, int flags, uid_t uid, gid_t gid);
    int (*set_times)(int fd, const char *path, int flags, const struct timespec times[2]); /* NULL: now */
    int (*space)(struct statvfs *space);
    ssize_t (*get_xattr)(int fd, const char *path, int flags, const char *name, void *value, size_t size);
    int (*set_xattr)(int fd, const char *path, int flags, const char *name, const struct iovec *value, int how);
    int (*remove_xattr)(int fd, const char *path, int flags, const char *name);
    ssize_t (*list_xattrs)(int fd, const char *path, int flags, char *names, size_t size);
    ssize_t (*readlink)(int fd, const char *path, int flags, char *target, size_t size);

    /* --- names -----------------------------------------------------------------------------------------------------
     */
    int (*access)(const char *path, int mode, int flags); /* AT_EACCESS as well */
    int (*truncate)(const char *path, off_t size);
    int (*unlink)(const char *path);
    int (*rmdir)(const char *path);
    int (*mkdir)(const char *path, mode_t mode);
    int (*rename)(const char *from, const char *to, unsigned flags);
    int (*symlink)(const char *target, const char *path);
    /* 1, and *result is the path on servers that `path` leads to, without links but at its end if `last` is 0; 0, and
     * it is a local path, absolute. What is at its end need not exist. ELOOP: more than 40 links. */
    int (*follow)(const char *path, int last, char *result, size_t size);

    /* --- memory ----------------------------------------------------------------------------------------------------
     */
    void *(*map)(void *address, size_t length, int protection, int flags, int fd, off_t offset);
    int (*map_sync)(void *address, size_t length); /* of all maps in the range; 0 also if there is none */
    void (*unmap)(void *address, size_t length);   /* before the kernel unmaps it */
    int (*has_maps)(void);
    int (*meets_maps)(const void *address, size_t length);

    /* --- the process -----------------------------------------------------------------------------------------------
     */
    int (*is_connected)(void); /* 0: there is no session */
    void (*fork_prepare)(void);
    void (*fork_parent)(void);
    void (*fork_child)(void);
    void (*end)(void); /* at the end of the process: what was hidden is removed, locks are released */
} themis_preload_core_t;
