/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "net/local/listener.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>
#include "net/address.h"
#include "net/event.h"
#include "net/local/channel.h"
#include "net/local/hello.h"
#include "net/local/local.h"
#include "net/local/passing.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/status.h"

#define MAX_SILENCE (5 * THEMIS_NS_PER_S)
#define ACCEPT_PAUSE (100 * THEMIS_NS_PER_MS)
#define WARN_INTERVAL (10 * THEMIS_NS_PER_S)
/* MAX_ACCEPTED: at a time, before those that were accepted are looked at. */
enum { BACKLOG = 256, MAX_ACCEPTED = 64, SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

/* epoll_event.data.u64: the listening socket; after it, the accepted ones by their index. */
enum { EPOLL_LISTENER = THEMIS_NET_EPOLL_LOCAL, EPOLL_SILENT };
_Static_assert(EPOLL_SILENT + THEMIS_NET_MAX_SILENT <= THEMIS_NET_EPOLL_KEYS, "events of their own");

void themis_net_listener_init(themis_net_listener_t *listener)
{
    listener->fd = -1;
    themis_net_silents_init(&listener->silents, listener->sockets, THEMIS_NET_MAX_SILENT,
                            THEMIS_NET_MAX_SILENT_OF_USER);
}

void themis_net_listener_close(themis_net_listener_t *listener)
{
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
    themis_net_silents_close(&listener->silents);
}

themis_status_t themis_net_listener_open(themis_net_t *net)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    uint64_t cookie = 0;

    net->local->listener.fd = fd;
    if (fd >= 0 && getrandom(&cookie, sizeof cookie, 0) == (ssize_t)sizeof cookie &&
        bind(fd, (struct sockaddr *)&address, themis_net_hello_address(cookie, &address)) == 0 &&
        listen(fd, BACKLOG) == 0 && themis_net_watch(net, fd, EPOLLIN, EPOLL_LISTENER) == 0) {
        net->cookie = cookie;
        return THEMIS_OK;
    }
    themis_status_t status = themis_util_status_from_errno(errno);
    themis_error("cannot make the local socket, by which processes on this host are served: %m");
    themis_net_listener_close(&net->local->listener);
    return status;
}

/* The listening socket would wake us for ever while no more can be accepted. */
static void accept_pause(themis_net_t *net)
{
    themis_net_unwatch(net, net->local->listener.fd);
    net->local->listener.accept_again = themis_util_clock_now() + ACCEPT_PAUSE;
}

static void accept_resume(themis_net_t *net)
{
    if (net->local->listener.accept_again == 0)
        return;
    net->local->listener.accept_again = 0;
    themis_net_watch(net, net->local->listener.fd, EPOLLIN, EPOLL_LISTENER);
}

/* Takes the place of another one if there are too many. */
static void accept_one(themis_net_t *net, int fd)
{
    themis_net_listener_t *listener = &net->local->listener;
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        close(fd);
        return;
    }
    int index = themis_net_silents_place(&listener->silents, peer.uid);
    if (index >= 0 && themis_net_watch(net, fd, EPOLLIN, EPOLL_SILENT + (uint64_t)index) == 0)
        listener->sockets[index] = (themis_net_silent_t){fd, 0, peer.uid, themis_util_clock_now()};
    else
        close(fd);
}

/* Accepts without a pause, also where others have to give way for it, so that no user fills the socket's queue, which
 * all have in common. */
static void accept_all(themis_net_t *net)
{
    for (int i = 0; i < MAX_ACCEPTED; i++) {
        int possible = themis_net_conn_is_possible(net);
        int fd = possible ? accept4(net->local->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
        if (fd >= 0) {
            accept_one(net, fd);
            continue;
        }
        if (!possible || (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED))
            accept_pause(net);
        return;
    }
}

/* --- the hello --------------------------------------------------------------------------------------------------- */

static int memory_create(void)
{
    int fd = memfd_create("themis-net", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    if (ftruncate(fd, sizeof(themis_net_channel_shared_t)) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Makes the shared memory and hands it to the client at `fd`, which is taken over. */
static themis_net_channel_t *channel_create(int fd, const themis_net_hello_t *hello)
{
    int memory = memory_create();

    if (memory < 0) {
        close(fd);
        return NULL;
    }
    themis_net_channel_t *channel = themis_net_channel_new(fd, memory, 1);
    if (channel != NULL && themis_net_passing_send(fd, hello, sizeof *hello, memory) != 0) {
        themis_net_channel_free(channel);
        channel = NULL;
    }
    close(memory);
    return channel;
}

/* Does the client mean this server? Its own port at any address of this host, if it listens at all of them: nobody else
 * can listen there. */
static int is_meant(const themis_net_t *net, const themis_net_hello_t *hello)
{
    const struct sockaddr_in *own = &net->address;
    struct sockaddr_in meant = {.sin_family = AF_INET, .sin_port = hello->port, .sin_addr.s_addr = hello->address};

    if (meant.sin_port != own->sin_port)
        return 0;
    if (own->sin_addr.s_addr == INADDR_ANY)
        return themis_net_address_is_own(&meant);
    return meant.sin_addr.s_addr == own->sin_addr.s_addr;
}

/* Not for each: they could be many. */
static void warn_of_misdirected(themis_net_listener_t *listener, uid_t uid, const themis_net_hello_t *hello)
{
    uint64_t now = themis_util_clock_now();
    struct in_addr meant = {.s_addr = hello->address};
    char text[INET_ADDRSTRLEN];

    if (now < listener->warn_again)
        return;
    listener->warn_again = now + WARN_INTERVAL;
    themis_warn("refused a process of user %u on this host: it connects to %s:%u, but what listens there has named the "
                "local socket of this server",
                (unsigned)uid, inet_ntop(AF_INET, &meant, text, sizeof text), ntohs(hello->port));
}

/* A connection of its own for the client at `fd`, which is taken over. Lock held. */
static void open_conn(themis_net_t *net, int fd, const themis_net_hello_t *hello)
{
    themis_net_channel_t *channel = channel_create(fd, hello);
    themis_net_conn_t *conn = channel != NULL ? themis_net_conn_new(net, 1) : NULL;

    if (conn == NULL) {
        themis_net_channel_free(channel);
        return;
    }
    snprintf(conn->peer, sizeof conn->peer, "process %d of user %u", (int)channel->peer.pid,
             (unsigned)channel->peer.uid);
    if (themis_net_channel_attach(conn, channel))
        themis_net_event_opened(conn);
    else
        themis_net_conn_lose(conn, THEMIS_NO_MEMORY);
}

static void on_hello(themis_net_t *net, themis_net_silent_t *silent)
{
    themis_net_hello_t hello;

    if (silent->fd < 0)
        return;
    ssize_t got = recv(silent->fd, &hello, sizeof hello, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    int sound = got == sizeof hello && hello.magic == THEMIS_NET_MAGIC && hello.version == THEMIS_NET_WIRE;
    int meant = sound && is_meant(net, &hello); /* may ask the system: the lock is not held */
    if (sound && !meant)
        warn_of_misdirected(&net->local->listener, (uid_t)silent->who, &hello);
    themis_net_lock(net);
    if (meant) {
        int fd = silent->fd;
        silent->fd = -1;
        themis_net_unwatch(net, fd);
        open_conn(net, fd, &hello);
    } else {
        themis_net_silent_drop(silent);
    }
    accept_resume(net); /* there is room now */
    themis_net_unlock(net);
}

void themis_net_listener_on_event(themis_net_t *net, uint64_t what)
{
    if (what == EPOLL_LISTENER) {
        themis_net_lock(net);
        accept_all(net);
        themis_net_unlock(net);
    } else {
        on_hello(net, &net->local->listener.sockets[what - EPOLL_SILENT]);
    }
}

int themis_net_listener_expire(themis_net_t *net)
{
    themis_net_listener_t *listener = &net->local->listener;
    uint64_t now = themis_util_clock_now();
    unsigned waiting = 0;

    if (listener->fd < 0)
        return 0;
    if (now > MAX_SILENCE)
        waiting = themis_net_silents_expire(&listener->silents, now - MAX_SILENCE);
    if (now > listener->accept_again)
        accept_resume(net);
    return waiting > 0 || listener->accept_again != 0;
}
