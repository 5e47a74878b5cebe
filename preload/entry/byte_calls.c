/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on open files: bytes, offsets, sizes. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include "preload/entry/entry.h"

enum { COPY_BYTES = 1 << 20 };

#define ONE(buffer, bytes) (&(struct iovec){(void *)(uintptr_t)(buffer), bytes})

/* --- reading and writing -------------------------------------------------------------------------------------------
 */

EXPORTED ssize_t read(int fd, void *buffer, size_t bytes)
{
    if (!themis_preload_is_ours(fd))
        return REAL(read)(fd, buffer, bytes);
    RETURN_CORE(ssize_t, -1, read(fd, ONE(buffer, bytes), 1));
}

EXPORTED ssize_t write(int fd, const void *buffer, size_t bytes)
{
    if (!themis_preload_is_ours(fd))
        return REAL(write)(fd, buffer, bytes);
    RETURN_CORE(ssize_t, -1, write(fd, ONE(buffer, bytes), 1));
}

EXPORTED ssize_t pread(int fd, void *buffer, size_t bytes, off_t offset)
{
    if (!themis_preload_is_ours(fd))
        return REAL(pread)(fd, buffer, bytes, offset);
    RETURN_CORE(ssize_t, -1, read_at(fd, ONE(buffer, bytes), 1, offset));
}

EXPORTED ssize_t pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
    if (!themis_preload_is_ours(fd))
        return REAL(pwrite)(fd, buffer, bytes, offset);
    RETURN_CORE(ssize_t, -1, write_at(fd, ONE(buffer, bytes), 1, offset, 0));
}

EXPORTED ssize_t readv(int fd, const struct iovec *vector, int count)
{
    if (!themis_preload_is_ours(fd))
        return REAL(readv)(fd, vector, count);
    RETURN_CORE(ssize_t, -1, read(fd, vector, count));
}

EXPORTED ssize_t writev(int fd, const struct iovec *vector, int count)
{
    if (!themis_preload_is_ours(fd))
        return REAL(writev)(fd, vector, count);
    RETURN_CORE(ssize_t, -1, write(fd, vector, count));
}

EXPORTED ssize_t preadv(int fd, const struct iovec *vector, int count, off_t offset)
{
    if (!themis_preload_is_ours(fd))
        return REAL(preadv)(fd, vector, count, offset);
    RETURN_CORE(ssize_t, -1, read_at(fd, vector, count, offset));
}

EXPORTED ssize_t pwritev(int fd, const struct iovec *vector, int count, off_t offset)
{
    if (!themis_preload_is_ours(fd))
        return REAL(pwritev)(fd, vector, count, offset);
    RETURN_CORE(ssize_t, -1, write_at(fd, vector, count, offset, 0));
}

/* Hints that change nothing here are ignored. */
static int flags_refused(int flags, int known)
{
    if (!(flags & ~known))
        return 0;
    errno = EOPNOTSUPP;
    return 1;
}

EXPORTED ssize_t preadv2(int fd, const struct iovec *vector, int count, off_t offset, int flags)
{
    if (!themis_preload_is_ours(fd))
        return REAL(preadv2)(fd, vector, count, offset, flags);
    if (flags_refused(flags, RWF_HIPRI))
        return -1;
    return offset == -1 ? readv(fd, vector, count) : preadv(fd, vector, count, offset);
}

static ssize_t write_at(int fd, const struct iovec *vector, int count, off_t offset, int append)
{
    RETURN_CORE(ssize_t, -1, write_at(fd, vector, count, offset, append));
}

EXPORTED ssize_t pwritev2(int fd, const struct iovec *vector, int count, off_t offset, int flags)
{
    if (!themis_preload_is_ours(fd))
        return REAL(pwritev2)(fd, vector, count, offset, flags);
    if (flags_refused(flags, RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_APPEND))
        return -1;
    const ssize_t done =
        offset == -1 ? writev(fd, vector, count) : write_at(fd, vector, count, offset, (flags & RWF_APPEND) != 0);
    return done > 0 && flags & (RWF_DSYNC | RWF_SYNC) && fsync(fd) != 0 ? -1 : done;
}

ALIAS(pread64, pread);
ALIAS(pwrite64, pwrite);
ALIAS(preadv64, preadv);
ALIAS(pwritev64, pwritev);
ALIAS(preadv64v2, preadv2);
ALIAS(pwritev64v2, pwritev2);
ALIAS(__read, read);
ALIAS(__write, write);
ALIAS(__pread64, pread);
ALIAS(__pwrite64, pwrite);

/* Of programs that were compiled with _FORTIFY_SOURCE: `room` is that of the buffer. */
ssize_t __read_chk(int fd, void *buffer, size_t bytes, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t bytes, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t bytes, off_t offset, size_t room);
void __chk_fail(void) __attribute__((noreturn));

EXPORTED ssize_t __read_chk(int fd, void *buffer, size_t bytes, size_t room)
{
    if (bytes > room)
        __chk_fail();
    return read(fd, buffer, bytes);
}

EXPORTED ssize_t __pread_chk(int fd, void *buffer, size_t bytes, off_t offset, size_t room)
{
    if (bytes > room)
        __chk_fail();
    return pread(fd, buffer, bytes, offset);
}

ALIAS(__pread64_chk, __pread_chk);

/* --- offsets and sizes ---------------------------------------------------------------------------------------------
 */

EXPORTED off_t lseek(int fd, off_t offset, int whence)
{
    if (!themis_preload_is_ours(fd))
        return REAL(lseek)(fd, offset, whence);
    RETURN_CORE(off_t, -1, seek(fd, offset, whence));
}

ALIAS(lseek64, lseek);
ALIAS(__lseek, lseek);

EXPORTED int ftruncate(int fd, off_t size)
{
    if (!themis_preload_is_ours(fd))
        return REAL(ftruncate)(fd, size);
    RETURN_CORE(int, -1, resize(fd, size));
}

ALIAS(ftruncate64, ftruncate);

EXPORTED int fsync(int fd)
{
    if (!themis_preload_is_ours(fd))
        return REAL(fsync)(fd);
    RETURN_CORE(int, -1, sync(fd));
}

EXPORTED int fdatasync(int fd)
{
    if (!themis_preload_is_ours(fd))
        return REAL(fdatasync)(fd);
    RETURN_CORE(int, -1, sync(fd));
}

EXPORTED int syncfs(int fd)
{
    if (!themis_preload_is_ours(fd))
        return REAL(syncfs)(fd);
    RETURN_CORE(int, -1, sync(fd));
}

/* Waiting for what is being written is all that can be asked here in part. */
EXPORTED int sync_file_range(int fd, off_t offset, off_t bytes, unsigned flags)
{
    if (!themis_preload_is_ours(fd))
        return REAL(sync_file_range)(fd, offset, bytes, flags);
    if (offset < 0 || bytes < 0 || offset > LLONG_MAX - bytes) {
        errno = EINVAL;
        return -1;
    }
    return flags ? fsync(fd) : 0;
}

EXPORTED int fallocate(int fd, int mode, off_t offset, off_t length)
{
    if (!themis_preload_is_ours(fd))
        return REAL(fallocate)(fd, mode, offset, length);
    RETURN_CORE(int, -1, allocate(fd, mode, offset, length));
}

ALIAS(fallocate64, fallocate);

EXPORTED int posix_fallocate(int fd, off_t offset, off_t length)
{
    const int error = errno;

    if (!themis_preload_is_ours(fd))
        return REAL(posix_fallocate)(fd, offset, length);
    const int result = fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
    errno = error;
    return result;
}

ALIAS(posix_fallocate64, posix_fallocate);

EXPORTED int posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
    if (!themis_preload_is_ours(fd))
        return REAL(posix_fadvise)(fd, offset, length, advice);
    return length < 0 || advice < POSIX_FADV_NORMAL || advice > POSIX_FADV_NOREUSE ? EINVAL : 0;
}

ALIAS(posix_fadvise64, posix_fadvise);

/* --- copying -------------------------------------------------------------------------------------------------------
 */

/* Of a descriptor of whatever kind; `offset` NULL: that of the descriptor. */
static ssize_t piece_read(int fd, off_t *offset, void *buffer, size_t bytes)
{
    const ssize_t done = offset ? pread(fd, buffer, bytes, *offset) : read(fd, buffer, bytes);

    if (done > 0 && offset)
        *offset += done;
    return done;
}

static ssize_t piece_write(int fd, off_t *offset, const char *buffer, size_t bytes)
{
    size_t at = 0;

    while (at < bytes) {
        const ssize_t done = offset ? pwrite(fd, buffer + at, bytes - at, *offset) : write(fd, buffer + at, bytes - at);
        if (done <= 0)
            break;
        if (offset)
            *offset += done;
        at += (size_t)done;
    }
    return at > 0 ? (ssize_t)at : -1;
}

/* What was read and could not be written is given back to the offset. */
static void piece_return(int fd, off_t *offset, ssize_t bytes)
{
    const int error = errno;

    if (offset)
        *offset -= bytes;
    else
        lseek(fd, -bytes, SEEK_CUR);
    errno = error;
}

/* One piece of at most COPY_BYTES, as the kernel's calls may do less than was asked for. */
static ssize_t copy(int in, off_t *in_offset, int out, off_t *out_offset, size_t bytes)
{
    const size_t room = bytes < COPY_BYTES ? bytes : COPY_BYTES;
    char *buffer = room > 0 ? malloc(room) : NULL;

    if (!buffer)
        return room > 0 ? -1 : 0;
    ssize_t got = piece_read(in, in_offset, buffer, room), put = got;
    if (got > 0) {
        put = piece_write(out, out_offset, buffer, (size_t)got);
        if (put < got)
            piece_return(in, in_offset, got - (put > 0 ? put : 0));
    }
    const int error = errno;
    free(buffer);
    errno = error;
    return put;
}

EXPORTED ssize_t sendfile(int out, int in, off_t *offset, size_t bytes)
{
    if (!themis_preload_is_ours(in) && !themis_preload_is_ours(out))
        return REAL(sendfile)(out, in, offset, bytes);
    return copy(in, offset, out, NULL, bytes);
}

ALIAS(sendfile64, sendfile);

EXPORTED ssize_t copy_file_range(int in, off_t *in_offset, int out, off_t *out_offset, size_t bytes, unsigned flags)
{
    if (!themis_preload_is_ours(in) && !themis_preload_is_ours(out))
        return REAL(copy_file_range)(in, in_offset, out, out_offset, bytes, flags);
    if (flags || (fcntl(out, F_GETFL) & O_APPEND)) {
        errno = flags ? EINVAL : EBADF;
        return -1;
    }
    return copy(in, in_offset, out, out_offset, bytes);
}
