/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program: makes the n-th call that takes memory, a descriptor or a thread fail, as test/nth/control.h
 * says. Only calls of Themis' own code count: this takes their places in the tables of the program and of its libraries
 * that are called libthemis, so that others, sanitizers too, do not notice. A site is such a call and the two above it.
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

enum { MAX_OBJECTS = 16, SITE_FRAMES = 3, OTHERS = 6 /* of a backtrace, in front of those of a site */ };

typedef struct object {
    char name[64];
    uintptr_t base, start, end;
} object_t;

static object_t objects[MAX_OBJECTS];
static int object_count;
static nth_control_t *control;
static __thread int inside; /* a backtrace may allocate, too */

/* --- whose call it is --------------------------------------------------------------------------------------------- */

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

    for (int i = 0; i < SITE_FRAMES && i < count; i++) {
        const object_t *object = object_of(frames[i]);
        hash = (hash ^ (object ? (uintptr_t)frames[i] - object->base : 0)) * 1099511628211u;
    }
    return (uint32_t)(hash >> 32) | 1;
}

static void hit_record(const char *call, void *const *frames, int count)
{
    snprintf(control->call, sizeof control->call, "%s", call);
    for (int i = 0; i < NTH_FRAMES; i++) {
        const object_t *object = i < count ? object_of(frames[i]) : NULL;
        snprintf(control->object[i], sizeof control->object[i], "%s",
                 !object         ? "-"
                 : *object->name ? object->name
                                 : "program");
        control->offset[i] = object ? (uintptr_t)frames[i] - object->base : 0;
    }
    __atomic_store_n(&control->hit, 1, __ATOMIC_RELEASE);
}

/* Of our code, without what is in front of it; returns how many. */
static int frames_find(void *frames[NTH_FRAMES])
{
    void *all[OTHERS + NTH_FRAMES];
    int count = backtrace(all, OTHERS + NTH_FRAMES), first = 0;

    while (first < count && first < OTHERS && !object_of(all[first]))
        first++;
    count = count - first < NTH_FRAMES ? count - first : NTH_FRAMES;
    memcpy(frames, all + first, (size_t)count * sizeof *frames);
    return count;
}

static int is_next(const char *call)
{
    void *frames[NTH_FRAMES];
    int count = 0;

    if (control->site || control->record)
        count = frames_find(frames);
    if (control->site && site_of(frames, count) != control->site)
        return 0;
    long number = __atomic_add_fetch(&control->count, 1, __ATOMIC_RELAXED);
    if (control->record && number <= NTH_SITES)
        control->sites[number - 1] = site_of(frames, count);
    if (number != control->fail)
        return 0;
    hit_record(call, frames, frames_find(frames));
    return 1;
}

/* Is the call the one that fails? */
static int fails(int kind, const char *call)
{
    if (inside || control->kind != kind)
        return 0;
    int cause = errno;
    inside = 1;
    int next = is_next(call);
    inside = 0;
    errno = cause;
    return next;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

#define FAIL_IF(kind, name, cause, result)                                                                             \
    if (fails(kind, #name)) {                                                                                          \
        errno = cause;                                                                                                 \
        return result;                                                                                                 \
    }
#define FAIL_MEMORY(name, result) FAIL_IF(NTH_MEMORY, name, ENOMEM, result)
#define FAIL_DESCRIPTOR(name, result) FAIL_IF(NTH_DESCRIPTOR, name, EMFILE, result)

static void *nth_malloc(size_t bytes)
{
    FAIL_MEMORY(malloc, NULL)
    return malloc(bytes);
}

static void *nth_calloc(size_t count, size_t bytes)
{
    FAIL_MEMORY(calloc, NULL)
    return calloc(count, bytes);
}

static void *nth_realloc(void *pointer, size_t bytes)
{
    FAIL_MEMORY(realloc, NULL)
    return realloc(pointer, bytes);
}

static int nth_posix_memalign(void **pointer, size_t alignment, size_t bytes)
{
    return fails(NTH_MEMORY, "posix_memalign") ? ENOMEM : posix_memalign(pointer, alignment, bytes);
}

static void *nth_aligned_alloc(size_t alignment, size_t bytes)
{
    FAIL_MEMORY(aligned_alloc, NULL)
    return aligned_alloc(alignment, bytes);
}

static char *nth_strdup(const char *text)
{
    FAIL_MEMORY(strdup, NULL)
    return strdup(text);
}

static char *nth_strndup(const char *text, size_t length)
{
    FAIL_MEMORY(strndup, NULL)
    return strndup(text, length);
}

static int nth_vasprintf(char **text, const char *format, va_list values)
{
    FAIL_MEMORY(vasprintf, -1)
    return vasprintf(text, format, values);
}

static int nth_asprintf(char **text, const char *format, ...)
{
    va_list values;

    FAIL_MEMORY(asprintf, -1)
    va_start(values, format);
    int length = vasprintf(text, format, values);
    va_end(values);
    return length;
}

/* With _FORTIFY_SOURCE. */
static int nth___asprintf_chk(char **text, int flag, const char *format, ...)
{
    va_list values;

    FAIL_MEMORY(asprintf, -1)
    va_start(values, format);
    int length = vasprintf(text, format, values);
    va_end(values);
    return length;
}

static FILE *nth_open_memstream(char **text, size_t *size)
{
    FAIL_MEMORY(open_memstream, NULL)
    return open_memstream(text, size);
}

static ssize_t nth_getline(char **line, size_t *size, FILE *file)
{
    FAIL_MEMORY(getline, -1)
    return getline(line, size, file);
}

static void *nth_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    FAIL_MEMORY(mmap, MAP_FAILED)
    return mmap(at, length, protection, flags, fd, offset);
}

static int nth_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found)
{
    FAIL_MEMORY(getaddrinfo, EAI_MEMORY)
    return getaddrinfo(host, port, hints, found);
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

static int nth_open(const char *path, int flags, ...)
{
    MODE(flags)
    FAIL_DESCRIPTOR(open, -1)
    return open(path, flags, mode);
}

static int nth_open64(const char *path, int flags, ...)
{
    MODE(flags)
    FAIL_DESCRIPTOR(open64, -1)
    return open64(path, flags, mode);
}

static int nth_openat(int directory, const char *path, int flags, ...)
{
    MODE(flags)
    FAIL_DESCRIPTOR(openat, -1)
    return openat(directory, path, flags, mode);
}

static int nth_openat64(int directory, const char *path, int flags, ...)
{
    MODE(flags)
    FAIL_DESCRIPTOR(openat64, -1)
    return openat64(directory, path, flags, mode);
}

static FILE *nth_fopen(const char *path, const char *mode)
{
    FAIL_DESCRIPTOR(fopen, NULL)
    return fopen(path, mode);
}

static FILE *nth_fopen64(const char *path, const char *mode)
{
    FAIL_DESCRIPTOR(fopen64, NULL)
    return fopen64(path, mode);
}

static FILE *nth_fdopen(int fd, const char *mode)
{
    FAIL_MEMORY(fdopen, NULL)
    return fdopen(fd, mode);
}

static DIR *nth_opendir(const char *path)
{
    FAIL_DESCRIPTOR(opendir, NULL)
    return opendir(path);
}

static DIR *nth_fdopendir(int fd)
{
    FAIL_MEMORY(fdopendir, NULL)
    return fdopendir(fd);
}

static int nth_socket(int domain, int type, int protocol)
{
    FAIL_DESCRIPTOR(socket, -1)
    return socket(domain, type, protocol);
}

static int nth_socketpair(int domain, int type, int protocol, int fds[2])
{
    FAIL_DESCRIPTOR(socketpair, -1)
    return socketpair(domain, type, protocol, fds);
}

static int nth_accept4(int listener, struct sockaddr *address, socklen_t *length, int flags)
{
    FAIL_DESCRIPTOR(accept4, -1)
    return accept4(listener, address, length, flags);
}

static int nth_pipe2(int ends[2], int flags)
{
    FAIL_DESCRIPTOR(pipe2, -1)
    return pipe2(ends, flags);
}

static int nth_eventfd(unsigned value, int flags)
{
    FAIL_DESCRIPTOR(eventfd, -1)
    return eventfd(value, flags);
}

static int nth_epoll_create1(int flags)
{
    FAIL_DESCRIPTOR(epoll_create1, -1)
    return epoll_create1(flags);
}

static int nth_memfd_create(const char *name, unsigned flags)
{
    FAIL_DESCRIPTOR(memfd_create, -1)
    return memfd_create(name, flags);
}

static int nth_dup2(int from, int to)
{
    FAIL_DESCRIPTOR(dup2, -1)
    return dup2(from, to);
}

static int nth_fcntl64(int fd, int command, ...)
{
    va_list values;

    va_start(values, command);
    void *value = va_arg(values, void *);
    va_end(values);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        FAIL_DESCRIPTOR(fcntl, -1)
    return fcntl64(fd, command, value);
}

static int nth_fcntl(int fd, int command, ...)
{
    va_list values;

    va_start(values, command);
    void *value = va_arg(values, void *);
    va_end(values);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        FAIL_DESCRIPTOR(fcntl, -1)
    return fcntl(fd, command, value);
}

/* A pidfd has no function of its own. */
static long nth_syscall(long number, ...)
{
    va_list values;
    long value[6];

    va_start(values, number);
    for (int i = 0; i < 6; i++)
        value[i] = va_arg(values, long);
    va_end(values);
    if (number == SYS_pidfd_open)
        FAIL_DESCRIPTOR(syscall, -1)
    return syscall(number, value[0], value[1], value[2], value[3], value[4], value[5]);
}

static int nth_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg)
{
    return fails(NTH_THREAD, "pthread_create") ? EAGAIN : pthread_create(thread, attributes, run, arg);
}

/* --- taking the places of calls ------------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    void *call;
} taken[] = {
    {"malloc", (void *)nth_malloc},
    {"calloc", (void *)nth_calloc},
    {"realloc", (void *)nth_realloc},
    {"posix_memalign", (void *)nth_posix_memalign},
    {"aligned_alloc", (void *)nth_aligned_alloc},
    {"strdup", (void *)nth_strdup},
    {"strndup", (void *)nth_strndup},
    {"vasprintf", (void *)nth_vasprintf},
    {"asprintf", (void *)nth_asprintf},
    {"__asprintf_chk", (void *)nth___asprintf_chk},
    {"open_memstream", (void *)nth_open_memstream},
    {"getline", (void *)nth_getline},
    {"mmap", (void *)nth_mmap},
    {"getaddrinfo", (void *)nth_getaddrinfo},
    {"open", (void *)nth_open},
    {"open64", (void *)nth_open64},
    {"openat", (void *)nth_openat},
    {"openat64", (void *)nth_openat64},
    {"fopen", (void *)nth_fopen},
    {"fopen64", (void *)nth_fopen64},
    {"fdopen", (void *)nth_fdopen},
    {"opendir", (void *)nth_opendir},
    {"fdopendir", (void *)nth_fdopendir},
    {"socket", (void *)nth_socket},
    {"socketpair", (void *)nth_socketpair},
    {"accept4", (void *)nth_accept4},
    {"pipe2", (void *)nth_pipe2},
    {"eventfd", (void *)nth_eventfd},
    {"epoll_create1", (void *)nth_epoll_create1},
    {"memfd_create", (void *)nth_memfd_create},
    {"dup2", (void *)nth_dup2},
    {"fcntl64", (void *)nth_fcntl64},
    {"fcntl", (void *)nth_fcntl},
    {"syscall", (void *)nth_syscall},
    {"pthread_create", (void *)nth_pthread_create},
};

static void *call_of(const char *name)
{
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(taken[i].name, name) == 0)
            return taken[i].call;
    return NULL;
}

/* A place where the address of a function is, which may be on a page that was made read-only. */
static void place_set(void **place, void *call)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)place & ~(page - 1));

    if (mprotect(start, page, PROT_READ | PROT_WRITE) == 0)
        *place = call;
}

static void relocations_take(uintptr_t base, const ElfW(Rela) * at, size_t bytes, const ElfW(Sym) * symbols,
                             const char *texts)
{
    for (size_t i = 0; i < bytes / sizeof *at; i++) {
        void *call = call_of(texts + symbols[ELF64_R_SYM(at[i].r_info)].st_name);
        if (call && symbols[ELF64_R_SYM(at[i].r_info)].st_shndx == SHN_UNDEF)
            place_set((void **)(base + at[i].r_offset), call);
    }
}

/* Dynamic sections have addresses once they are relocated. */
static void object_take(const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic)
{
    uintptr_t entry[DT_NUM] = {0};

    for (; dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag < DT_NUM)
            entry[dynamic->d_tag] = dynamic->d_un.d_val;
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)entry[DT_SYMTAB];
    const char *texts = (const char *)entry[DT_STRTAB];
    relocations_take(info->dlpi_addr, (const ElfW(Rela) *)entry[DT_RELA], entry[DT_RELASZ], symbols, texts);
    relocations_take(info->dlpi_addr, (const ElfW(Rela) *)entry[DT_JMPREL], entry[DT_PLTRELSZ], symbols, texts);
}

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
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_DYNAMIC)
            object_take(info, (const ElfW(Dyn) *)start);
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        object->start = start < object->start ? start : object->start;
        object->end = start + header->p_memsz > object->end ? start + header->p_memsz : object->end;
    }
    return 0;
}

__attribute__((constructor)) static void shim_start(void)
{
    const char *path = getenv(NTH_CONTROL);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *frames[2];

    if (fd < 0)
        return;
    backtrace(frames, 2); /* loads what it needs */
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    control = map != MAP_FAILED ? map : NULL;
    if (control)
        dl_iterate_phdr(object_add, NULL);
}
