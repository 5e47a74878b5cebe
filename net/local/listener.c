/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How two processes of one host find each other. The server listens on an abstract socket whose name has a random
 * number that clients learn in WELCOME; a client that can reach it is on the same host (network namespace). The server
 * answers with the shared memory, and that is a connection of its own: it has nothing to do with the endpoint that
 * WELCOME came by, so nobody who stands between the two there can speak for the client here.
 *
 * Whoever says WELCOME may name the socket of another server. So the client says which address it means, and a server
 * that does not listen there refuses it.
 *
 * Who does not speak is dropped after a while, and only so many may be silent at a time.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
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
#include "net/local/channel.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/status.h"

#define SILENCE (5 * THEMIS_NS_PER_S)
#define PAUSE (100 * THEMIS_NS_PER_MS)
#define PATIENCE (2 * THEMIS_NS_PER_S)
#define WARN_PAUSE (10 * THEMIS_NS_PER_S)
enum { BACKLOG = 256, SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

/* What the client says, and the server says again. */
typedef struct hello {
    uint64_t magic;
    uint32_t version; /* THEMIS_NET_WIRE */
    uint32_t address; /* IPv4 and port that the client means, as in sockaddr_in */
    uint16_t port;
    uint16_t unused[3];
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

/* Gives the connection its local side, which is taken over; lock held. Returns 0 if it has died meanwhile. */
static int attach(themis_net_conn_t *conn, themis_net_local_t *local)
{
    /* an event for each ring of the bell, which is not emptied every time */
    if (themis_net_conn_is_dead(conn) || watch(conn->net, local->fd, EPOLLIN | EPOLLRDHUP | EPOLLET, conn->key) != 0) {
        themis_net_local_free(local);
        return 0;
    }
    if (local->pid_fd >= 0)
        watch(conn->net, local->pid_fd, EPOLLIN, conn->key | THEMIS_NET_EPOLL_PROCESS);
    conn->local = local;
    conn->net->locals++;
    conn->net->locals_version++;
    return 1;
}

/* --- server ------------------------------------------------------------------------------------------------------ */

themis_status_t themis_net_local_listen(themis_net_t *net)
{
    struct sockaddr_un address;
    socklen_t length = name_of(net->cookie, &address);

    net->local_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (net->local_fd >= 0 && bind(net->local_fd, (struct sockaddr *)&address, length) == 0 &&
        listen(net->local_fd, BACKLOG) == 0 && watch(net, net->local_fd, EPOLLIN, THEMIS_NET_EPOLL_LISTENER) == 0)
        return THEMIS_OK;
    themis_status_t status = themis_util_status_from_errno(errno);
    themis_error("cannot make the local socket, by which processes on this host are served: %m");
    themis_net_local_unlisten(net);
    return status;
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
    net->accept_again = themis_util_clock_now() + how_long;
}

static void resume_accepting(themis_net_t *net)
{
    if (net->accept_again == 0)
        return;
    net->accept_again = 0;
    watch(net, net->local_fd, EPOLLIN, THEMIS_NET_EPOLL_LISTENER);
}

static unsigned count_of_user(const themis_net_t *net, uid_t uid)
{
    unsigned count = 0;

    for (unsigned i = 0; i < THEMIS_NET_STRANGERS; i++)
        count += net->local_strangers[i].uid == uid;
    return count;
}

/* When all slots are taken, the oldest of the user that has most of them gives way, but nobody who has just come. */
static int oldest_of_busiest_user(const themis_net_t *net, uint64_t now)
{
    unsigned most = 0;
    int found = -1;

    for (int i = 0; i < THEMIS_NET_STRANGERS; i++) {
        const themis_net_stranger_t *stranger = &net->local_strangers[i];
        unsigned count = count_of_user(net, stranger->uid);
        if (count > most || (count == most && stranger->since < net->local_strangers[found].since)) {
            most = count;
            found = i;
        }
    }
    return net->local_strangers[found].since + PAUSE < now ? found : -1;
}

/* A slot for one more, or -1. */
static int free_slot(themis_net_t *net, uint64_t now)
{
    for (int i = 0; i < THEMIS_NET_STRANGERS; i++)
        if (net->local_strangers[i].fd < 0)
            return i;
    int slot = oldest_of_busiest_user(net, now);
    if (slot >= 0)
        drop_stranger(&net->local_strangers[slot]);
    return slot;
}

void themis_net_local_accept(themis_net_t *net)
{
    for (;;) {
        uint64_t now = themis_util_clock_now();
        int slot = themis_net_has_descriptors(net) ? free_slot(net, now) : -1;
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
        struct ucred peer;
        socklen_t size = sizeof peer;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
            watch(net, fd, EPOLLIN, THEMIS_NET_EPOLL_STRANGER + (uint64_t)slot) != 0) {
            close(fd);
            continue;
        }
        net->local_strangers[slot] = (themis_net_stranger_t){fd, peer.uid, now};
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

/* Does the client mean this server? Its own port at whatever address of this host, where it listens at all of them:
 * nobody else can listen there. */
static int is_meant(const themis_net_t *net, const hello_t *hello)
{
    const struct sockaddr_in *own = &net->address;
    struct sockaddr_in meant = {.sin_family = AF_INET, .sin_port = hello->port, .sin_addr.s_addr = hello->address};

    if (meant.sin_port != own->sin_port)
        return 0;
    if (own->sin_addr.s_addr == INADDR_ANY)
        return themis_net_is_own_address((struct sockaddr *)&meant);
    return meant.sin_addr.s_addr == own->sin_addr.s_addr;
}

/* Not for each: they could be many. */
static void tell_of_stray(themis_net_t *net, const themis_net_stranger_t *stranger, const hello_t *hello)
{
    uint64_t now = themis_util_clock_now();
    struct in_addr meant = {.s_addr = hello->address};
    char text[INET_ADDRSTRLEN];

    if (now < net->tell_again)
        return;
    net->tell_again = now + WARN_PAUSE;
    themis_warn("a process of user %u on this host is refused: it wants the server at %s:%u, and whoever listens there "
                "has sent it here",
                (unsigned)stranger->uid, inet_ntop(AF_INET, &meant, text, sizeof text), ntohs(hello->port));
}

/* A connection of its own for the client at `fd`, which is taken over. */
static void open_local(themis_net_t *net, int fd, const hello_t *hello)
{
    themis_net_local_t *local = welcome(fd, hello);
    themis_net_conn_t *conn = local != NULL ? themis_net_conn_new(net, 1) : NULL;

    if (conn == NULL) {
        themis_net_local_free(local);
        return;
    }
    snprintf(conn->peer, sizeof conn->peer, "process %d of user %u", (int)local->peer.pid, (unsigned)local->peer.uid);
    if (attach(conn, local))
        themis_net_conn_opened(conn);
    else
        themis_net_conn_lose(conn, THEMIS_NO_MEMORY);
}

void themis_net_local_identify(themis_net_t *net, unsigned index)
{
    themis_net_stranger_t *stranger = &net->local_strangers[index];
    hello_t hello;

    if (stranger->fd < 0)
        return;
    ssize_t got = recv(stranger->fd, &hello, sizeof hello, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    int sound = got == sizeof hello && hello.magic == THEMIS_NET_MAGIC && hello.version == THEMIS_NET_WIRE;
    int meant = sound && is_meant(net, &hello);
    if (sound && !meant)
        tell_of_stray(net, stranger, &hello);
    if (meant) {
        int fd = stranger->fd;
        stranger->fd = -1;
        epoll_ctl(net->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        open_local(net, fd, &hello);
    } else {
        drop_stranger(stranger);
    }
    resume_accepting(net); /* there is a slot now */
}

int themis_net_local_tend(themis_net_t *net)
{
    uint64_t now = themis_util_clock_now();
    int waiting = 0;

    if (net->local_fd < 0)
        return 0;
    for (unsigned i = 0; i < THEMIS_NET_STRANGERS; i++) {
        if (net->local_strangers[i].fd >= 0 && now > net->local_strangers[i].since + SILENCE)
            drop_stranger(&net->local_strangers[i]);
        waiting |= net->local_strangers[i].fd >= 0;
    }
    if (now > net->accept_again)
        resume_accepting(net);
    return waiting || net->accept_again != 0;
}

/* --- client ------------------------------------------------------------------------------------------------------ */

static int is_over(const themis_net_conn_t *conn, uint64_t deadline)
{
    return conn->state != THEMIS_NET_GREETED || themis_util_clock_now() > deadline;
}

/* Connects `fd` to the server's socket; the server may have many that wait. */
static themis_status_t reach(themis_net_conn_t *conn, int fd, uint64_t deadline)
{
    struct sockaddr_un address;
    socklen_t length = name_of(conn->cookie, &address);

    while (connect(fd, (struct sockaddr *)&address, length) != 0) {
        if (errno == ECONNREFUSED)
            return THEMIS_UNSUPPORTED; /* there is none of that name on this host */
        if (errno != EAGAIN && errno != EINTR)
            return themis_util_status_from_errno(errno);
        if (is_over(conn, deadline))
            return THEMIS_TIMED_OUT;
        poll(NULL, 0, 1);
        themis_net_progress(conn->net, 0);
    }
    return THEMIS_OK;
}

/* The descriptor that came with a message, -1 if there is none; any others are closed. */
static int only_fd(struct msghdr *message)
{
    int fd = -1;

    for (struct cmsghdr *one = CMSG_FIRSTHDR(message); one != NULL; one = CMSG_NXTHDR(message, one)) {
        size_t bytes = one->cmsg_len - CMSG_LEN(0);
        if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof fd <= bytes; at += sizeof fd) {
            if (fd >= 0)
                close(fd);
            memcpy(&fd, CMSG_DATA(one) + at, sizeof fd);
        }
    }
    return fd;
}

/* THEMIS_IN_PROGRESS: there is no answer yet. */
static themis_status_t receive_fd(int socket, const hello_t *expected, int *memory)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    hello_t hello = {.magic = 0};
    struct iovec bytes = {&hello, sizeof hello};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};

    ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return THEMIS_IN_PROGRESS;
    if (got <= 0)
        return THEMIS_REFUSED;
    int fd = only_fd(&message);
    if (fd >= 0 && got == (ssize_t)sizeof hello && memcmp(&hello, expected, sizeof hello) == 0) {
        *memory = fd;
        return THEMIS_OK;
    }
    if (fd >= 0)
        close(fd);
    return THEMIS_PROTOCOL;
}

static themis_status_t ask_for_memory(themis_net_conn_t *conn, int socket, uint64_t deadline, int *memory)
{
    hello_t hello = {.magic = THEMIS_NET_MAGIC,
                     .version = THEMIS_NET_WIRE,
                     .address = conn->address.sin_addr.s_addr == INADDR_ANY ? htonl(INADDR_LOOPBACK)
                                                                            : conn->address.sin_addr.s_addr,
                     .port = conn->address.sin_port};
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    themis_status_t status;

    if (send(socket, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello)
        return THEMIS_REFUSED;
    while ((status = receive_fd(socket, &hello, memory)) == THEMIS_IN_PROGRESS) {
        if (is_over(conn, deadline))
            return THEMIS_TIMED_OUT;
        if (poll(&readable, 1, 1) == 0)
            themis_net_progress(conn->net, 0); /* the server may be this very net */
    }
    return status;
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

/* `fd`, which is taken over, becomes the connection's. */
static themis_status_t connect_by(themis_net_conn_t *conn, int fd, uint64_t deadline)
{
    int file = -1;
    themis_status_t status = reach(conn, fd, deadline);

    if (status == THEMIS_OK)
        status = ask_for_memory(conn, fd, deadline, &file);
    themis_net_local_shared_t *memory = status == THEMIS_OK ? map_sealed(file) : NULL;
    if (file >= 0)
        close(file);
    if (memory == NULL) {
        close(fd);
        return status == THEMIS_OK ? THEMIS_PROTOCOL : status;
    }
    themis_net_local_t *local = local_new(fd, memory, 0);
    if (local == NULL)
        return THEMIS_NO_MEMORY;
    themis_net_lock(conn->net);
    status = attach(conn, local) ? THEMIS_OK : THEMIS_UNREACHABLE;
    themis_net_unlock(conn->net);
    return status;
}

themis_status_t themis_net_local_connect(themis_net_conn_t *conn, uint64_t deadline)
{
    uint64_t soon = themis_util_clock_now() + PATIENCE;

    if (!conn->net->options.local_copy || conn->cookie == 0)
        return THEMIS_UNSUPPORTED;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return THEMIS_UNSUPPORTED; /* not allowed here: a server on another host can be reached all the same */
    return connect_by(conn, fd, deadline < soon ? deadline : soon);
}

themis_status_t themis_net_conn_credentials(const themis_net_conn_t *conn, themis_net_peer_credentials_t *credentials)
{
    if (conn->local == NULL)
        return conn->unidentified ? THEMIS_ACCESS : THEMIS_UNSUPPORTED;
    *credentials = conn->local->peer;
    return THEMIS_OK;
}
