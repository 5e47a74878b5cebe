/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls by number: programs whose C library had no function for a call, or that need none, use syscall(2). What
 * concerns files on servers goes to the functions of this library (entry/system_calls.def), the rest to the kernel. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>
#include "preload/entry/entry.h"
#include "preload/kernel.h"

_Static_assert(sizeof(long) == 8, "an offset is one argument, and structures are the kernel's own");

static int fail(int error)
{
    errno = error;
    return -1;
}

/* Apart from what calls it, as it takes much of the stack. */
__attribute__((noinline)) static int is_ours_resolved(int directory, const char *path)
{
    themis_preload_path_t where;
    const int error = errno;

    const int below = themis_preload_resolve(directory, path, &where);
    errno = error;
    return below != 0 || where.path != path;
}

/* 1: the kernel does not know the file, or would look for it elsewhere. */
static int is_ours(int directory, const char *path)
{
    if (themis_preload_is_ours(directory))
        return 1;
    return !themis_preload_is_elsewhere(path) && is_ours_resolved(directory, path);
}

/* 1: it is not the program's to close. */
static int is_kept(int fd)
{
    return themis_preload_is_internal(fd) || themis_preload_is_directory_descriptor(fd);
}

/* Of functions that return an errno. */
static int failed(int error)
{
    return error ? fail(error) : 0;
}

/* Programs that ask for more than flags and a mode go on without this call. */
static int open_how(int directory, const char *path, const struct open_how *how, size_t size)
{
    if (size < sizeof *how)
        return fail(EINVAL);
    return size > sizeof *how || how->resolve ? fail(ENOSYS)
                                              : openat(directory, path, (int)how->flags, (mode_t)how->mode);
}

static long path_current(char *buffer, size_t size)
{
    return getcwd(buffer, size) ? (long)strlen(buffer) + 1 : -1;
}

/* The kernel does the rest. */
static int unmapped(void *address, size_t length)
{
    themis_preload_unmap(address, length);
    return 0;
}

/* 1: of a file on servers. What stood there before goes. */
static int is_map(const long a[6])
{
    if (a[3] & MAP_FIXED)
        themis_preload_unmap((void *)a[0], (size_t)a[1]);
    return !(a[3] & MAP_ANONYMOUS) && themis_preload_is_ours((int)a[4]);
}

/* 1, with errno: it is refused. */
static int remap_stays(const long a[6])
{
    if (themis_preload_map_stays((void *)a[0], (size_t)a[1]))
        return 1;
    if (a[3] & MREMAP_FIXED)
        themis_preload_unmap((void *)a[4], (size_t)a[2]);
    return 0;
}

static int set_times(int directory, const char *path, const struct timespec times[2], int flags)
{
    return path ? utimensat(directory, path, times, flags) : futimens(directory, times);
}

#define D(i) ((int)a[i])
#define U(i) ((unsigned)a[i])
#define Z(i) ((size_t)a[i])
#define P(i) ((void *)a[i])
#define FD(i) themis_preload_is_ours(D(i))
#define PATH(i) is_ours(AT_FDCWD, P(i))
#define AT(i, j) is_ours(D(i), P(j))
#define CALL(name, concerns, call)                                                                                     \
    case SYS_##name:                                                                                                   \
        if (concerns) {                                                                                                \
            *result = (long)(call);                                                                                    \
            return 1;                                                                                                  \
        }                                                                                                              \
        break;

/* 0: the call is the kernel's. */
static int intercept(long number, const long a[6], long *result)
{
    switch (number) {
#include "preload/entry/system_calls.def"
    default:
        break;
    }
    return 0;
}

EXPORTED long syscall(long number, ...)
{
    long a[6], result;
    va_list list;

    va_start(list, number);
    themis_preload_kernel_arguments(list, a);
    va_end(list);
    if (!themis_preload_inside && intercept(number, a, &result))
        return result;
    result = REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_pidfd_getfd)
        themis_preload_received(themis_preload_fresh((int)result));
    return number == SYS_pidfd_open ? themis_preload_internal((int)result) : result;
}
