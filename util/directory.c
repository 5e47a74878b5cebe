/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/directory.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int themis_util_directory_sync(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -1;
    int result = fsync(fd), cause = errno;
    close(fd);
    errno = cause;
    return result;
}
