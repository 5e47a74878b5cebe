/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of memory pieces (struct iovec). */
#pragma once
#include <stddef.h>
#include <sys/uio.h>

/* Makes the last of `count` pieces longer if it ends where `base` is: 1 then, otherwise the caller appends a piece. */
static inline int themis_util_iov_extend(struct iovec *pieces, size_t count, const void *base, size_t length)
{
    if (count == 0 || (const char *)pieces[count - 1].iov_base + pieces[count - 1].iov_len != base)
        return 0;
    pieces[count - 1].iov_len += length;
    return 1;
}
