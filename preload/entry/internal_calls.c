/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of the core itself: sockets, events, memory. Programs put what they want on the low numbers (a shell on 3
 * to 9), and close what they do not know. So those of the core get high numbers, a program cannot close them, and a
 * child of a fork, which has its own session, does.
 */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include "preload/entry/entry.h"

uint8_t themis_preload_internals[THEMIS_PRELOAD_DESCRIPTORS / 8];

static void note(int fd)
{
    if ((unsigned)fd < THEMIS_PRELOAD_DESCRIPTORS)
        __atomic_fetch_or(&themis_preload_internals[fd / 8], (uint8_t)(1u << fd % 8), __ATOMIC_RELAXED);
}

void themis_preload_internal_forget(int fd)
{
    if ((unsigned)fd < THEMIS_PRELOAD_DESCRIPTORS)
        __atomic_fetch_and(&themis_preload_internals[fd / 8], (uint8_t) ~(1u << fd % 8), __ATOMIC_RELAXED);
}

void themis_preload_internals_close(void)
{
    for (int i = 0; i < THEMIS_PRELOAD_DESCRIPTORS / 8; i++)
        for (int bit = 0; themis_preload_internals[i] && bit < 8; bit++)
            if (themis_preload_internals[i] >> bit & 1) {
                themis_preload_internal_forget(i * 8 + bit);
                REAL(close)(i * 8 + bit);
            }
}

int themis_preload_internal(int fd)
{
    const int error = errno;
    int high = -1;

    if (fd < 0)
        return fd;
    if (!themis_preload_inside)
        return themis_preload_fresh(fd);
    for (int least = 768; least >= 192 && high < 0; least /= 2)
        high = REAL(fcntl)(fd, F_DUPFD_CLOEXEC, least);
    if (high >= 0) {
        REAL(close)(fd);
        fd = high;
    }
    themis_preload_unmark(fd);
    note(fd);
    errno = error;
    return fd;
}

EXPORTED int socket(int domain, int type, int protocol)
{
    return themis_preload_internal(REAL(socket)(domain, type, protocol));
}

EXPORTED int socketpair(int domain, int type, int protocol, int pair[2])
{
    const int result = REAL(socketpair)(domain, type, protocol, pair);

    for (int i = 0; i < 2 && result == 0; i++)
        pair[i] = themis_preload_internal(pair[i]);
    return result;
}

EXPORTED int pipe2(int pair[2], int flags)
{
    const int result = REAL(pipe2)(pair, flags);

    for (int i = 0; i < 2 && result == 0; i++)
        pair[i] = themis_preload_internal(pair[i]);
    return result;
}

EXPORTED int pipe(int pair[2])
{
    return pipe2(pair, 0);
}

EXPORTED int epoll_create1(int flags)
{
    return themis_preload_internal(REAL(epoll_create1)(flags));
}

EXPORTED int epoll_create(int size)
{
    return themis_preload_internal(REAL(epoll_create)(size));
}

EXPORTED int eventfd(unsigned value, int flags)
{
    return themis_preload_internal(REAL(eventfd)(value, flags));
}

EXPORTED int timerfd_create(int clock, int flags)
{
    return themis_preload_internal(REAL(timerfd_create)(clock, flags));
}

EXPORTED int memfd_create(const char *name, unsigned flags)
{
    return themis_preload_internal(REAL(memfd_create)(name, flags));
}

EXPORTED int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
    return themis_preload_internal(REAL(accept4)(fd, address, length, flags));
}

EXPORTED int accept(int fd, struct sockaddr *address, socklen_t *length)
{
    return themis_preload_internal(REAL(accept)(fd, address, length));
}
