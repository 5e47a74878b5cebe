/* SPDX-License-Identifier: BSD-3-Clause */
/* By calls of the kernel, as the functions of the C library are intercepted. */
#define _GNU_SOURCE
#include "preload/description.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include "preload/kernel.h"

static const char magic[8] = "THEMISFD";
enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

/* Opens the file of a descriptor once more. */
static int reopen(int fd, int flags)
{
    char path[40];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return (int)themis_preload_kernel(SYS_openat, AT_FDCWD, path, flags, 0);
}

static int fill(int fd, const themis_preload_description_t *description, const char *path, const void *handle)
{
    themis_preload_description_t header = *description;

    memcpy(header.magic, magic, sizeof magic);
    const struct iovec parts[] = {{&header, sizeof header},
                                  {(void *)(uintptr_t)path, header.path_bytes},
                                  {(void *)(uintptr_t)handle, header.handle_bytes}};
    const size_t bytes = parts[0].iov_len + parts[1].iov_len + parts[2].iov_len;
    if (themis_preload_kernel(SYS_writev, fd, parts, 3) != (long)bytes) {
        errno = errno ? errno : ENOSPC;
        return -1;
    }
    return (int)themis_preload_kernel(SYS_fcntl, fd, F_ADD_SEALS, SEALS);
}

int themis_preload_description_begin(int status, themis_preload_blank_t *blank)
{
    blank->second = -1;
    blank->status = status & O_CLOEXEC;
    blank->fd =
        (int)themis_preload_kernel(SYS_memfd_create, THEMIS_PRELOAD_MEMORY_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (blank->fd < 0)
        return -1;
    blank->second = reopen(blank->fd, O_WRONLY | O_CLOEXEC | (status & (O_APPEND | O_NONBLOCK)));
    if (blank->second < 0)
        themis_preload_description_close(blank);
    return blank->second < 0 ? -1 : 0;
}

int themis_preload_description_end(themis_preload_blank_t *blank, const themis_preload_description_t *description,
                                   const char *path, const void *handle)
{
    if (fill(blank->fd, description, path, handle) != 0 ||
        themis_preload_kernel(SYS_dup3, blank->second, blank->fd, blank->status) < 0)
        return -1;
    themis_preload_kernel(SYS_close, blank->second);
    blank->second = -1;
    return 0;
}

void themis_preload_description_close(themis_preload_blank_t *blank)
{
    const int error = errno;

    themis_preload_kernel(SYS_close, blank->fd);
    if (blank->second >= 0)
        themis_preload_kernel(SYS_close, blank->second);
    errno = error;
}

int themis_preload_description_make(const themis_preload_description_t *description, const char *path,
                                    const void *handle, int status)
{
    themis_preload_blank_t blank;

    if (themis_preload_description_begin(status, &blank) != 0)
        return -1;
    if (themis_preload_description_end(&blank, description, path, handle) == 0)
        return blank.fd;
    themis_preload_description_close(&blank);
    return -1;
}

static int is_sealed(int fd)
{
    return themis_preload_kernel(SYS_fcntl, fd, F_GET_SEALS) == SEALS;
}

/* The file of a descriptor that is sealed as ours are, to read from; -1 none. */
static int file_of(int fd)
{
    const int error = errno;
    const int found = is_sealed(fd) ? reopen(fd, O_RDONLY | O_CLOEXEC) : -1;

    errno = error;
    return found;
}

static int is_good(const themis_preload_description_t *header, long bytes)
{
    return bytes >= (long)sizeof *header && memcmp(header->magic, magic, sizeof magic) == 0 &&
           (header->kind == THEMIS_PRELOAD_OPENED || header->kind == THEMIS_PRELOAD_WORKING_DIRECTORY);
}

themis_preload_kind_t themis_preload_description_look(int fd)
{
    themis_preload_description_t header;
    const int error = errno, file = file_of(fd);

    if (file < 0)
        return THEMIS_PRELOAD_NONE;
    const long bytes = themis_preload_kernel(SYS_pread64, file, &header, sizeof header, 0L);
    themis_preload_kernel(SYS_close, file);
    errno = error;
    return is_good(&header, bytes) ? (themis_preload_kind_t)header.kind : THEMIS_PRELOAD_NONE;
}

int themis_preload_description_read(int fd, void *buffer, size_t size, themis_preload_description_t *description,
                                    const char **path, const void **handle)
{
    const int file = file_of(fd);

    if (file < 0) {
        errno = EBADF;
        return -1;
    }
    const long bytes = themis_preload_kernel(SYS_pread64, file, buffer, size, 0L);
    themis_preload_kernel(SYS_close, file);
    if (bytes < (long)sizeof *description) {
        errno = EBADF;
        return -1;
    }
    memcpy(description, buffer, sizeof *description);
    const char *text = (const char *)buffer + sizeof *description;
    if (!is_good(description, bytes) || description->path_bytes == 0 ||
        (uint64_t)description->path_bytes + description->handle_bytes + sizeof *description != (uint64_t)bytes ||
        text[description->path_bytes - 1] != '\0' || strlen(text) + 1 != description->path_bytes || *text != '/') {
        errno = EBADF;
        return -1;
    }
    *path = text;
    *handle = text + description->path_bytes;
    return 0;
}
