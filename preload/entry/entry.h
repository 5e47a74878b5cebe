/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the functions have in common that stand in front of the C library's: which descriptors and paths concern files
 * on servers, and the ways on, to the core or to the C library.
 *
 * Nothing here allocates memory or takes a lock before the first path below the mount point, so that these functions
 * may be called by signal handlers, memory allocators and constructors of other libraries.
 */
#pragma once
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include "client/path.h"
#include "preload/core.h"

#define EXPORTED __attribute__((visibility("default")))
/* Another name of a function of the same file. */
#define ALIAS(name, of) __attribute__((visibility("default"), alias(#of))) __typeof__(of) name
#if defined __GNUC__ && !defined __clang__
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#endif

/* --- the C library -------------------------------------------------------------------------------------------------
 */

enum {
#define EAGER(name) THEMIS_PRELOAD_REAL_##name,
#define LAZY(name) THEMIS_PRELOAD_REAL_##name,
#include "preload/entry/real.def"
#undef EAGER
#undef LAZY
    THEMIS_PRELOAD_REALS
};

extern void *themis_preload_reals[THEMIS_PRELOAD_REALS];

/* Looks all functions up that signal handlers may call. */
void themis_preload_real_begin(void);
void *themis_preload_real_find(int index);

static inline void *themis_preload_real(int index)
{
    void *real = __atomic_load_n(&themis_preload_reals[index], __ATOMIC_RELAXED);

    return __builtin_expect(real != NULL, 1) ? real : themis_preload_real_find(index);
}

#define REAL(name) ((__typeof__(&name))themis_preload_real(THEMIS_PRELOAD_REAL_##name))

/* --- descriptors ---------------------------------------------------------------------------------------------------
 */

/* A bit for each number. */
extern uint8_t themis_preload_table[THEMIS_PRELOAD_DESCRIPTORS / 8];

/* 1: of a file on servers. */
static inline int themis_preload_is_ours(int fd)
{
    return __builtin_expect((unsigned)fd < THEMIS_PRELOAD_DESCRIPTORS, 1) &&
           __builtin_expect(
               __atomic_load_n(&themis_preload_table[(unsigned)fd / 8], __ATOMIC_ACQUIRE) >> ((unsigned)fd % 8) & 1, 0);
}

/* 1: the core has it now; 0: its number is too large. */
int themis_preload_mark(int fd);
void themis_preload_unmark(int fd);
/* 1: one was marked some time. */
int themis_preload_was_any(void);
/* 1: the memory file was made by root or this user; others may have written into theirs what they like. */
int themis_preload_is_trusted(int fd);
/* Marks it if it says of itself that it is one; has come from another process. */
void themis_preload_received(int fd);
/* Marks those that this program has inherited. */
void themis_preload_descriptors_inherit(void);
/* After `duplicate` has become one of fd; it may have been another before. Returns it. */
int themis_preload_duplicated(int fd, int duplicate);
/* After the kernel has closed it, or given its number to another. */
void themis_preload_closed(int fd);
/* After the kernel has given out this number: what was known of it is no more. Returns it; -1 stays -1. */
int themis_preload_fresh(int fd);
/* 0: in a child of vfork, which has its parent's memory and must not change it. */
int themis_preload_owns(void);
/* In a child, of which the descriptors are now. */
void themis_preload_descriptors_own(void);
/* 1: this is a child of a fork that the C library does not tell (_Fork, a system call). */
int themis_preload_is_unseen_child(void);
/* Does the work, which returns 0 or an errno, in a child, and returns that; in a child of vfork
 * (entry/process_calls.c). */
int themis_preload_apart(int (*work)(void *), void *arg);
/* In a child of a fork: it has no session, and its descriptors say what they are (entry/process_calls.c). */
void themis_preload_forked(void);

/* --- descriptors of the core ----------------------------------------------------------------------------------------
 */

/* A bit for each number. */
extern uint8_t themis_preload_internals[THEMIS_PRELOAD_DESCRIPTORS / 8];

static inline int themis_preload_is_internal(int fd)
{
    return (unsigned)fd < THEMIS_PRELOAD_DESCRIPTORS &&
           __builtin_expect(themis_preload_internals[(unsigned)fd / 8] >> ((unsigned)fd % 8) & 1, 0);
}

/* Of a number that the kernel has given out: one for the core becomes a high one. Returns what it is now. */
int themis_preload_internal(int fd);
void themis_preload_internal_forget(int fd);
/* In a child. */
void themis_preload_internals_close(void);

/* --- the working directory -----------------------------------------------------------------------------------------
 */

/* 1: the number is that by which programs that are started know the working directory; no one may close it. */
int themis_preload_is_directory_descriptor(int fd);
/* 0: there is none. */
int themis_preload_has_directory_descriptor(void);
/* At the start of a program; takes the descriptor. */
void themis_preload_directory_inherit(int fd);

/* --- paths ---------------------------------------------------------------------------------------------------------
 */

typedef struct themis_preload_path {
    int directory;      /* what the C library is to be called with, if it is not below the mount point */
    const char *path;   /* likewise */
    const char *remote; /* the path on servers, or NULL: not below the mount point */
    int is_directory;   /* 1: it ends with a slash or a dot, so only a directory can be meant */
    int dots;           /* 1, 2: its last name is "." or ".." */
    char buffer[2 * THEMIS_PATH_BYTES];
} themis_preload_path_t;

/* 1: the path, relative to the descriptor of a directory or AT_FDCWD, is below the mount point, and `result` complete.
 * 0: it is not. -1, with errno: it is, and something is wrong with it. */
int themis_preload_resolve(int directory, const char *path, themis_preload_path_t *result);

/* The same for a call on the last name itself: the link of a descriptor in /proc or /dev is the kernel's. */
int themis_preload_resolve_name(int directory, const char *path, themis_preload_path_t *result);
/* 1: an absolute path that is the kernel's as it stands, which takes no buffer to find out. 0: look closer. */
int themis_preload_is_elsewhere(const char *path);

/* The same for the link of a descriptor, of this process or another (entry/descriptor_names.c). */
int themis_preload_resolve_descriptor(const char *path, themis_preload_path_t *result);
/* The path of an open file of ours, in the second half of the buffer; NULL, with errno. */
const char *themis_preload_path_of(int fd, themis_preload_path_t *result);
/* 1: the memory file of a descriptor may be opened by the path, as this process has or had one, or the last name is a
 * number, as those of descriptors in /proc are. */
int themis_preload_may_be_memory(const char *path);
/* After the kernel has opened a path, by which the memory file of a descriptor may be meant: returns it, or -1 with
 * ENOENT. */
int themis_preload_opened_local(int fd, const char *path);

/* After the core has said ELOOP: the path becomes what it leads to, through a link at its end only with `last` or if it
 * ends as a directory. 1, 0 and -1 as above. */
int themis_preload_follow(themis_preload_path_t *path, int last);

/* What the calls of the core are to know of the end of the path; `flags`: AT_SYMLINK_NOFOLLOW and others. */
static inline int themis_preload_flags(const themis_preload_path_t *path, int flags)
{
    return path->is_directory ? (flags & ~AT_SYMLINK_NOFOLLOW) | THEMIS_PRELOAD_DIRECTORY : flags;
}

/* "/themis/a" of "/a". -1, with ERANGE: it is longer than `size`. */
int themis_preload_full_path(const char *remote, char *path, size_t size);

/* --- the core ------------------------------------------------------------------------------------------------------
 */

/* 0: this is a child of vfork of a process that has no session. */
int themis_preload_may_enter(void);
/* Loads it. NULL, with errno: it cannot be, or the caller has interrupted a call (EDEADLK). */
const themis_preload_core_t *themis_preload_enter(void);
void themis_preload_leave(void);
/* NULL: it is not loaded. */
const themis_preload_core_t *themis_preload_loaded(void);
/* 1: the caller is the core, whose own files are none of ours. */
extern __thread int themis_preload_inside __attribute__((tls_model("initial-exec")));

/* Returns the result of a call of the core from the function that this stands in. A thread may be cancelled before.
 * errno changes with failures only, as programs such as netCDF expect. */
#define RETURN_CORE(type, failure, call)                                                                               \
    do {                                                                                                               \
        const int errno_before = errno;                                                                                \
        pthread_testcancel();                                                                                          \
        const themis_preload_core_t *core = themis_preload_enter();                                                    \
        if (!core)                                                                                                     \
            return failure;                                                                                            \
        type result_of_core = core->call;                                                                              \
        themis_preload_leave();                                                                                        \
        if (result_of_core != failure)                                                                                 \
            errno = errno_before;                                                                                      \
        return result_of_core;                                                                                         \
    } while (0)

enum { THEMIS_PRELOAD_TRIES = 3 /* links may change between following them and the call */ };

/* `result` is what a call of the core for `path` gives. `below`, a variable, is 1 before, and after that 1, 0: a link
 * has led to a local path, which `path` has now; or -1, with errno. */
#define CALL_CORE(result, below, path, last, call)                                                                     \
    do {                                                                                                               \
        const int errno_before = errno;                                                                                \
        pthread_testcancel();                                                                                          \
        for (int tries = THEMIS_PRELOAD_TRIES; below == 1; below = themis_preload_follow(path, last)) {                \
            const themis_preload_core_t *core = themis_preload_enter();                                                \
            result = core ? core->call : -1;                                                                           \
            if (!core)                                                                                                 \
                break;                                                                                                 \
            themis_preload_leave();                                                                                    \
            if (result != -1 || errno != ELOOP || --tries == 0)                                                        \
                break;                                                                                                 \
        }                                                                                                              \
        if (result != -1)                                                                                              \
            errno = errno_before;                                                                                      \
    } while (0)

/* Returns, from the function that this stands in, the result of a call of the core if `name` is below the mount point,
 * and otherwise that of the C library's; both with the path in `where`. */
#define RETURN_AT(type, at, name, last, core_call, real_call)                                                          \
    do {                                                                                                               \
        themis_preload_path_t where;                                                                                   \
        int below = themis_preload_resolve(at, name, &where);                                                          \
        type result_of_core = -1;                                                                                      \
        if (below == 1)                                                                                                \
            CALL_CORE(result_of_core, below, &where, last, core_call);                                                 \
        if (below != 0)                                                                                                \
            return below < 0 ? -1 : result_of_core;                                                                    \
        return real_call;                                                                                              \
    } while (0)

/* Opens a path on servers; returns a marked descriptor, or a local one if a link leads to a local file. */
int themis_preload_open(themis_preload_path_t *path, int flags, mode_t mode);
/* The umask of the process. */
mode_t themis_preload_umask(void);

/* --- maps (entry/descriptor_calls.c)
 * -----------------------------------------------------------------------------------
 */

/* Of a descriptor that is ours. */
void *themis_preload_map(void *address, size_t length, int protection, int flags, int fd, off_t offset);
/* Before the kernel unmaps these pages. */
void themis_preload_unmap(void *address, size_t length);
/* Writes what is in maps of ours among these pages; 0 also if there are none. */
int themis_preload_map_sync(void *address, size_t length);
/* 1, with ENOMEM: a map of ours is among these pages. It stays as it is: programs then make another. */
int themis_preload_map_stays(const void *address, size_t length);

/* --- messages by system calls ---------------------------------------------------------------------------------------
 */

/* recvmsg, recvmmsg, sendmsg and sendmmsg (entry/message_calls.c). */
long themis_preload_message_call(long number, const long a[6]);

/* --- streams -------------------------------------------------------------------------------------------------------
 */

/* stdin, stdout and stderr: after the descriptor 0, 1 or 2 has become another file's (entry/stream_calls.c). */
void themis_preload_standard_stream(int fd);
/* Before the end of the process: those of files on servers. */
void themis_preload_streams_flush(void);

/* In a child: whoever held locks is not here. */
void themis_preload_streams_reset(void);
void themis_preload_directories_reset(void);
