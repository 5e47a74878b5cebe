/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of files on servers: the C library's, with functions of this library below their buffers (fopencookie), as it
 * calls the kernel from inside otherwise. fileno works, as such a stream has a place for the descriptor.
 *
 * stdin, stdout and stderr exist before the program, with the kernel below them. When their descriptor becomes that of
 * a file on servers, by inheritance or dup2, the variable gets another stream; calls with the old one are led to that.
 */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include "preload/description.h"
#include "preload/entry/entry.h"

/* --- below the buffers ---------------------------------------------------------------------------------------------
 */

typedef struct stream {
    struct stream *next;
    FILE *file;
    int fd;
} stream_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static stream_t *streams; /* guarded by the lock */

static int fd_of(const void *cookie)
{
    return ((const stream_t *)cookie)->fd;
}

static ssize_t cookie_read(void *cookie, char *buffer, size_t bytes)
{
    return read(fd_of(cookie), buffer, bytes);
}

/* 0, and not -1, is a failure here. */
static ssize_t cookie_write(void *cookie, const char *buffer, size_t bytes)
{
    size_t at = 0;

    while (at < bytes) {
        const ssize_t done = write(fd_of(cookie), buffer + at, bytes - at);
        if (done <= 0)
            break;
        at += (size_t)done;
    }
    return (ssize_t)at;
}

static int cookie_seek(void *cookie, off64_t *offset, int whence)
{
    const off_t found = lseek(fd_of(cookie), *offset, whence);

    if (found >= 0)
        *offset = found;
    return found >= 0 ? 0 : -1;
}

static int cookie_close(void *cookie)
{
    stream_t *stream = cookie;

    pthread_mutex_lock(&lock);
    LL_DELETE(streams, stream);
    pthread_mutex_unlock(&lock);
    const int result = close(stream->fd), error = errno;
    free(stream);
    errno = error;
    return result;
}

static const cookie_io_functions_t functions = {cookie_read, cookie_write, cookie_seek, cookie_close};

/* --- opening -------------------------------------------------------------------------------------------------------
 */

/* The flags of open for a mode such as "r+e"; -1, with EINVAL. */
static int flags_of(const char *mode)
{
    int flags;

    switch (*mode) {
    case 'r':
        flags = O_RDONLY;
        break;
    case 'w':
        flags = O_WRONLY | O_CREAT | O_TRUNC;
        break;
    case 'a':
        flags = O_WRONLY | O_CREAT | O_APPEND;
        break;
    default:
        errno = EINVAL;
        return -1;
    }
    for (const char *at = mode + 1; *at && *at != ','; at++)
        if (*at == '+')
            flags = (flags & ~O_ACCMODE) | O_RDWR;
        else if (*at == 'x')
            flags |= O_EXCL;
        else if (*at == 'e')
            flags |= O_CLOEXEC;
    return flags;
}

/* What fopencookie understands. */
static void mode_of(int flags, char mode[4])
{
    const int both = (flags & O_ACCMODE) == O_RDWR;

    mode[0] = flags & O_APPEND ? 'a' : (flags & O_ACCMODE) == O_WRONLY ? 'w' : 'r';
    mode[1] = both ? '+' : '\0';
    mode[2] = '\0';
}

/* Over a descriptor of ours, which it takes. The place is that of the descriptor in every stream that has one. */
static FILE *stream_make(int fd, int flags)
{
    stream_t *stream = calloc(1, sizeof *stream);
    char mode[4];

    mode_of(flags, mode);
    FILE *file = stream ? fopencookie(stream, mode, functions) : NULL;
    if (!file) {
        free(stream);
        return NULL;
    }
    file->_fileno = fd;
    stream->file = file;
    stream->fd = fd;
    pthread_mutex_lock(&lock);
    LL_PREPEND(streams, stream);
    pthread_mutex_unlock(&lock);
    return file;
}

/* One that a thread uses just now is left to the C library: it may wait there for ever. */
void themis_preload_streams_flush(void)
{
    stream_t *stream;

    pthread_mutex_lock(&lock);
    LL_FOREACH(streams, stream)
    {
        if (ftrylockfile(stream->file) != 0)
            continue;
        fflush_unlocked(stream->file);
        funlockfile(stream->file);
    }
    pthread_mutex_unlock(&lock);
}

void themis_preload_streams_reset(void)
{
    pthread_mutex_init(&lock, NULL);
}

/* A link may lead to a local file. */
static FILE *open_remote(themis_preload_path_t *where, const char *mode)
{
    const int flags = flags_of(mode);
    const int fd = flags < 0 ? -1 : themis_preload_open(where, flags, 0666);
    FILE *stream = fd < 0 ? NULL : themis_preload_is_ours(fd) ? stream_make(fd, flags) : REAL(fdopen)(fd, mode);

    if (fd >= 0 && !stream)
        close(fd);
    return stream;
}

/* What the kernel has opened is not to be the memory file of a descriptor. */
static FILE *opened_local(FILE *file, const char *path)
{
    if (!file || !themis_preload_may_be_memory(path) ||
        themis_preload_description_look(REAL(fileno)(file)) == THEMIS_PRELOAD_NONE)
        return file;
    REAL(fclose)(file);
    errno = ENOENT;
    return NULL;
}

EXPORTED FILE *fopen(const char *path, const char *mode)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve(AT_FDCWD, path, &where);

    if (below == 0)
        return opened_local(REAL(fopen)(where.path, mode), where.path);
    return below < 0 ? NULL : open_remote(&where, mode);
}

EXPORTED FILE *fdopen(int fd, const char *mode)
{
    if (!themis_preload_is_ours(fd))
        return REAL(fdopen)(fd, mode);
    const int flags = flags_of(mode), have = fcntl(fd, F_GETFL);
    if (flags < 0 || have < 0)
        return NULL;
    if ((have & O_ACCMODE) != O_RDWR && (have & O_ACCMODE) != (flags & O_ACCMODE)) {
        errno = EINVAL;
        return NULL;
    }
    if (flags & O_APPEND && !(have & O_APPEND))
        fcntl(fd, F_SETFL, have | O_APPEND);
    return stream_make(fd, flags);
}

ALIAS(fopen64, fopen);

/* --- the standard streams ------------------------------------------------------------------------------------------
 */

static FILE **const variables[] = {&stdin, &stdout, &stderr};
static FILE *original[3]; /* NULL: nothing has been replaced yet */
static FILE *replaced[3]; /* NULL: the variable has the original */
static int any_replaced;  /* 0: never */

static int is_standard(const FILE *stream)
{
    for (int i = 0; i < 3; i++)
        if (stream == original[i] || (stream && stream == replaced[i]))
            return i;
    return -1;
}

/* The stream that a call means. */
static inline FILE *meant(FILE *stream)
{
    if (__builtin_expect(!any_replaced || !stream, 1))
        return stream;
    for (int i = 0; i < 3; i++)
        if (replaced[i] && stream == original[i])
            return replaced[i];
    return stream;
}

/* What is in the buffer of one stream, and was to be written, is written by the other; as the file is another by then,
 * it is what would have happened. */
static void pending_move(FILE *from, FILE *to)
{
    const size_t bytes = __fpending(from);

    if (bytes > 0)
        fwrite_unlocked(from->_IO_write_base, 1, bytes, to);
    __fpurge(from);
}

static void standard_replace(int fd)
{
    FILE *stream = stream_make(fd, fd == 0 ? O_RDONLY : O_WRONLY);

    if (!stream)
        return;
    original[fd] = *variables[fd];
    if (fd == 2)
        setvbuf(stream, NULL, _IONBF, 0);
    if (fd > 0)
        pending_move(original[fd], stream);
    replaced[fd] = stream;
    any_replaced = 1;
    *variables[fd] = stream;
}

/* The stream stays, with an empty buffer: somebody may have it. */
static void standard_restore(int fd)
{
    if (fd > 0)
        pending_move(replaced[fd], original[fd]);
    else
        __fpurge(replaced[fd]);
    if (*variables[fd] == replaced[fd])
        *variables[fd] = original[fd];
    replaced[fd] = NULL;
}

void themis_preload_standard_stream(int fd)
{
    const int ours = themis_preload_is_ours(fd);

    if (!themis_preload_owns() || ours == (replaced[fd] != NULL))
        return;
    if (!ours)
        standard_restore(fd);
    else if (*variables[fd] && (*variables[fd])->_fileno == fd)
        standard_replace(fd);
}

/* The C library closes descriptors and changes the working directory from inside. */
EXPORTED int daemon(int stay, int keep)
{
    if (!stay && chdir("/") != 0)
        return -1;
    const int result = REAL(daemon)(1, keep);
    for (int fd = 0; fd <= 2 && result == 0 && !keep; fd++) {
        if (themis_preload_is_ours(fd))
            themis_preload_closed(fd);
        themis_preload_standard_stream(fd);
    }
    return result;
}

/* --- formatted output to descriptors -------------------------------------------------------------------------------
 */

static int write_all(int fd, const char *text, int length)
{
    for (int at = 0; at < length;) {
        const ssize_t done = write(fd, text + at, (size_t)(length - at));
        if (done <= 0)
            return -1;
        at += (int)done;
    }
    return length;
}

/* The C library writes from inside. */
EXPORTED int vdprintf(int fd, const char *format, va_list list)
{
    char *text;

    if (!themis_preload_is_ours(fd))
        return REAL(vdprintf)(fd, format, list);
    const int length = vasprintf(&text, format, list);
    if (length < 0)
        return -1;
    const int result = write_all(fd, text, length);
    free(text);
    return result;
}

EXPORTED int dprintf(int fd, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    const int result = vdprintf(fd, format, list);
    va_end(list);
    return result;
}

int __dprintf_chk(int fd, int flag, const char *format, ...) __attribute__((format(printf, 3, 4)));
int __vdprintf_chk(int fd, int flag, const char *format, va_list list) __attribute__((format(printf, 3, 0)));

EXPORTED int __vdprintf_chk(int fd, int flag, const char *format, va_list list)
{
    (void)flag;
    return vdprintf(fd, format, list);
}

EXPORTED int __dprintf_chk(int fd, int flag, const char *format, ...)
{
    va_list list;

    (void)flag;
    va_start(list, format);
    const int result = vdprintf(fd, format, list);
    va_end(list);
    return result;
}

/* --- opening again -------------------------------------------------------------------------------------------------
 */

/* The descriptor of the stream becomes another file's, in the way of dup2; 0, with errno. */
static int descriptor_replace(int fd, int new)
{
    const int result = new == fd ? fd : dup2(new, fd);

    if (new >= 0 && new != fd)
        close(new);
    return result >= 0;
}

/* A standard stream, which programs go on to use by its name. */
static FILE *standard_reopen(int number, themis_preload_path_t *where, int below, int flags)
{
    fflush(*variables[number]);
    const int fd = below ? themis_preload_open(where, flags, 0666) : open(where->path, flags, 0666);
    if (fd < 0 || !descriptor_replace(number, fd))
        return NULL;
    themis_preload_standard_stream(number);
    return *variables[number];
}

EXPORTED FILE *freopen(const char *path, const char *mode, FILE *stream)
{
    themis_preload_path_t where;
    const int below = path ? themis_preload_resolve(AT_FDCWD, path, &where) : 0;
    const int number = stream == stdin ? 0 : stream == stdout ? 1 : stream == stderr ? 2 : is_standard(stream);
    const int ours = themis_preload_is_ours(fileno(meant(stream)));

    if (below < 0)
        return NULL;
    if (below == 0 && !ours && !path)
        return REAL(freopen)(NULL, mode, stream);
    if (below == 0 && !ours)
        return opened_local(REAL(freopen)(where.path, mode, stream), where.path);
    if (!path) { /* another mode of the same file */
        errno = EBADF;
        return NULL;
    }
    if (number >= 0)
        return flags_of(mode) < 0 ? NULL : standard_reopen(number, &where, below, flags_of(mode));
    fclose(stream);
    return below ? open_remote(&where, mode) : opened_local(REAL(fopen)(where.path, mode), where.path);
}

ALIAS(freopen64, freopen);

/* --- calls with a standard stream that was replaced ----------------------------------------------------------------
 */

EXPORTED int fileno(FILE *stream)
{
    return REAL(fileno)(meant(stream));
}

EXPORTED int fileno_unlocked(FILE *stream)
{
    return REAL(fileno)(meant(stream));
}

EXPORTED int fclose(FILE *stream)
{
    const int number = is_standard(stream);

    if (number < 0 || !replaced[number])
        return REAL(fclose)(stream);
    FILE *meant_stream = replaced[number];
    replaced[number] = NULL;
    if (*variables[number] == meant_stream)
        *variables[number] = original[number];
    return REAL(fclose)(meant_stream);
}

/* What the C++ library calls, which remembers the streams of the beginning. */
EXPORTED size_t fwrite(const void *buffer, size_t size, size_t count, FILE *stream)
{
    return REAL(fwrite)(buffer, size, count, meant(stream));
}

EXPORTED size_t fread(void *buffer, size_t size, size_t count, FILE *stream)
{
    return REAL(fread)(buffer, size, count, meant(stream));
}

EXPORTED int fputc(int character, FILE *stream)
{
    return REAL(fputc)(character, meant(stream));
}

EXPORTED int fgetc(FILE *stream)
{
    return REAL(fgetc)(meant(stream));
}

EXPORTED int ungetc(int character, FILE *stream)
{
    return REAL(ungetc)(character, meant(stream));
}

EXPORTED int fflush(FILE *stream)
{
    return REAL(fflush)(meant(stream));
}

#undef putc
#undef getc
ALIAS(putc, fputc);
ALIAS(getc, fgetc);
