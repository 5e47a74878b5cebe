/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How two processes of one host find each other. The server listens on an abstract socket whose name has a random
 * number that clients learn in WELCOME; a client that can reach it is on the same host (network namespace). It names
 * the connection it belongs to by the server's key for it, which only the two of them know. The server answers with the
 * shared memory. Who does not speak is dropped after a while, and only so many may be silent at a time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include "net/local.h"
#include "util/clock.h"
#include "util/log.h"

#define SILENCE (5 * THEMIS_NS_PER_S)
#define PAUSE (100 * THEMIS_NS_PER_MS)
#define PATIENCE (2 * THEMIS_NS_PER_S)
enum { BACKLOG = 256, SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

/* What both say: the magic number, and the server's key of the connection. */
typedef struct hello {
    uint64_t magic;
    uint64_t key;
} hello_t;

static socklen_t name_of(uint64_t cookie, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "themis-net-%016llx", (unsigned long long)cookie);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int watch(themis_net_t *net, int fd, uint32_t events, uint64_t what)
{
    struct epoll_event event = {.events = events, .data.u64 = what};

    return epoll_ctl(net->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* --- one side of a local connection ------------------------------------------------------------------------------ */

/* Takes `fd` and `memory` over. */
static themis_net_local_t *local_new(int fd, themis_net_local_shared_t *memory, int server)
{
    themis_net_local_t *local = calloc(1, sizeof *local);
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof peer;

    if (local == NULL || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        free(local);
        close(fd);
        munmap(memory, sizeof *memory);
        return NULL;
    }
    int out = server ? THEMIS_NET_TO_CLIENT : THEMIS_NET_TO_SERVER;
    local->fd = fd;
    local->peer = (themis_net_peer_credentials_t){peer.pid, peer.uid, peer.gid};
    local->pid_fd = peer.pid > 0 ? (int)syscall(SYS_pidfd_open, peer.pid, 0) : -1;
    local->memory = memory;
    local->out.shared = &memory->rings[out];
    local->in.shared = &memory->rings[!out];
    local->mine = &memory->stages[out];
    local->theirs = &memory->stages[!out];
    /* without pid_fd the end of the process could be missed and its number be another's */
    local->may_copy = peer.uid == geteuid() && local->pid_fd >= 0;
    pthread_mutex_init(&local->out_lock, NULL);
    return local;
}

static themis_net_local_shared_t *map(int fd)
{
    void *memory = mmap(NULL, sizeof(themis_net_local_shared_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

/* Gives the connection its local side; lock held. Returns 0 if it has died meanwhile. */
static int attach(themis_net_conn_t *conn, themis_net_local_t *local)
{
    /* an event for each ring of the bell, which is not emptied every time */
    if (themis_net_conn_is_dead(conn) || conn->local != NULL ||
        watch(conn->net, local->fd, EPOLLIN | EPOLLRDHUP | EPOLLET, conn->key) != 0)
        return 0;
    if (local->pid_fd >= 0)
        watch(conn->net, local->pid_fd, EPOLLIN, conn->key | THEMIS_NET_EPOLL_PROCESS);
    conn->local = local;
    return 1;
}

/* --- server ------------------------------------------------------------------------------------------------------ */

void themis_net_local_listen(themis_net_t *net)
{
    struct sockaddr_un address;
    socklen_t length = name_of(net->cookie, &address);

    net->local_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (net->local_fd >= 0 && bind(net->local_fd, (struct sockaddr *)&address, length) == 0 &&
        listen(net->local_fd, BACKLOG) == 0 && watch(net, net->local_fd, EPOLLIN, THEMIS_NET_EPOLL_LISTENER) == 0)
        return;
    themis_warn("no local socket (%m): processes on this host are served by UCX");
    themis_net_local_unlisten(net);
}

static void drop_stranger(themis_net_stranger_t *stranger)
{
    if (stranger->fd >= 0)
        close(stranger->fd);
    stranger->fd = -1;
}

void themis_net_local_unlisten(themis_net_t *net)
{
    if (net->local_fd >= 0)
        close(net->local_fd);
    net->local_fd = -1;
    for (unsigned i = 0; i < THEMIS_NET_STRANGERS; i++)
        drop_stranger(&net->local_strangers[i]);
}

/* The listener would wake us for ever while nobody more can be taken. */
static void pause_accepting(themis_net_t *net, uint64_t how_long)
{
    epoll_ctl(net->epoll_fd, EPOLL_CTL_DEL, net->local_fd, NULL);
    net->accept_again = themis_clock_now() + how_long;
}

static int free_slot(const themis_net_t *net)
{
    for (int i = 0; i < THEMIS_NET_STRANGERS; i++)
        if (net->local_strangers[i].fd < 0)
            return i;
    return -1;
}

void themis_net_local_accept(themis_net_t *net)
{
    for (;;) {
        int slot = free_slot(net);
        if (slot < 0) {
            pause_accepting(net, PAUSE);
            return;
        }
        int fd = accept4(net->local_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                pause_accepting(net, PAUSE);
            return;
        }
        if (watch(net, fd, EPOLLIN, THEMIS_NET_EPOLL_STRANGER + (uint64_t)slot) != 0) {
            close(fd);
            continue;
        }
        net->local_strangers[slot] = (themis_net_stranger_t){fd, themis_clock_now() + SILENCE};
    }
}

static int memory_create(void)
{
    int fd = memfd_create("themis-net", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    if (ftruncate(fd, sizeof(themis_net_local_shared_t)) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    close(fd);
    return -1;
}

static int send_fd(int socket, const hello_t *hello, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec bytes = {(void *)(uintptr_t)hello, sizeof *hello};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *one = CMSG_FIRSTHDR(&message);

    one->cmsg_level = SOL_SOCKET;
    one->cmsg_type = SCM_RIGHTS;
    one->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(one), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof *hello ? 0 : -1;
}

/* Makes the shared memory and hands it to the client at `fd`, which is taken over. */
static themis_net_local_t *welcome(int fd, const hello_t *hello)
{
    int file = memory_create();
    themis_net_local_shared_t *memory = file >= 0 ? map(file) : NULL;

    if (memory == NULL || send_fd(fd, hello, file) != 0) {
        if (memory != NULL)
            munmap(memory, sizeof *memory);
        if (file >= 0)
            close(file);
        close(fd);
        return NULL;
    }
    close(file);
    return local_new(fd, memory, 1);
}

void themis_net_local_identify(themis_net_t *net, unsigned index)
{
    themis_net_stranger_t *stranger = &net->local_strangers[index];
    themis_net_conn_t *conn;
    hello_t hello;

    if (stranger->fd < 0)
        return;
    ssize_t got = recv(stranger->fd, &hello, sizeof hello, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got != sizeof hello || hello.magic != THEMIS_NET_MAGIC) {
        drop_stranger(stranger);
        return;
    }
    HASH_FIND(hh, net->conns, &hello.key, sizeof hello.key, conn);
    if (conn == NULL || !conn->server || conn->state != THEMIS_NET_GREETED || conn->local != NULL) {
        drop_stranger(stranger);
        return;
    }
    int fd = stranger->fd;
    stranger->fd = -1;
    epoll_ctl(net->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    themis_net_local_t *local = welcome(fd, &hello);
    if (local != NULL && !attach(conn, local))
        themis_net_local_free(local);
    net->locals_version++;
}

int themis_net_local_tend(themis_net_t *net)
{
    uint64_t now = themis_clock_now();
    int waiting = 0;

    if (net->local_fd < 0)
        return 0;
    for (unsigned i = 0; i < THEMIS_NET_STRANGERS; i++) {
        if (net->local_strangers[i].fd >= 0 && now > net->local_strangers[i].deadline)
            drop_stranger(&net->local_strangers[i]);
        waiting |= net->local_strangers[i].fd >= 0;
    }
    if (net->accept_again != 0 && now > net->accept_again) {
        net->accept_again = 0;
        watch(net, net->local_fd, EPOLLIN, THEMIS_NET_EPOLL_LISTENER);
    }
    return waiting || net->accept_again != 0;
}

/* --- client ------------------------------------------------------------------------------------------------------ */

static int reach(themis_net_conn_t *conn)
{
    struct sockaddr_un address;
    socklen_t length = name_of(conn->cookie, &address);
    hello_t hello = {THEMIS_NET_MAGIC, conn->peer_key};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, length) == 0 &&
        send(fd, &hello, sizeof hello, MSG_NOSIGNAL) == (ssize_t)sizeof hello)
        return fd;
    close(fd);
    return -1;
}

/* Returns the descriptor of the shared memory, -1 for an answer that is none, -2 if there is no answer yet. */
static int receive_fd(int socket, uint64_t key)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    hello_t hello = {0, 0};
    struct iovec bytes = {&hello, sizeof hello};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};
    int fd = -1;

    ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? -2 : -1;
    struct cmsghdr *one = CMSG_FIRSTHDR(&message);
    if (one != NULL && one->cmsg_level == SOL_SOCKET && one->cmsg_type == SCM_RIGHTS &&
        one->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(one), sizeof fd);
    if (got == (ssize_t)sizeof hello && hello.magic == THEMIS_NET_MAGIC && hello.key == key)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int await_memory(themis_net_conn_t *conn, int socket, uint64_t deadline)
{
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    int fd;

    while ((fd = receive_fd(socket, conn->peer_key)) == -2) {
        if (conn->state != THEMIS_NET_GREETED || themis_clock_now() > deadline)
            return -1;
        if (poll(&readable, 1, 1) == 0)
            themis_net_progress(conn->net, 0); /* the server may be this very net */
    }
    return fd;
}

/* The memory must not shrink under us: reading what is gone would be a SIGBUS. */
static themis_net_local_shared_t *map_sealed(int fd)
{
    struct stat stat;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &stat) != 0 ||
        stat.st_size < (off_t)sizeof(themis_net_local_shared_t))
        return NULL;
    return map(fd);
}

int themis_net_local_connect(themis_net_conn_t *conn, uint64_t deadline)
{
    uint64_t soon = themis_clock_now() + PATIENCE;
    int socket = conn->net->options.local_copy && conn->cookie != 0 ? reach(conn) : -1;

    if (socket < 0)
        return 0;
    int fd = await_memory(conn, socket, deadline < soon ? deadline : soon);
    themis_net_local_shared_t *memory = fd >= 0 ? map_sealed(fd) : NULL;
    if (fd >= 0)
        close(fd);
    if (memory == NULL) {
        close(socket);
        return 0;
    }
    themis_net_local_t *local = local_new(socket, memory, 0);
    if (local == NULL)
        return 0;
    themis_net_lock(conn->net);
    int attached = attach(conn, local);
    if (!attached)
        themis_net_local_free(local);
    conn->net->locals_version++;
    themis_net_unlock(conn->net);
    return attached;
}

themis_status_t themis_net_conn_credentials(const themis_net_conn_t *conn, themis_net_peer_credentials_t *credentials)
{
    if (conn->local == NULL)
        return THEMIS_UNSUPPORTED;
    *credentials = conn->local->peer;
    return THEMIS_OK;
}
