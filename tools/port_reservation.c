/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/port_reservation.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int themis_tools_port_reserve(struct in_addr host, uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = host};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), shared = 1;

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared) != 0 ||
        bind(fd, (struct sockaddr *)&address, length) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    *port = ntohs(address.sin_port);
    return fd;
}
