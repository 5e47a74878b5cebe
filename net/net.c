/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and ending a net. */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>
#include "net/local/channel.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/status.h"

#define DEFAULT_SPIN (20 * THEMIS_NS_PER_US)
#define FAREWELL (200 * THEMIS_NS_PER_MS) /* for peers to take what was sent to them last */

#define WARN_PAUSE (10 * THEMIS_NS_PER_S)

enum { SCRATCH_BYTES = 64 << 10, SPARE_DESCRIPTORS = 32 };

static int watch(themis_net_t *net, int fd, uint64_t what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = what};

    return epoll_ctl(net->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static themis_status_t open_fds(themis_net_t *net)
{
    net->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    net->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (net->epoll_fd < 0 || net->wake_fd < 0 || watch(net, net->wake_fd, THEMIS_NET_EPOLL_BELL) != 0 ||
        watch(net, net->ucx_fd, THEMIS_NET_EPOLL_UCX) != 0) {
        themis_error("cannot make an event queue: %m");
        return themis_util_status_from_errno(errno);
    }
    return THEMIS_OK;
}

static void sync_create(themis_net_t *net)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&net->lock, NULL);
    pthread_mutex_init(&net->role_lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&net->role_free, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

themis_status_t themis_net_create(const themis_net_options_t *options, const themis_net_handlers_t *handlers, void *arg,
                                  themis_net_t **net)
{
    themis_net_t *new = calloc(1, sizeof *new);

    if (new == NULL)
        return THEMIS_NO_MEMORY;
    new->options = options != NULL ? *options : (themis_net_options_t){DEFAULT_SPIN, 1, 1};
    new->handlers = *handlers;
    new->arg = arg;
    new->epoll_fd = new->wake_fd = new->local_fd = -1;
    for (int i = 0; i < THEMIS_NET_STRANGERS; i++)
        new->local_strangers[i].fd = -1;
    sync_create(new);
    new->scratch = malloc(SCRATCH_BYTES);
    themis_status_t status = new->scratch != NULL &&getrandom(&new->cookie, sizeof new->cookie, 0) > 0
                                 ? themis_net_worker_create(new)
                                 : THEMIS_NO_MEMORY;
    if (status == THEMIS_OK)
        status = open_fds(new);
    if (status != THEMIS_OK) {
        themis_net_destroy(new);
        return status;
    }
    *net = new;
    return THEMIS_OK;
}

themis_status_t themis_net_listen(themis_net_t *net, const char *host, uint16_t port, uint16_t *bound)
{
    themis_net_lock(net);
    themis_status_t status = net->listener != NULL ? THEMIS_INVALID : themis_net_worker_listen(net, host, port);
    if (status == THEMIS_OK && net->options.local_copy)
        status = themis_net_local_listen(net);
    if (status == THEMIS_OK && bound != NULL)
        *bound = ntohs(net->address.sin_port);
    themis_net_unlock(net);
    return status;
}

int themis_net_has_descriptors(themis_net_t *net)
{
    uint64_t now = themis_util_clock_now();
    struct rlimit limit = {0};
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest one that is free */

    if (fd >= 0)
        close(fd);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || (fd >= 0 && (rlim_t)fd + SPARE_DESCRIPTORS < limit.rlim_cur))
        return 1;
    if (now >= net->warn_again)
        themis_warn("new connections are refused: this process may have %llu open files",
                    (unsigned long long)limit.rlim_cur);
    net->warn_again = now + WARN_PAUSE;
    return 0;
}

int themis_net_is_own_address(const struct sockaddr *address)
{
    in_addr_t wanted = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
    struct ifaddrs *own;
    int found = 0;

    if (address->sa_family != AF_INET || ntohl(wanted) >> 24 == IN_LOOPBACKNET || getifaddrs(&own) != 0)
        return 1;
    for (const struct ifaddrs *at = own; at != NULL && !found; at = at->ifa_next)
        found = at->ifa_addr != NULL && at->ifa_addr->sa_family == AF_INET &&
                ((const struct sockaddr_in *)at->ifa_addr)->sin_addr.s_addr == wanted;
    freeifaddrs(own);
    return found;
}

static void close_all(themis_net_t *net)
{
    themis_net_conn_t *conn, *next;

    HASH_ITER(hh, net->conns, conn, next)
    {
        themis_net_conn_close(conn);
    }
}

/* Ends connections and waits for their endpoints, but not for long: a peer may be stopped. */
static void farewell(themis_net_t *net)
{
    uint64_t until = themis_util_clock_now() + FAREWELL;

    close_all(net);
    do {
        themis_net_lock(net);
        themis_net_conns_tend(net);
        while (ucp_worker_progress(net->worker) > 0)
            ;
        while (net->events != NULL) {
            themis_net_event_t *event = net->events;
            DL_DELETE(net->events, event);
            if (event->type == THEMIS_NET_EVENT_MOVED)
                event->moved(event->arg, event->status);
            themis_net_event_free(event);
        }
        unsigned closing = net->closing;
        themis_net_unlock(net);
        if (closing == 0)
            break;
        usleep(100);
    } while (themis_util_clock_now() < until);
}

void themis_net_destroy(themis_net_t *net)
{
    if (net == NULL)
        return;
    if (net->worker != NULL)
        farewell(net);
    themis_net_local_unlisten(net);
    for (size_t i = 0; i < net->polled_count; i++)
        themis_net_conn_unref(net->polled[i]);
    free(net->polled);
    free(net->scratch);
    themis_net_worker_destroy(net);
    if (net->epoll_fd >= 0)
        close(net->epoll_fd);
    if (net->wake_fd >= 0)
        close(net->wake_fd);
    pthread_cond_destroy(&net->role_free);
    pthread_mutex_destroy(&net->role_lock);
    pthread_mutex_destroy(&net->lock);
    free(net);
}
