/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/space_file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/exclusive_use.h"
#include "util/log.h"
#include "util/status.h"

/* The last bytes of an arena's file, after its units, which distinguish it from other files. */
static const char file_end[16] = "themis-arena 1\n";

/* Succeeds if the file is empty or that of an arena. */
static themis_status_t check_file(const char *path, int fd)
{
    char last[sizeof file_end];
    struct stat stat;

    if (fstat(fd, &stat) != 0)
        return themis_util_status_from_errno(errno);
    if (stat.st_size == 0 || (pread(fd, last, sizeof last, stat.st_size - (off_t)sizeof last) == sizeof last &&
                              memcmp(last, file_end, sizeof last) == 0))
        return THEMIS_OK;
    themis_error(
        "file = %s holds something else than an arena of this version and is left unchanged: remove it if it is not "
        "needed",
        path);
    return THEMIS_CONFIG;
}

/* Through the mapping where there is no write(), as on hugetlbfs. Durable, so that the file is recognised also after a
 * power failure. */
static int write_end(int fd, uint8_t *base, uint64_t size)
{
    uint64_t at = size - sizeof file_end;
    ssize_t written = pwrite(fd, file_end, sizeof file_end, (off_t)at);

    if (written < 0 && errno == EINVAL) {
        memcpy(base + at, file_end, sizeof file_end);
        return 0;
    }
    if (written >= 0 && written < (ssize_t)sizeof file_end)
        errno = ENOSPC;
    return written == (ssize_t)sizeof file_end ? fdatasync(fd) : -1;
}

static int map_open_file(int fd, uint64_t size, uint8_t **base)
{
    if (ftruncate(fd, (off_t)size) != 0)
        return -1;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (at == MAP_FAILED)
        return -1;
    *base = at;
    return write_end(fd, at, size);
}

themis_status_t themis_store_space_file_map(const char *path, uint64_t size, int *fd, uint8_t **base)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    themis_status_t status = *fd < 0 ? themis_util_status_from_errno(errno) : THEMIS_OK;
    if (status != THEMIS_OK) {
        themis_error("cannot open %s: %s", path, strerror(errno));
        return status;
    }
    status = themis_store_exclusive_use_file("file", path, *fd);
    if (status == THEMIS_OK)
        status = check_file(path, *fd);
    if (status != THEMIS_OK || map_open_file(*fd, size, base) == 0)
        return status;
    status = themis_util_status_from_errno(errno);
    themis_error("cannot map %s: %s", path, strerror(errno));
    if (ftruncate(*fd, 0) != 0)
        themis_warn("%s is incomplete; remove it before the next start", path);
    return status;
}

int themis_store_space_file_grow(int fd, uint64_t offset, uint64_t bytes)
{
    return posix_fallocate(fd, (off_t)offset, (off_t)bytes) == 0;
}
