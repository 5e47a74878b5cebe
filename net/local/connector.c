/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "net/local/connector.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "net/address.h"
#include "net/local/channel.h"
#include "net/local/hello.h"
#include "net/local/passing.h"
#include "util/clock.h"
#include "util/status.h"

#define MAX_WAIT (2 * THEMIS_NS_PER_S)

static int is_over(const themis_net_conn_t *conn, uint64_t deadline)
{
    return conn->state != THEMIS_NET_HANDSHAKE || themis_util_clock_now() > deadline;
}

/* Connects `fd` to the server's socket; the server may have many that wait. */
static themis_status_t socket_connect(themis_net_conn_t *conn, int fd, uint64_t deadline)
{
    struct sockaddr_un address;
    socklen_t length = themis_net_hello_address(conn->cookie, &address);

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

/* THEMIS_IN_PROGRESS: there is no answer yet. */
static themis_status_t memory_receive(int socket, const themis_net_hello_t *expected, int *memory)
{
    themis_net_hello_t hello = {.magic = 0};
    int fd;

    ssize_t got = themis_net_passing_receive(socket, &hello, sizeof hello, &fd);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return THEMIS_IN_PROGRESS;
    if (fd >= 0 && got == (ssize_t)sizeof hello && memcmp(&hello, expected, sizeof hello) == 0) {
        *memory = fd;
        return THEMIS_OK;
    }
    if (fd >= 0)
        close(fd);
    return got <= 0 ? THEMIS_REFUSED : THEMIS_PROTOCOL;
}

/* Says hello, and waits for the shared memory. */
static themis_status_t memory_request(themis_net_conn_t *conn, int socket, uint64_t deadline, int *memory)
{
    in_addr_t address = conn->address.sin_addr.s_addr;
    themis_net_hello_t hello = {.magic = THEMIS_NET_MAGIC,
                                .version = THEMIS_NET_WIRE,
                                .address = address == INADDR_ANY ? htonl(INADDR_LOOPBACK) : address,
                                .port = conn->address.sin_port};
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    themis_status_t status;

    if (send(socket, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello)
        return THEMIS_REFUSED;
    while ((status = memory_receive(socket, &hello, memory)) == THEMIS_IN_PROGRESS) {
        if (is_over(conn, deadline))
            return THEMIS_TIMED_OUT;
        if (poll(&readable, 1, 1) == 0)
            themis_net_progress(conn->net, 0); /* the server may be this very net */
    }
    return status;
}

/* The memory must not shrink under us: reading what is gone would be a SIGBUS. */
static int memory_is_sound(int fd)
{
    struct stat stat;
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(fd, &stat) == 0 &&
           stat.st_size >= (off_t)sizeof(themis_net_channel_shared_t);
}

themis_status_t themis_net_connector_connect(themis_net_conn_t *conn, uint64_t deadline)
{
    uint64_t soon = themis_util_clock_now() + MAX_WAIT;
    int memory = -1;

    if (!conn->net->options.local_copy || conn->cookie == 0)
        return THEMIS_UNSUPPORTED;
    /* the socket's name is no secret: on another host than the server's anybody may have taken it */
    if (conn->address.sin_addr.s_addr != INADDR_ANY && !themis_net_address_is_own(&conn->address))
        return THEMIS_UNSUPPORTED;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
        return themis_util_status_from_errno(errno);
    if (fd < 0)
        return THEMIS_UNSUPPORTED; /* not allowed here: a server on another host can be reached all the same */
    deadline = deadline < soon ? deadline : soon;
    themis_status_t status = socket_connect(conn, fd, deadline);
    if (status == THEMIS_OK)
        status = memory_request(conn, fd, deadline, &memory);
    if (status == THEMIS_OK && !memory_is_sound(memory))
        status = THEMIS_PROTOCOL;
    themis_net_channel_t *channel = NULL;
    if (status == THEMIS_OK) {
        channel = themis_net_channel_new(fd, memory, 0);
        status = channel != NULL ? THEMIS_OK : THEMIS_NO_MEMORY;
    } else {
        close(fd);
    }
    if (memory >= 0)
        close(memory);
    if (channel == NULL)
        return status;
    themis_net_lock(conn->net);
    status = themis_net_channel_attach(conn, channel) ? THEMIS_OK : THEMIS_UNREACHABLE;
    themis_net_unlock(conn->net);
    return status;
}
