/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "net/local/passing.h"
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} control_t;

int themis_net_passing_send(int socket, const void *bytes, size_t length, int fd)
{
    control_t control = {.bytes = {0}};
    struct iovec part = {(void *)(uintptr_t)bytes, length};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *one = CMSG_FIRSTHDR(&message);

    one->cmsg_level = SOL_SOCKET;
    one->cmsg_type = SCM_RIGHTS;
    one->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(one), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length ? 0 : -1;
}

ssize_t themis_net_passing_receive(int socket, void *bytes, size_t length, int *fd)
{
    control_t control;
    struct iovec part = {bytes, length};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};

    *fd = -1;
    ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return got;
    for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one != NULL; one = CMSG_NXTHDR(&message, one)) {
        size_t held = one->cmsg_len - CMSG_LEN(0);
        if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof *fd <= held; at += sizeof *fd) {
            if (*fd >= 0)
                close(*fd); /* there has to be one only */
            memcpy(fd, CMSG_DATA(one) + at, sizeof *fd);
        }
    }
    if (*fd < 0 && (message.msg_flags & MSG_CTRUNC))
        *fd = THEMIS_NET_PASSING_LOST;
    return got;
}
