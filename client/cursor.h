/* SPDX-License-Identifier: BSD-3-Clause */
/* A place in a list of memory pieces. */
#pragma once
#include <stdint.h>
#include <sys/uio.h>

typedef struct themis_client_cursor {
    const struct iovec *piece;
    size_t within; /* bytes of it that lie before the place */
} themis_client_cursor_t;

/* The next contiguous bytes, at most `max`; the list must have some left. Advances past them. */
static inline struct iovec themis_client_cursor_next(themis_client_cursor_t *cursor, uint64_t max)
{
    while (cursor->within == cursor->piece->iov_len) {
        cursor->piece++;
        cursor->within = 0;
    }
    size_t left = cursor->piece->iov_len - cursor->within;
    struct iovec part = {(char *)cursor->piece->iov_base + cursor->within, max < left ? (size_t)max : left};
    cursor->within += part.iov_len;
    return part;
}
