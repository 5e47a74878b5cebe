/* SPDX-License-Identifier: BSD-3-Clause */
/* Which descriptors are those of files on servers. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "preload/description.h"
#include "preload/entry/entry.h"
#include "preload/kernel.h"
#include "util/mount_point.h"

uint8_t themis_preload_table[THEMIS_PRELOAD_DESCRIPTORS / 8];

static int any; /* 1: one was marked some time; atomic */

/* The process that has them. */
static pid_t owner;
/* A page that the kernel empties in the child of a fork, but not in that of vfork; NULL: it does not. */
static int *alive;

int themis_preload_is_unseen_child(void)
{
    return alive && !*alive;
}

int themis_preload_owns(void)
{
    if (themis_preload_is_unseen_child())
        themis_preload_forked();
    return owner == (pid_t)themis_preload_kernel(SYS_getpid);
}

static void page_make(void)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)themis_preload_kernel(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

    if (page != MAP_FAILED && themis_preload_kernel(SYS_madvise, page, bytes, MADV_WIPEONFORK) == 0)
        alive = page;
}

int themis_preload_mark(int fd)
{
    if ((unsigned)fd >= THEMIS_PRELOAD_DESCRIPTORS)
        return 0;
    __atomic_store_n(&any, 1, __ATOMIC_RELAXED);
    __atomic_fetch_or(&themis_preload_table[fd / 8], (uint8_t)(1u << fd % 8), __ATOMIC_RELEASE);
    return 1;
}

int themis_preload_was_any(void)
{
    return __atomic_load_n(&any, __ATOMIC_RELAXED);
}

void themis_preload_unmark(int fd)
{
    if ((unsigned)fd < THEMIS_PRELOAD_DESCRIPTORS)
        __atomic_fetch_and(&themis_preload_table[fd / 8], (uint8_t) ~(1u << fd % 8), __ATOMIC_RELEASE);
}

void themis_preload_closed(int fd)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    if (!themis_preload_owns())
        return;
    themis_preload_unmark(fd);
    if (core && (core = themis_preload_enter())) {
        core->forget(fd);
        themis_preload_leave();
    }
}

int themis_preload_fresh(int fd)
{
    if (fd < 0 || themis_preload_inside || (!themis_preload_is_ours(fd) && !themis_preload_is_internal(fd)) ||
        !themis_preload_owns())
        return fd;
    if (themis_preload_is_ours(fd))
        themis_preload_closed(fd);
    themis_preload_internal_forget(fd);
    return fd;
}

int themis_preload_duplicated(int fd, int duplicate)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    if (duplicate < 0 || duplicate == fd || !themis_preload_owns())
        return duplicate;
    if (themis_preload_is_ours(duplicate))
        themis_preload_closed(duplicate);
    if (!themis_preload_is_ours(fd))
        return duplicate;
    if (!themis_preload_mark(duplicate)) {
        REAL(close)(duplicate);
        errno = EMFILE;
        return -1;
    }
    if (core && (core = themis_preload_enter())) {
        core->share(fd, duplicate);
        themis_preload_leave();
    }
    return duplicate;
}

int themis_preload_is_trusted(int fd)
{
    struct stat stat;
    const int error = errno;
    const int found = themis_preload_kernel(SYS_fstat, fd, &stat) == 0;

    errno = error;
    return found && (stat.st_uid == 0 || stat.st_uid == geteuid());
}

void themis_preload_received(int fd)
{
    if (fd >= 0 && themis_preload_owns() && *themis_util_mount_point() &&
        themis_preload_description_look(fd) == THEMIS_PRELOAD_OPENED && themis_preload_is_trusted(fd))
        themis_preload_mark(fd);
}

/* --- at the start of a program -------------------------------------------------------------------------------------
 */

static void look_at(int fd)
{
    switch (themis_preload_description_look(fd)) {
    case THEMIS_PRELOAD_OPENED:
        themis_preload_mark(fd);
        break;
    case THEMIS_PRELOAD_WORKING_DIRECTORY:
        themis_preload_directory_inherit(fd);
        break;
    default:
        break;
    }
}

/* Reads the numbers of all that are open; 0: that is not possible here. */
static int list(void)
{
    char buffer[2048];
    long length;
    const int fd =
        (int)themis_preload_kernel(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

    if (fd < 0)
        return 0;
    while ((length = themis_preload_kernel(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < length;) {
            const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
            if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && atoi(entry->d_name) != fd)
                look_at(atoi(entry->d_name));
            at += entry->d_reclen;
        }
    themis_preload_kernel(SYS_close, fd);
    return length == 0;
}

void themis_preload_descriptors_inherit(void)
{
    page_make();
    themis_preload_descriptors_own();
    if (!list())
        for (int fd = 0; fd < 1024; fd++)
            look_at(fd);
}

void themis_preload_descriptors_own(void)
{
    owner = (pid_t)themis_preload_kernel(SYS_getpid);
    if (alive)
        *alive = 1;
}
