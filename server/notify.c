/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/notify.h"
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "util/config.h"
#include "util/log.h"

enum { TEXT_BYTES = 1024 };

/* "/path", or "@name" in the abstract name space. Returns the address's length, 0 if it is neither or too long. */
static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
    size_t length = strlen(name);

    if ((*name != '/' && *name != '@') || length < 2 || length >= sizeof address->sun_path)
        return 0;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, name, length);
    if (*name == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

/* Returns 0, or an errno. */
static int text_send(const char *name, const char *text, size_t length)
{
    struct sockaddr_un address;
    socklen_t bytes = address_of(name, &address);
    int fd = bytes ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1, failure = 0;

    if (!bytes)
        return EINVAL;
    if (fd < 0 || sendto(fd, text, length, MSG_NOSIGNAL, (struct sockaddr *)&address, bytes) < 0)
        failure = errno;
    if (fd >= 0)
        close(fd);
    return failure;
}

void themis_server_notify(const char *format, ...)
{
    const char *name = themis_util_config_env("NOTIFY_SOCKET");
    char text[TEXT_BYTES];
    va_list list;

    if (!name)
        return;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    int failure = text_send(name, text, length < TEXT_BYTES ? (size_t)length : TEXT_BYTES - 1);
    if (failure)
        themis_warn("NOTIFY_SOCKET %s: %s; the service manager does not learn that the server is ready or ends", name,
                    strerror(failure));
}
