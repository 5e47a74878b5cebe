/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program: makes the n-th call that takes memory, a descriptor or a thread fail, as test/nth/control.h
 * says. Only calls of Themis' own code count: the program's and its libraries' that are called libthemis. A site is
 * such a call and the two above it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "control.h"

#define EXPORT __attribute__((visibility("default")))
enum { MAX_OBJECTS = 16, SITE_FRAMES = 3, SKIPPED = 3 /* of a backtrace: is_next, fails, the call */ };

typedef struct object {
    char name[64];
    uintptr_t base, start, end;
} object_t;

static object_t objects[MAX_OBJECTS];
static int object_count;
static nth_control_t *control; /* NULL: not yet, or none */
static __thread int inside;    /* a backtrace may allocate, too */

/* --- whose call it is --------------------------------------------------------------------------------------------- */

static int object_add(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;

    if ((*name && strncmp(name, "libthemis", 9) != 0) || object_count == MAX_OBJECTS)
        return 0;
    object_t *object = &objects[object_count++];
    snprintf(object->name, sizeof object->name, "%.60s", name);
    object->base = info->dlpi_addr;
    object->start = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = start + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X))
            continue;
        object->start = start < object->start ? start : object->start;
        object->end = end > object->end ? end : object->end;
    }
    return 0;
}

static const object_t *object_of(const void *address)
{
    for (int i = 0; i < object_count; i++)
        if ((uintptr_t)address >= objects[i].start && (uintptr_t)address < objects[i].end)
            return &objects[i];
    return NULL;
}

static uint32_t site_of(void *const *frames, int count)
{
    uint64_t hash = 14695981039346656037u;

    for (int i = SKIPPED; i < SKIPPED + SITE_FRAMES && i < count; i++) {
        const object_t *object = object_of(frames[i]);
        hash = (hash ^ (object ? (uintptr_t)frames[i] - object->base : 0)) * 1099511628211u;
    }
    return (uint32_t)(hash >> 32) | 1;
}

static void hit_record(const char *call, void *const *frames, int count)
{
    snprintf(control->call, sizeof control->call, "%s", call);
    for (int i = 0; i < NTH_FRAMES; i++) {
        const object_t *object = SKIPPED + i < count ? object_of(frames[SKIPPED + i]) : NULL;
        snprintf(control->object[i], sizeof control->object[i], "%s",
                 !object         ? "-"
                 : *object->name ? object->name
                                 : "program");
        control->offset[i] = object ? (uintptr_t)frames[SKIPPED + i] - object->base : 0;
    }
    __atomic_store_n(&control->hit, 1, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) int is_next(const char *call)
{
    void *frames[SKIPPED + NTH_FRAMES];
    int count = 0;

    if (control->site || control->record)
        count = backtrace(frames, SKIPPED + NTH_FRAMES);
    if (control->site && site_of(frames, count) != control->site)
        return 0;
    long number = __atomic_add_fetch(&control->count, 1, __ATOMIC_RELAXED);
    if (control->record && number <= NTH_SITES)
        control->sites[number - 1] = site_of(frames, count);
    if (number != control->fail)
        return 0;
    hit_record(call, frames, backtrace(frames, SKIPPED + NTH_FRAMES));
    return 1;
}

/* Is the call the one that fails? */
static __attribute__((noinline)) int fails(int kind, const char *call, const void *caller)
{
    if (!control || inside || control->kind != kind || !object_of(caller))
        return 0;
    int cause = errno;
    inside = 1;
    int next = is_next(call);
    inside = 0;
    errno = cause;
    return next;
}

/* --- before the real functions are known -------------------------------------------------------------------------- */

/* dlsym may allocate; what it gets is never freed. */
static char early[64 << 10];
static size_t early_used;

static void *early_take(size_t bytes)
{
    void *taken = early + early_used;

    early_used += (bytes + 15) & ~(size_t)15;
    return early_used <= sizeof early ? taken : NULL;
}

static int is_early(const void *pointer)
{
    return (const char *)pointer >= early && (const char *)pointer < early + sizeof early;
}

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void shim_start(void)
{
    const char *path = getenv(NTH_CONTROL);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *frames[2];

    if (fd < 0)
        return;
    dl_iterate_phdr(object_add, NULL);
    backtrace(frames, 2); /* loads what it needs */
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    control = map != MAP_FAILED ? map : NULL;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

#define REAL(name)                                                                                                     \
    static __typeof__(name) *next;                                                                                     \
    if (!next)                                                                                                         \
    next = (__typeof__(name) *)real(#name)
#define FAIL_IF(kind, name, cause, result)                                                                             \
    if (fails(kind, #name, __builtin_return_address(0))) {                                                             \
        errno = cause;                                                                                                 \
        return result;                                                                                                 \
    }
#define FAIL_MEMORY(name, result) FAIL_IF(NTH_MEMORY, name, ENOMEM, result)
#define FAIL_DESCRIPTOR(name, result) FAIL_IF(NTH_DESCRIPTOR, name, EMFILE, result)

static __thread int resolving;

EXPORT void *malloc(size_t bytes)
{
    static __typeof__(malloc) *next;

    if (!next) {
        if (resolving)
            return early_take(bytes);
        resolving = 1;
        next = (__typeof__(malloc) *)real("malloc");
        resolving = 0;
    }
    FAIL_MEMORY(malloc, NULL)
    return next(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    static __typeof__(calloc) *next;

    if (!next) {
        if (resolving)
            return early_take(count * bytes);
        resolving = 1;
        next = (__typeof__(calloc) *)real("calloc");
        resolving = 0;
    }
    FAIL_MEMORY(calloc, NULL)
    return next(count, bytes);
}

EXPORT void free(void *pointer)
{
    REAL(free);
    if (!is_early(pointer))
        next(pointer);
}

EXPORT void *realloc(void *pointer, size_t bytes)
{
    REAL(realloc);
    FAIL_MEMORY(realloc, NULL)
    return next(pointer, bytes);
}

EXPORT int posix_memalign(void **pointer, size_t alignment, size_t bytes)
{
    REAL(posix_memalign);
    return fails(NTH_MEMORY, "posix_memalign", __builtin_return_address(0)) ? ENOMEM : next(pointer, alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    REAL(aligned_alloc);
    FAIL_MEMORY(aligned_alloc, NULL)
    return next(alignment, bytes);
}

EXPORT char *strdup(const char *text)
{
    REAL(strdup);
    FAIL_MEMORY(strdup, NULL)
    return next(text);
}

EXPORT char *strndup(const char *text, size_t length)
{
    REAL(strndup);
    FAIL_MEMORY(strndup, NULL)
    return next(text, length);
}

EXPORT int vasprintf(char **text, const char *format, va_list values)
{
    REAL(vasprintf);
    FAIL_MEMORY(vasprintf, -1)
    return next(text, format, values);
}

EXPORT int asprintf(char **text, const char *format, ...)
{
    va_list values;

    FAIL_MEMORY(asprintf, -1)
    va_start(values, format);
    int length = vasprintf(text, format, values);
    va_end(values);
    return length;
}

/* With _FORTIFY_SOURCE. */
EXPORT int __asprintf_chk(char **text, int flag, const char *format, ...)
{
    va_list values;

    FAIL_MEMORY(asprintf, -1)
    va_start(values, format);
    int length = vasprintf(text, format, values);
    va_end(values);
    return length;
}

EXPORT FILE *open_memstream(char **text, size_t *size)
{
    REAL(open_memstream);
    FAIL_MEMORY(open_memstream, NULL)
    return next(text, size);
}

EXPORT ssize_t getline(char **line, size_t *size, FILE *file)
{
    REAL(getline);
    FAIL_MEMORY(getline, -1)
    return next(line, size, file);
}

EXPORT void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    REAL(mmap);
    FAIL_MEMORY(mmap, MAP_FAILED)
    return next(at, length, protection, flags, fd, offset);
}

EXPORT int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found)
{
    REAL(getaddrinfo);
    FAIL_MEMORY(getaddrinfo, EAI_MEMORY)
    return next(host, port, hints, found);
}

/* The mode of open and its like, which is there only with some flags. */
#define MODE(flags)                                                                                                    \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list values;                                                                                                \
        va_start(values, flags);                                                                                       \
        mode = va_arg(values, mode_t);                                                                                 \
        va_end(values);                                                                                                \
    }

EXPORT int open(const char *path, int flags, ...)
{
    MODE(flags)
    REAL(open);
    FAIL_DESCRIPTOR(open, -1)
    return next(path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
    MODE(flags)
    REAL(open64);
    FAIL_DESCRIPTOR(open64, -1)
    return next(path, flags, mode);
}

EXPORT int openat(int directory, const char *path, int flags, ...)
{
    MODE(flags)
    REAL(openat);
    FAIL_DESCRIPTOR(openat, -1)
    return next(directory, path, flags, mode);
}

EXPORT int openat64(int directory, const char *path, int flags, ...)
{
    MODE(flags)
    REAL(openat64);
    FAIL_DESCRIPTOR(openat64, -1)
    return next(directory, path, flags, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen);
    FAIL_DESCRIPTOR(fopen, NULL)
    return next(path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
    REAL(fopen64);
    FAIL_DESCRIPTOR(fopen64, NULL)
    return next(path, mode);
}

EXPORT FILE *fdopen(int fd, const char *mode)
{
    REAL(fdopen);
    FAIL_MEMORY(fdopen, NULL)
    return next(fd, mode);
}

EXPORT DIR *opendir(const char *path)
{
    REAL(opendir);
    FAIL_DESCRIPTOR(opendir, NULL)
    return next(path);
}

EXPORT DIR *fdopendir(int fd)
{
    REAL(fdopendir);
    FAIL_MEMORY(fdopendir, NULL)
    return next(fd);
}

EXPORT int socket(int domain, int type, int protocol)
{
    REAL(socket);
    FAIL_DESCRIPTOR(socket, -1)
    return next(domain, type, protocol);
}

EXPORT int socketpair(int domain, int type, int protocol, int fds[2])
{
    REAL(socketpair);
    FAIL_DESCRIPTOR(socketpair, -1)
    return next(domain, type, protocol, fds);
}

EXPORT int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags)
{
    REAL(accept4);
    FAIL_DESCRIPTOR(accept4, -1)
    return next(listener, address, length, flags);
}

EXPORT int pipe2(int ends[2], int flags)
{
    REAL(pipe2);
    FAIL_DESCRIPTOR(pipe2, -1)
    return next(ends, flags);
}

EXPORT int eventfd(unsigned value, int flags)
{
    REAL(eventfd);
    FAIL_DESCRIPTOR(eventfd, -1)
    return next(value, flags);
}

EXPORT int epoll_create1(int flags)
{
    REAL(epoll_create1);
    FAIL_DESCRIPTOR(epoll_create1, -1)
    return next(flags);
}

EXPORT int memfd_create(const char *name, unsigned flags)
{
    REAL(memfd_create);
    FAIL_DESCRIPTOR(memfd_create, -1)
    return next(name, flags);
}

EXPORT int dup2(int from, int to)
{
    REAL(dup2);
    FAIL_DESCRIPTOR(dup2, -1)
    return next(from, to);
}

EXPORT int fcntl64(int fd, int command, ...)
{
    va_list values;

    va_start(values, command);
    void *value = va_arg(values, void *);
    va_end(values);
    REAL(fcntl64);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        FAIL_DESCRIPTOR(fcntl, -1)
    return next(fd, command, value);
}

EXPORT int fcntl(int fd, int command, ...)
{
    va_list values;

    va_start(values, command);
    void *value = va_arg(values, void *);
    va_end(values);
    REAL(fcntl);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        FAIL_DESCRIPTOR(fcntl, -1)
    return next(fd, command, value);
}

/* A pidfd has no function of its own. */
EXPORT long syscall(long number, ...)
{
    va_list values;
    long value[6];

    va_start(values, number);
    for (int i = 0; i < 6; i++)
        value[i] = va_arg(values, long);
    va_end(values);
    REAL(syscall);
    if (number == SYS_pidfd_open)
        FAIL_DESCRIPTOR(syscall, -1)
    return next(number, value[0], value[1], value[2], value[3], value[4], value[5]);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg)
{
    REAL(pthread_create);
    return fails(NTH_THREAD, "pthread_create", __builtin_return_address(0)) ? EAGAIN
                                                                            : next(thread, attributes, run, arg);
}
