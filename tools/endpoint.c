/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/endpoint.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/sessions.h"

static int source_open_remote(const themis_tools_location_t *location, themis_tools_endpoint_t *end)
{
    return themis_open(location->session, location->path, THEMIS_OPEN_READ, 0, NULL, &end->file) == THEMIS_OK
               ? THEMIS_TOOLS_OK
               : themis_tools_error_last();
}

static int target_open_remote(const themis_tools_location_t *location, uint32_t mode, themis_tools_endpoint_t *end)
{
    const int flags = THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE;
    themis_status_t status =
        themis_open(location->session, location->path, flags | THEMIS_OPEN_EXCLUSIVE, mode, NULL, &end->file);

    if (status == THEMIS_EXISTS) {
        end->replaces = 1;
        status = themis_open(location->session, location->path, flags, mode, NULL, &end->file);
    }
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error_last();
}

/* What exists is opened without O_CREAT, which the kernel may refuse for another user's file in a sticky directory. */
static int local_open(const char *path, int flags, uint32_t mode, themis_tools_endpoint_t *end)
{
    struct stat stats;

    end->fd = open(path, flags | O_CLOEXEC);
    if (end->fd < 0 && errno == ENOENT && flags == O_WRONLY)
        end->fd = open(path, flags | O_CREAT | O_CLOEXEC, mode);
    if (end->fd < 0)
        return themis_tools_error_errno(path);
    end->is_regular = fstat(end->fd, &stats) == 0 && S_ISREG(stats.st_mode);
    end->replaces = end->is_regular && flags == O_WRONLY;
    return THEMIS_TOOLS_OK;
}

/* It may be a file whose offset others share: it is read or written from there. */
static int stream_open(int fd, themis_tools_endpoint_t *end)
{
    *end = (themis_tools_endpoint_t){.fd = dup(fd)};
    return end->fd >= 0 ? THEMIS_TOOLS_OK : themis_tools_error_errno("-");
}

int themis_tools_endpoint_open_source(const themis_tools_location_t *location, themis_tools_endpoint_t *end)
{
    *end = (themis_tools_endpoint_t){.fd = -1, .is_regular = 1};
    if (themis_tools_location_is_stream(location))
        return stream_open(STDIN_FILENO, end);
    return location->session ? source_open_remote(location, end) : local_open(location->path, O_RDONLY, 0, end);
}

int themis_tools_endpoint_open_target(const themis_tools_location_t *location, uint32_t mode,
                                      themis_tools_endpoint_t *end)
{
    *end = (themis_tools_endpoint_t){.fd = -1, .is_regular = 1};
    if (themis_tools_location_is_stream(location))
        return stream_open(STDOUT_FILENO, end);
    return location->session ? target_open_remote(location, mode, end)
                             : local_open(location->path, O_WRONLY, mode, end);
}

int themis_tools_endpoint_create(const themis_tools_location_t *location, uint32_t mode, const themis_layout_t *layout,
                                 themis_tools_endpoint_t *end, int *refused)
{
    const int flags = THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE | THEMIS_OPEN_EXCLUSIVE;

    *end = (themis_tools_endpoint_t){.fd = -1, .is_regular = 1};
    *refused = 0;
    if (location->session)
        return themis_open(location->session, location->path, flags, mode, layout, &end->file) == THEMIS_OK
                   ? THEMIS_TOOLS_OK
                   : themis_tools_error_last();
    end->fd = open(location->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (end->fd >= 0)
        return THEMIS_TOOLS_OK;
    *refused = errno == EACCES || errno == EPERM || errno == EROFS;
    return *refused ? THEMIS_TOOLS_FAILED : themis_tools_error_errno(location->path);
}

int themis_tools_endpoint_close(themis_tools_endpoint_t *end, const themis_tools_location_t *location, int written)
{
    int result = THEMIS_TOOLS_OK;

    if (end->file) {
        if (written && themis_sync(end->file) != THEMIS_OK)
            result = themis_tools_error_last();
        if (themis_close(end->file) != THEMIS_OK && result == THEMIS_TOOLS_OK)
            result = themis_tools_error_last();
    } else if (end->fd >= 0 && close(end->fd) != 0) {
        result = themis_tools_error_errno(location->path);
    }
    return result;
}
