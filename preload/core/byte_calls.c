/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of open files. The offset is that of the kernel's open file description, by system calls, as those of the C
 * library are intercepted. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "posix/error.h"
#include "preload/core/calls.h"
#include "preload/core/maps.h"
#include "preload/core/state.h"

enum { MAX_BYTES = 0x7ffff000 }; /* of one call, as in the kernel */

/* --- calls on a descriptor -----------------------------------------------------------------------------------------
 */

int themis_preload_call_begin(int fd, themis_preload_open_t **open)
{
    themis_posix_t *filesystem;
    const int error = themis_preload_begin(&filesystem);

    if (error)
        return themis_preload_result(error);
    *open = themis_preload_open_file_get(filesystem, fd);
    if (!*open)
        themis_preload_end();
    return *open ? 0 : -1;
}

void themis_preload_call_end(themis_preload_open_t *open)
{
    const int error = errno;

    themis_preload_open_file_put(open);
    themis_preload_end();
    errno = error;
}

int themis_preload_call_end_with(themis_preload_open_t *open, int error)
{
    themis_preload_call_end(open);
    return themis_preload_result(error);
}

/* --- the offset ----------------------------------------------------------------------------------------------------
 */

/* Of files that other processes may share, a record lock of the descriptor's own file keeps them apart; it does not
 * keep threads apart, nor two handles of one file here. */
static pthread_mutex_t shared_offset = PTHREAD_MUTEX_INITIALIZER;

static void processes_lock(int fd, int type)
{
    struct flock lock = {.l_type = (short)type, .l_whence = SEEK_SET, .l_len = 1};

    while (syscall(SYS_fcntl, fd, F_SETLKW, &lock) != 0 && errno == EINTR)
        ;
}

/* *is_shared: for offset_unlock. */
static void offset_lock(themis_preload_open_t *open, int fd, int *is_shared)
{
    *is_shared = open->shared;
    pthread_mutex_lock(*is_shared ? &shared_offset : &open->lock);
    if (*is_shared)
        processes_lock(fd, F_WRLCK);
}

static void offset_unlock(themis_preload_open_t *open, int fd, int is_shared)
{
    const int error = errno;

    if (is_shared)
        processes_lock(fd, F_UNLCK);
    pthread_mutex_unlock(is_shared ? &shared_offset : &open->lock);
    errno = error;
}

static off_t offset_get(int fd)
{
    return (off_t)syscall(SYS_lseek, fd, 0L, SEEK_CUR);
}

static void offset_set(int fd, off_t offset)
{
    syscall(SYS_lseek, fd, offset, SEEK_SET);
}

/* --- reading -------------------------------------------------------------------------------------------------------
 */

/* Sum of the vector, at most MAX_BYTES. -1, with errno. */
static ssize_t vector_bytes(const struct iovec *vector, int count)
{
    size_t sum = 0;

    if (count < 0 || count > IOV_MAX)
        return themis_preload_result(EINVAL);
    for (int i = 0; i < count; i++) {
        if (vector[i].iov_len > SSIZE_MAX - sum)
            return themis_preload_result(EINVAL);
        sum += vector[i].iov_len;
    }
    return (ssize_t)(sum < MAX_BYTES ? sum : MAX_BYTES);
}

static int may_read(const themis_preload_open_t *open)
{
    if (!open->file)
        errno = open->flags & O_PATH ? EBADF : EISDIR;
    else if (open->flags & O_PATH || (open->flags & O_ACCMODE) == O_WRONLY)
        errno = EBADF;
    else
        return 1;
    return 0;
}

static int may_write(const themis_preload_open_t *open)
{
    if (open->file && !(open->flags & O_PATH) && (open->flags & O_ACCMODE) != O_RDONLY)
        return 1;
    errno = EBADF;
    return 0;
}

/* Until the vector is full, or the file ends. An error after some bytes is left to the next call. */
static ssize_t pieces_read(themis_preload_open_t *open, const struct iovec *vector, int count, off_t offset)
{
    ssize_t sum = 0;

    themis_preload_maps_flush(open->node);
    for (int i = 0; i < count && sum < MAX_BYTES; i++) {
        const size_t room = (size_t)(MAX_BYTES - sum);
        const size_t bytes = vector[i].iov_len < room ? vector[i].iov_len : room;
        size_t done = 0;
        if (bytes == 0)
            continue;
        const int error =
            themis_posix_file_read(open->file, vector[i].iov_base, bytes, (uint64_t)(offset + sum), &done);
        if (error)
            return sum > 0 ? sum : themis_preload_result(error);
        sum += (ssize_t)done;
        if (done < bytes)
            break;
    }
    return sum;
}

ssize_t themis_preload_core_read_at(int fd, const struct iovec *vector, int count, off_t offset)
{
    themis_preload_open_t *open;
    ssize_t done = vector_bytes(vector, count);

    if (done < 0 || offset < 0)
        return done < 0 ? -1 : themis_preload_result(EINVAL);
    if (themis_preload_call_begin(fd, &open) != 0)
        return -1;
    done = may_read(open) ? pieces_read(open, vector, count, offset) : -1;
    themis_preload_call_end(open);
    return done;
}

static ssize_t read_next(themis_preload_open_t *open, int fd, const struct iovec *vector, int count)
{
    int is_shared;

    offset_lock(open, fd, &is_shared);
    const off_t offset = offset_get(fd);
    const ssize_t done = pieces_read(open, vector, count, offset);
    if (done > 0)
        offset_set(fd, offset + done);
    offset_unlock(open, fd, is_shared);
    return done;
}

ssize_t themis_preload_core_read(int fd, const struct iovec *vector, int count)
{
    themis_preload_open_t *open;
    ssize_t done = vector_bytes(vector, count);

    if (done < 0 || themis_preload_call_begin(fd, &open) != 0)
        return -1;
    done = may_read(open) ? read_next(open, fd, vector, count) : -1;
    themis_preload_call_end(open);
    return done;
}

/* --- writing -------------------------------------------------------------------------------------------------------
 */

static int is_synchronous(const themis_preload_open_t *open)
{
    return (open->flags & (O_SYNC | O_DSYNC)) != 0;
}

static ssize_t pieces_write(themis_preload_open_t *open, const struct iovec *vector, int count, off_t offset)
{
    ssize_t sum = 0;

    for (int i = 0; i < count && sum < MAX_BYTES; i++) {
        const size_t room = (size_t)(MAX_BYTES - sum);
        const size_t bytes = vector[i].iov_len < room ? vector[i].iov_len : room;
        if (bytes == 0)
            continue;
        if (offset > LLONG_MAX - sum - (off_t)bytes)
            return sum > 0 ? sum : themis_preload_result(EFBIG);
        const int error = themis_posix_file_write(open->file, themis_preload_caller(), vector[i].iov_base, bytes,
                                                  (uint64_t)(offset + sum), 0);
        if (error)
            return sum > 0 ? sum : themis_preload_result(error);
        themis_preload_maps_update(open->node, vector[i].iov_base, bytes, offset + sum);
        sum += (ssize_t)bytes;
    }
    return sum;
}

/* As one piece, so that it is not torn. */
static ssize_t append(themis_preload_open_t *open, const struct iovec *vector, int count, size_t bytes)
{
    const void *buffer = vector[0].iov_base;
    char *joined = NULL;

    if (bytes == 0)
        return 0;
    if (count > 1 || vector[0].iov_len > bytes) {
        size_t at = 0;
        if (!(joined = malloc(bytes)))
            return themis_preload_result(ENOMEM);
        for (int i = 0; i < count && at < bytes; i++) {
            const size_t length = vector[i].iov_len < bytes - at ? vector[i].iov_len : bytes - at;
            memcpy(joined + at, vector[i].iov_base, length);
            at += length;
        }
        buffer = joined;
    }
    const int error = themis_posix_file_write(open->file, themis_preload_caller(), buffer, bytes, 0, 1);
    free(joined);
    themis_preload_maps_refresh(open->node);
    return error ? themis_preload_result(error) : (ssize_t)bytes;
}

static int is_appending(themis_preload_open_t *open, int fd)
{
    return open->shared ? ((int)syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND) != 0 : open->append;
}

/* The offset is then the end of the file, at least as far as this process knows. */
static ssize_t append_next(themis_preload_open_t *open, int fd, const struct iovec *vector, int count, size_t bytes)
{
    const ssize_t done = append(open, vector, count, bytes);
    themis_stat_t stat;

    if (done > 0 && themis_posix_file_stat(open->file, &stat) == 0)
        offset_set(fd, (off_t)stat.size);
    return done;
}

static ssize_t write_next(themis_preload_open_t *open, int fd, const struct iovec *vector, int count, size_t bytes)
{
    int is_shared;

    if (is_appending(open, fd))
        return append_next(open, fd, vector, count, bytes);
    offset_lock(open, fd, &is_shared);
    const off_t offset = offset_get(fd);
    const ssize_t done = pieces_write(open, vector, count, offset);
    if (done > 0)
        offset_set(fd, offset + done);
    offset_unlock(open, fd, is_shared);
    return done;
}

static ssize_t written(themis_preload_open_t *open, ssize_t done)
{
    if (done <= 0 || !is_synchronous(open))
        return done;
    const int error = themis_posix_file_sync(open->file, themis_preload_caller());
    return error ? themis_preload_result(error) : done;
}

ssize_t themis_preload_core_write(int fd, const struct iovec *vector, int count)
{
    themis_preload_open_t *open;
    const ssize_t bytes = vector_bytes(vector, count);
    ssize_t done = -1;

    if (bytes < 0 || themis_preload_call_begin(fd, &open) != 0)
        return -1;
    if (may_write(open))
        done = written(open, write_next(open, fd, vector, count, (size_t)bytes));
    themis_preload_call_end(open);
    return done;
}

/* With O_APPEND the offset does not count, as on Linux. */
ssize_t themis_preload_core_write_at(int fd, const struct iovec *vector, int count, off_t offset, int appends)
{
    themis_preload_open_t *open;
    const ssize_t bytes = vector_bytes(vector, count);
    ssize_t done = -1;

    if (bytes < 0 || offset < 0)
        return bytes < 0 ? -1 : themis_preload_result(EINVAL);
    if (themis_preload_call_begin(fd, &open) != 0)
        return -1;
    if (may_write(open))
        done = written(open, appends || is_appending(open, fd) ? append(open, vector, count, (size_t)bytes)
                                                               : pieces_write(open, vector, count, offset));
    themis_preload_call_end(open);
    return done;
}

/* --- offsets and sizes ---------------------------------------------------------------------------------------------
 */

/* Where `offset` from `whence` is. 0 or an errno. */
static int place_find(themis_preload_open_t *open, int fd, off_t offset, int whence, off_t *place)
{
    themis_stat_t stat;
    uint64_t found;
    off_t base = 0;
    int error;

    switch (whence) {
    case SEEK_SET:
        break;
    case SEEK_CUR:
        base = offset_get(fd);
        break;
    case SEEK_END:
        if (!open->file)
            return EINVAL;
        if ((error = themis_posix_file_stat(open->file, &stat)))
            return error;
        base = (off_t)stat.size;
        break;
    case SEEK_DATA:
    case SEEK_HOLE:
        if (!open->file || offset < 0)
            return open->file ? ENXIO : EINVAL;
        if ((error = themis_posix_file_seek(open->file, (uint64_t)offset, whence, &found)))
            return error;
        *place = (off_t)found;
        return 0;
    default:
        return EINVAL;
    }
    if (offset > 0 && base > LLONG_MAX - offset)
        return EINVAL;
    *place = base + offset;
    return *place < 0 ? EINVAL : 0;
}

off_t themis_preload_core_seek(int fd, off_t offset, int whence)
{
    themis_preload_open_t *open;
    off_t place = 0;
    int is_shared, error;

    if (themis_preload_call_begin(fd, &open) != 0)
        return -1;
    if (open->flags & O_PATH) {
        error = EBADF;
    } else {
        offset_lock(open, fd, &is_shared);
        error = place_find(open, fd, offset, whence, &place);
        if (!error)
            offset_set(fd, place);
        offset_unlock(open, fd, is_shared);
    }
    return themis_preload_call_end_with(open, error) == 0 ? place : -1;
}

int themis_preload_core_sync(int fd)
{
    themis_preload_open_t *open;
    int error = EBADF;

    if (themis_preload_call_begin(fd, &open) != 0)
        return -1;
    if (open->flags & O_PATH) {
        ;
    } else if (open->file) {
        error = themis_preload_maps_flush(open->node);
        if (!error)
            error = themis_posix_file_sync(open->file, themis_preload_caller());
    } else {
        pthread_mutex_lock(&open->lock);
        error = open->directory ? 0
                                : themis_posix_directory_open(open->filesystem, themis_preload_caller(), open->node,
                                                              &open->directory);
        if (!error)
            error = themis_posix_directory_sync(open->directory, themis_preload_caller());
        pthread_mutex_unlock(&open->lock);
    }
    return themis_preload_call_end_with(open, error);
}

int themis_preload_core_resize(int fd, off_t size)
{
    themis_preload_open_t *open;
    int error;

    if (themis_preload_call_begin(fd, &open) != 0)
        return -1;
    if (open->flags & O_PATH)
        error = EBADF;
    else if (!open->file || (open->flags & O_ACCMODE) == O_RDONLY || size < 0)
        error = EINVAL;
    else
        error = themis_posix_file_truncate(open->filesystem, themis_preload_caller(), open->node, open->file,
                                           (uint64_t)size);
    if (!error)
        themis_preload_maps_refresh(open->node);
    return themis_preload_call_end_with(open, error);
}

int themis_preload_core_allocate(int fd, int mode, off_t offset, off_t length)
{
    themis_preload_open_t *open;
    int error = EBADF;

    if (offset < 0 || length <= 0)
        return themis_preload_result(EINVAL);
    if (themis_preload_call_begin(fd, &open) != 0)
        return -1;
    if (may_write(open))
        error = themis_posix_file_allocate(open->file, mode, (uint64_t)offset, (uint64_t)length);
    return themis_preload_call_end_with(open, error);
}
