/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "net/local/channel.h"
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "net/local/passing.h"

enum { MAX_WAKEUPS = 128 };

themis_net_channel_t *themis_net_channel_new(int fd, int memory, int server)
{
    themis_net_channel_t *channel = calloc(1, sizeof *channel);
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof peer;
    void *mapped = mmap(NULL, sizeof *channel->memory, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);

    if (channel == NULL || mapped == MAP_FAILED || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        if (mapped != MAP_FAILED)
            munmap(mapped, sizeof *channel->memory);
        free(channel);
        close(fd);
        return NULL;
    }
    int out = server ? THEMIS_NET_TO_CLIENT : THEMIS_NET_TO_SERVER;
    channel->fd = fd;
    channel->peer = (themis_net_peer_credentials_t){peer.pid, peer.uid, peer.gid, 1, 0};
    channel->pid_fd = peer.pid > 0 ? (int)syscall(SYS_pidfd_open, peer.pid, 0) : -1;
    channel->memory = mapped;
    channel->receives_descriptors = !server;
    channel->delivered = -1;
    channel->out.shared = &channel->memory->rings[out];
    channel->in.shared = &channel->memory->rings[!out];
    channel->mine = &channel->memory->staging[out];
    channel->theirs = &channel->memory->staging[!out];
    /* without pid_fd the end of the process could be missed and its number be another's */
    channel->may_copy = peer.uid == geteuid() && channel->pid_fd >= 0;
    pthread_mutex_init(&channel->out_lock, NULL);
    return channel;
}

int themis_net_channel_attach(themis_net_conn_t *conn, themis_net_channel_t *channel)
{
    themis_net_t *net = conn->net;

    /* edge-triggered: an event for each wakeup, as the socket is not emptied every time */
    if (themis_net_conn_is_dead(conn) ||
        themis_net_watch(net, channel->fd, EPOLLIN | EPOLLRDHUP | EPOLLET, conn->key) != 0) {
        themis_net_channel_free(channel);
        return 0;
    }
    if (channel->pid_fd >= 0)
        themis_net_watch(net, channel->pid_fd, EPOLLIN, conn->key | THEMIS_NET_EPOLL_PROCESS);
    conn->channel = channel;
    conn->credentials = &channel->peer;
    conn->transport = net->transports[THEMIS_NET_LOCAL];
    net->networked--;
    net->conns_version++;
    return 1;
}

void themis_net_channel_wake_peer(const themis_net_channel_t *channel)
{
    ssize_t sent = send(channel->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);

    (void)sent; /* full of wakeups that it has not seen yet, or it is gone, which the socket will tell */
}

/* Reads wakeups up to the next descriptor, for which there is room; 0 when nothing is left. A descriptor that was lost
 * has a place, too, so that the others belong to their messages. */
static int socket_receive(themis_net_channel_t *channel)
{
    char bytes[2 * MAX_WAKEUPS];
    int fd;

    if (themis_net_passing_receive(channel->fd, bytes, sizeof bytes, &fd) <= 0)
        return 0;
    if (fd >= 0 || fd == THEMIS_NET_PASSING_LOST)
        channel->descriptors[channel->descriptor_count++] = fd >= 0 ? fd : -1;
    return 1;
}

/* By the progressing thread only, who looks again afterwards: a byte may stand for something not seen yet. */
static void empty_socket(themis_net_channel_t *channel)
{
    char bytes[2 * MAX_WAKEUPS];
    int left = 1;

    if (channel->receives_descriptors) {
        while (channel->descriptor_count < THEMIS_NET_MAX_DESCRIPTORS && (left = socket_receive(channel)))
            ;
        if (!left) /* else the rest waits until messages have taken descriptors */
            channel->wakeups = 0;
        return;
    }
    channel->wakeups = 0;
    ssize_t got = recv(channel->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    (void)got; /* its end is an event of its own, and the kernel drops descriptors that nobody receives */
}

int themis_net_channel_receive_descriptor(themis_net_channel_t *channel)
{
    while (channel->descriptor_count == 0 && socket_receive(channel))
        ;
    if (channel->descriptor_count == 0)
        return -1;
    int fd = channel->descriptors[0];
    channel->descriptor_count--;
    memmove(channel->descriptors, channel->descriptors + 1, channel->descriptor_count * sizeof fd);
    return fd;
}

int themis_net_channel_arm(themis_net_conn_t *conn)
{
    themis_net_channel_t *channel = conn->channel;

    if (channel->wakeups++ >= MAX_WAKEUPS) {
        empty_socket(channel);
        return 0;
    }
    atomic_store(&channel->in.shared->reader_sleeps, 1);
    if (conn->announced && channel->hung_up)
        return 0;
    return atomic_load(&channel->in.shared->written) == channel->in.own;
}

void themis_net_channel_disarm(themis_net_channel_t *channel)
{
    atomic_store_explicit(&channel->in.shared->reader_sleeps, 0, memory_order_relaxed);
}

/* Its descriptors would wake us for ever otherwise. */
static void channel_unwatch(themis_net_conn_t *conn)
{
    conn->channel->may_copy = 0;
    themis_net_unwatch(conn->net, conn->channel->fd);
    themis_net_unwatch(conn->net, conn->channel->pid_fd);
}

void themis_net_channel_hang_up(themis_net_conn_t *conn)
{
    conn->channel->hung_up = 1;
    conn->net->kick = 1;
    channel_unwatch(conn);
}

void themis_net_channel_close(themis_net_conn_t *conn)
{
    channel_unwatch(conn);
    shutdown(conn->channel->fd, SHUT_RDWR); /* closed with the last reference: others may be sending a wakeup */
}

void themis_net_channel_free(themis_net_channel_t *channel)
{
    if (channel == NULL)
        return;
    if (channel->fd >= 0)
        close(channel->fd);
    if (channel->pid_fd >= 0)
        close(channel->pid_fd);
    if (channel->memory != NULL)
        munmap(channel->memory, sizeof *channel->memory);
    pthread_mutex_destroy(&channel->out_lock);
    free(channel->waiting);
    while (channel->descriptor_count > 0)
        if (channel->descriptors[--channel->descriptor_count] >= 0)
            close(channel->descriptors[channel->descriptor_count]);
    free(channel->message);
    free(channel);
}
