/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on descriptors: opening, closing, duplicating, flags, locks; and memory maps. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <linux/close_range.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "preload/entry/entry.h"

/* --- opening -------------------------------------------------------------------------------------------------------
 */

static int fail(int error)
{
    errno = error;
    return -1;
}

/* What the core has opened becomes known as one of ours. */
static int opened(int fd)
{
    const int owns = themis_preload_owns(), known = !owns || themis_preload_mark(fd);
    const themis_preload_core_t *core;

    if (owns && known) {
        if (fd <= 2)
            themis_preload_standard_stream(fd);
        return fd;
    }
    if ((core = themis_preload_enter())) {
        if (known) /* its number means nothing to the process whose memory this is */
            core->forget(fd);
        else
            core->close(fd);
        themis_preload_leave();
    }
    return known ? fd : fail(EMFILE);
}

int themis_preload_open(themis_preload_path_t *path, int flags, mode_t mode)
{
    const mode_t masked = mode & 07777 & ~themis_preload_umask();
    const int exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    const int wanted = path->is_directory ? (flags & ~O_NOFOLLOW) | O_DIRECTORY : flags;
    int below = 1, fd = -1;

    if (path->is_directory && flags & O_CREAT)
        return fail(EISDIR);
    CALL_CORE(fd, below, path, !(flags & O_NOFOLLOW) && !exclusive, open(path->remote, wanted, masked));
    if (below == 1 && fd >= 0)
        return opened(fd);
    if (below == 0)
        return themis_preload_opened_local(REAL(openat)(path->directory, path->path, flags, mode), path->path);
    return fd;
}

static int open_with(int directory, const char *path, int flags, mode_t mode)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve(directory, path, &where);

    if (below != 0)
        return below < 0 ? -1 : themis_preload_open(&where, flags, mode);
    return themis_preload_opened_local(REAL(openat)(where.directory, where.path, flags, mode), where.path);
}

#define MODE_GET(mode, flags)                                                                                          \
    mode_t mode = 0;                                                                                                   \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {                                                         \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode = va_arg(list, mode_t);                                                                                   \
        va_end(list);                                                                                                  \
    }

EXPORTED int open(const char *path, int flags, ...)
{
    MODE_GET(mode, flags)
    themis_preload_path_t where;
    const int below = themis_preload_resolve(AT_FDCWD, path, &where);

    if (below != 0)
        return below < 0 ? -1 : themis_preload_open(&where, flags, mode);
    return themis_preload_opened_local(REAL(open)(where.path, flags, mode), where.path);
}

EXPORTED int openat(int directory, const char *path, int flags, ...)
{
    MODE_GET(mode, flags)
    return open_with(directory, path, flags, mode);
}

EXPORTED int creat(const char *path, mode_t mode)
{
    return open_with(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int __open_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);

EXPORTED int __open_2(const char *path, int flags)
{
    return open_with(AT_FDCWD, path, flags, 0);
}

EXPORTED int __openat_2(int directory, const char *path, int flags)
{
    return open_with(directory, path, flags, 0);
}

ALIAS(open64, open);
ALIAS(__open, open);
ALIAS(__open64, open);
ALIAS(openat64, openat);
ALIAS(creat64, creat);
ALIAS(__open64_2, __open_2);
ALIAS(__openat64_2, __openat_2);

/* --- closing and duplicating ---------------------------------------------------------------------------------------
 */

EXPORTED int close(int fd)
{
    if (themis_preload_inside) {
        themis_preload_internal_forget(fd);
        return REAL(close)(fd);
    }
    if (!themis_preload_is_ours(fd))
        return themis_preload_is_directory_descriptor(fd) || themis_preload_is_internal(fd) ? fail(EBADF)
                                                                                            : REAL(close)(fd);
    if (!themis_preload_loaded() || !themis_preload_owns()) { /* nothing was done with it here */
        themis_preload_closed(fd);
        return REAL(close)(fd);
    }
    const themis_preload_core_t *core = themis_preload_enter();
    if (!core)
        return -1;
    themis_preload_unmark(fd);
    const int result = core->close(fd);
    themis_preload_leave();
    return result;
}

ALIAS(__close, close);

EXPORTED int dup(int fd)
{
    const int duplicate = REAL(dup)(fd);

    return themis_preload_is_ours(fd) ? themis_preload_duplicated(fd, duplicate) : themis_preload_internal(duplicate);
}

static int over(int fd, int duplicate)
{
    const int result = themis_preload_is_ours(fd) || themis_preload_is_ours(duplicate)
                           ? themis_preload_duplicated(fd, duplicate)
                           : duplicate;

    if (result >= 0 && result <= 2)
        themis_preload_standard_stream(result);
    return result;
}

/* 1: a program would take the number from the core, which would write to the program's file. */
static int is_taken(int duplicate)
{
    return (themis_preload_is_internal(duplicate) || themis_preload_is_directory_descriptor(duplicate)) &&
           !themis_preload_inside && themis_preload_owns();
}

EXPORTED int dup2(int fd, int duplicate)
{
    if (fd != duplicate && is_taken(duplicate))
        return fail(EBUSY);
    const int result = REAL(dup2)(fd, duplicate);

    return result < 0 || fd == duplicate ? result : over(fd, result);
}

ALIAS(__dup2, dup2);

EXPORTED int dup3(int fd, int duplicate, int flags)
{
    if (fd != duplicate && is_taken(duplicate))
        return fail(EBUSY);
    const int result = REAL(dup3)(fd, duplicate, flags);

    return result < 0 ? result : over(fd, result);
}

static int is_kept(unsigned fd)
{
    return themis_preload_is_internal((int)fd) || themis_preload_is_directory_descriptor((int)fd);
}

/* All but the kept ones, in the ranges between them. */
static int range_close(unsigned first, unsigned last, int flags)
{
    const unsigned end = last < THEMIS_PRELOAD_DESCRIPTORS ? last : THEMIS_PRELOAD_DESCRIPTORS;
    const unsigned known = themis_preload_loaded() || themis_preload_has_directory_descriptor() ? 4096 : 0;
    int result = 0;

    for (unsigned fd = first; fd <= end && fd < known && result == 0; fd++) {
        if (!is_kept(fd))
            continue;
        result = fd > first ? REAL(close_range)(first, fd - 1, flags) : 0;
        first = fd + 1;
    }
    return result == 0 && first <= last ? REAL(close_range)(first, last, flags) : result;
}

EXPORTED int close_range(unsigned first, unsigned last, int flags)
{
    const unsigned end = last < THEMIS_PRELOAD_DESCRIPTORS ? last : THEMIS_PRELOAD_DESCRIPTORS - 1;

    if (!(flags & CLOSE_RANGE_CLOEXEC))
        for (unsigned fd = first; fd <= end; fd++) {
            if (fd % 8 == 0 && !__atomic_load_n(&themis_preload_table[fd / 8], __ATOMIC_RELAXED))
                fd += 7;
            else if (themis_preload_is_ours((int)fd))
                close((int)fd);
        }
    return range_close(first, last, flags);
}

EXPORTED void closefrom(int least)
{
    close_range(least < 0 ? 0 : (unsigned)least, ~0u, 0);
}

/* --- flags and locks -----------------------------------------------------------------------------------------------
 */

static int duplicate_from(int fd, int command, long least)
{
    const int duplicate = REAL(fcntl)(fd, command, least);

    return duplicate < 0 ? duplicate : themis_preload_duplicated(fd, duplicate);
}

static int control(int fd, int command, void *argument)
{
    switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        return duplicate_from(fd, command, (long)(intptr_t)argument);
    case F_GETFL:
        RETURN_CORE(int, -1, flags(fd));
    case F_SETFL:
        RETURN_CORE(int, -1, set_flags(fd, (int)(intptr_t)argument));
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        RETURN_CORE(int, -1, lock(fd, command, argument));
    case F_GETFD:
    case F_SETFD:
    case F_GETOWN:
    case F_SETOWN:
        return REAL(fcntl)(fd, command, argument);
    default: /* leases, seals, pipes */
        return fail(EINVAL);
    }
}

EXPORTED int fcntl(int fd, int command, ...)
{
    va_list list;

    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (themis_preload_is_ours(fd))
        return control(fd, command, argument);
    const int result = REAL(fcntl)(fd, command, argument);
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? themis_preload_fresh(result) : result;
}

ALIAS(fcntl64, fcntl);
ALIAS(__fcntl, fcntl);

EXPORTED int flock(int fd, int operation)
{
    if (!themis_preload_is_ours(fd))
        return REAL(flock)(fd, operation);
    RETURN_CORE(int, -1, flock(fd, operation));
}

/* From the present offset on, as lockf(3) says. */
EXPORTED int lockf(int fd, int command, off_t length)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = length};

    if (!themis_preload_is_ours(fd))
        return REAL(lockf)(fd, command, length);
    switch (command) {
    case F_LOCK:
        return fcntl(fd, F_SETLKW, &lock);
    case F_TLOCK:
        return fcntl(fd, F_SETLK, &lock);
    case F_ULOCK:
        lock.l_type = F_UNLCK;
        return fcntl(fd, F_SETLK, &lock);
    case F_TEST:
        if (fcntl(fd, F_GETLK, &lock) != 0)
            return -1;
        return lock.l_type == F_UNLCK ? 0 : fail(EACCES);
    default:
        return fail(EINVAL);
    }
}

ALIAS(lockf64, lockf);

EXPORTED int ioctl(int fd, unsigned long request, ...)
{
    va_list list;

    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (request == FICLONE && themis_preload_is_ours((int)(intptr_t)argument))
        return fail(EXDEV);
    if (!themis_preload_is_ours(fd))
        return REAL(ioctl)(fd, request, argument);
    if (request == FIOCLEX || request == FIONCLEX)
        return REAL(ioctl)(fd, request, argument);
    return fail(request == FICLONE || request == FICLONERANGE || request == FIDEDUPERANGE ? EOPNOTSUPP : ENOTTY);
}

/* --- memory --------------------------------------------------------------------------------------------------------
 */

/* The core if it has maps and its caller is not the core itself. */
static const themis_preload_core_t *core_with_maps(void)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    return core && !themis_preload_inside && core->has_maps() ? core : NULL;
}

void themis_preload_unmap(void *address, size_t length)
{
    const themis_preload_core_t *core = core_with_maps();

    if (core && (core = themis_preload_enter())) {
        core->unmap(address, length);
        themis_preload_leave();
    }
}

void *themis_preload_map(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    RETURN_CORE(void *, MAP_FAILED, map(address, length, protection, flags, fd, offset));
}

EXPORTED void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    if (flags & MAP_FIXED)
        themis_preload_unmap(address, length);
    return flags & MAP_ANONYMOUS || !themis_preload_is_ours(fd)
               ? REAL(mmap)(address, length, protection, flags, fd, offset)
               : themis_preload_map(address, length, protection, flags, fd, offset);
}

ALIAS(mmap64, mmap);

EXPORTED int munmap(void *address, size_t length)
{
    themis_preload_unmap(address, length);
    return REAL(munmap)(address, length);
}

int themis_preload_map_stays(const void *address, size_t length)
{
    const themis_preload_core_t *core = core_with_maps();

    if (!core || !core->meets_maps(address, length))
        return 0;
    errno = ENOMEM;
    return 1;
}

EXPORTED void *mremap(void *address, size_t length, size_t new_length, int flags, ...)
{
    va_list list;

    va_start(list, flags);
    void *new_address = va_arg(list, void *);
    va_end(list);
    if (themis_preload_map_stays(address, length))
        return MAP_FAILED;
    if (flags & MREMAP_FIXED)
        themis_preload_unmap(new_address, new_length);
    return REAL(mremap)(address, length, new_length, flags, new_address);
}

int themis_preload_map_sync(void *address, size_t length)
{
    if (!core_with_maps())
        return 0;
    RETURN_CORE(int, -1, map_sync(address, length));
}

EXPORTED int msync(void *address, size_t length, int flags)
{
    return themis_preload_map_sync(address, length) == 0 ? REAL(msync)(address, length, flags) : -1;
}
