/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/core.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "util/log.h"
#include "util/status.h"

void themis_net_lock(themis_net_t *net)
{
    pthread_mutex_lock(&net->lock);
}

static void signal_wake(themis_net_t *net)
{
    uint64_t one = 1;
    int error = errno;

    ssize_t written = write(net->wake_fd, &one, sizeof one);
    (void)written; /* fails only when a wake is pending already */
    errno = error;
}

void themis_net_unlock(themis_net_t *net)
{
    int kick = net->kick && atomic_load(&net->sleeping);

    net->kick = 0;
    pthread_mutex_unlock(&net->lock);
    if (kick)
        signal_wake(net);
}

void themis_net_wake(themis_net_t *net)
{
    atomic_store(&net->wake_pending, 1);
    if (atomic_load(&net->sleeping))
        signal_wake(net);
}

void themis_net_drain_wake(themis_net_t *net)
{
    uint64_t count;
    ssize_t got = read(net->wake_fd, &count, sizeof count);

    (void)got;
}

int themis_net_watch(themis_net_t *net, int fd, uint32_t events, uint64_t what)
{
    struct epoll_event event = {.events = events, .data.u64 = what};

    return epoll_ctl(net->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

void themis_net_unwatch(themis_net_t *net, int fd)
{
    if (fd >= 0)
        epoll_ctl(net->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

themis_status_t themis_net_open_events(themis_net_t *net)
{
    net->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    net->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (net->epoll_fd >= 0 && net->wake_fd >= 0 &&
        themis_net_watch(net, net->wake_fd, EPOLLIN, THEMIS_NET_EPOLL_WAKE) == 0)
        return THEMIS_OK;
    themis_error("cannot make an event queue: %m");
    return themis_util_status_from_errno(errno);
}

void themis_net_close_events(themis_net_t *net)
{
    if (net->epoll_fd >= 0)
        close(net->epoll_fd);
    if (net->wake_fd >= 0)
        close(net->wake_fd);
}
