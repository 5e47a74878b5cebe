/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/reach.h"
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "util/clock.h"

enum { ADDRESS_BYTES = 300 };

/* Begins to connect; a descriptor, or -1. */
static int connect_begin(const char *address, size_t length)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[ADDRESS_BYTES];
    int fd = -1;

    snprintf(host, sizeof host, "%.*s", (int)length, address);
    char *colon = strrchr(host, ':');
    if (!colon)
        return -1;
    *colon = '\0';
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return -1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static int is_connected(int fd)
{
    int error = 0;
    socklen_t length = sizeof error;

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

/* Until each connection has been made or refused, or the time is up. */
static void connections_await(struct pollfd *polled, unsigned count, uint64_t limit, unsigned char *down)
{
    uint64_t now = themis_util_clock_now(), until = now + limit;
    unsigned left = 0;

    for (unsigned i = 0; i < count; i++)
        left += polled[i].fd >= 0;
    for (; left > 0 && now < until; now = themis_util_clock_now()) {
        if (poll(polled, count, (int)((until - now) / THEMIS_NS_PER_MS) + 1) < 0 && errno != EINTR)
            return;
        left = 0;
        for (unsigned i = 0; i < count; i++) {
            if (polled[i].fd >= 0 && polled[i].revents) {
                down[i] = !is_connected(polled[i].fd);
                close(polled[i].fd);
                polled[i].fd = -1;
            }
            left += polled[i].fd >= 0;
        }
    }
}

unsigned themis_tools_reach(const char *list, uint64_t limit, unsigned char *down, unsigned size, unsigned *answering)
{
    struct pollfd *polled = calloc(size, sizeof *polled);
    unsigned count = 0, found = 0;

    memset(down, 0, size);
    for (const char *at = list; polled && *at && count < size; at += strcspn(at, ","), at += *at == ',') {
        polled[count] = (struct pollfd){.fd = connect_begin(at, strcspn(at, ",")), .events = POLLOUT};
        down[count++] = 1; /* until it is connected */
    }
    connections_await(polled, count, limit, down);
    for (unsigned i = 0; i < count; i++) {
        if (polled[i].fd >= 0)
            close(polled[i].fd);
        found += down[i];
    }
    free(polled);
    *answering = count - found;
    if (found < count)
        return found;
    memset(down, 0, size);
    return 0;
}
