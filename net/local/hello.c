/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "net/local/hello.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} control_t;

socklen_t themis_net_hello_address(uint64_t cookie, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "themis-net-%016llx", (unsigned long long)cookie);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int themis_net_hello_send_fd(int socket, const themis_net_hello_t *hello, int fd)
{
    control_t control = {.bytes = {0}};
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

ssize_t themis_net_hello_receive_fd(int socket, themis_net_hello_t *hello, int *fd)
{
    control_t control;
    struct iovec bytes = {hello, sizeof *hello};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};

    *fd = -1;
    ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return got;
    for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one != NULL; one = CMSG_NXTHDR(&message, one)) {
        size_t length = one->cmsg_len - CMSG_LEN(0);
        if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof *fd <= length; at += sizeof *fd) {
            if (*fd >= 0)
                close(*fd); /* there has to be one only */
            memcpy(fd, CMSG_DATA(one) + at, sizeof *fd);
        }
    }
    return got;
}
