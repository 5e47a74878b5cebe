/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/endpoint.h"
#include <fcntl.h>
#include <string.h>
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

static int local_open(const char *path, int flags, uint32_t mode, themis_tools_endpoint_t *end)
{
    struct stat stats;

    end->fd = open(path, flags | O_CLOEXEC, mode);
    if (end->fd < 0)
        return themis_tools_error_errno(path);
    end->is_regular = fstat(end->fd, &stats) == 0 && S_ISREG(stats.st_mode);
    end->replaces = end->is_regular && (flags & O_CREAT) != 0;
    return THEMIS_TOOLS_OK;
}

int themis_tools_endpoint_open_source(const themis_tools_location_t *location, themis_tools_endpoint_t *end)
{
    *end = (themis_tools_endpoint_t){.fd = -1, .is_regular = 1};
    return location->session ? source_open_remote(location, end) : local_open(location->path, O_RDONLY, 0, end);
}

int themis_tools_endpoint_open_target(const themis_tools_location_t *location, uint32_t mode,
                                      themis_tools_endpoint_t *end)
{
    *end = (themis_tools_endpoint_t){.fd = -1, .is_regular = 1};
    return location->session ? target_open_remote(location, mode, end)
                             : local_open(location->path, O_WRONLY | O_CREAT, mode, end);
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

int themis_tools_endpoint_is_same_file(const themis_tools_endpoint_t *a, const themis_tools_endpoint_t *b, int *same)
{
    struct stat at, bt;

    *same = 0;
    if (a->file && b->file)
        return strcmp(themis_file_path(a->file), themis_file_path(b->file)) != 0
                   ? THEMIS_TOOLS_OK
                   : themis_tools_session_same_servers(themis_file_session(a->file), themis_file_session(b->file),
                                                       same);
    if (!a->file && !b->file && a->is_regular && b->is_regular)
        *same = fstat(a->fd, &at) == 0 && fstat(b->fd, &bt) == 0 && at.st_dev == bt.st_dev && at.st_ino == bt.st_ino;
    return THEMIS_TOOLS_OK;
}
