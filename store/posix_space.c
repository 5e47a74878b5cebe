/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "store/posix_space.h"
#include <errno.h>
#include <unistd.h>

/* How many bytes from `offset` on, up to `length`, have space; *hole: how many bytes without follow. */
static uint64_t data_find(int fd, uint64_t offset, uint64_t length, uint64_t *hole)
{
    off_t data = lseek(fd, (off_t)offset, SEEK_DATA), end;

    if (data < 0) { /* behind the end of the file there is none, and an unknown error is none of space */
        *hole = errno == ENXIO ? length : 0;
        return length - *hole;
    }
    if ((uint64_t)data > offset) {
        *hole = (uint64_t)data - offset < length ? (uint64_t)data - offset : length;
        return 0;
    }
    *hole = 0;
    end = lseek(fd, (off_t)offset, SEEK_HOLE);
    return end > data && (uint64_t)end - offset < length ? (uint64_t)end - offset : length;
}

uint64_t themis_store_posix_space_missing(int fd, uint64_t offset, uint64_t length)
{
    uint64_t missing = 0, hole;

    while (length) {
        uint64_t data = data_find(fd, offset, length, &hole);
        missing += hole;
        offset += data + hole;
        length -= data + hole;
    }
    return missing;
}

static uint64_t room_of(const themis_store_account_t *account)
{
    int64_t limit = account->byte_limit, bytes = account->bytes;

    return limit > bytes ? (uint64_t)(limit - (bytes > 0 ? bytes : 0)) : 0;
}

themis_status_t themis_store_posix_space_cut(int fd, const themis_store_account_t *account,
                                             themis_store_window_t *window)
{
    uint64_t room = room_of(account), hole;
    size_t count = 0;

    if (room >= window->bytes)
        return THEMIS_OK;
    window->bytes = 0;
    for (int ended = 0; count < window->extent_count && !ended; count++) {
        themis_store_extent_t *extent = &window->extents[count];
        uint64_t taken = 0;
        while (taken < extent->length && !ended) {
            uint64_t data = data_find(fd, extent->offset + taken, extent->length - taken, &hole);
            uint64_t more = hole < room ? hole : room;
            taken += data + more;
            room -= more;
            ended = more < hole;
        }
        extent->length = taken;
        window->bytes += taken;
    }
    window->extent_count = count > 0 && window->extents[count - 1].length == 0 ? count - 1 : count;
    return window->bytes ? THEMIS_OK : THEMIS_QUOTA;
}
