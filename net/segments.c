/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in pieces as one range of bytes. */
#include <string.h>
#include "net/core.h"

int themis_net_pieces_set(themis_net_piece_t *pieces, const struct iovec *vector, size_t count, uint64_t *total)
{
    uint64_t end = 0;

    for (size_t i = 0; i < count; i++) {
        if (__builtin_add_overflow(end, vector[i].iov_len, &end) || end > INT64_MAX)
            return -1;
        pieces[i] = (themis_net_piece_t){(uintptr_t)vector[i].iov_base, end};
    }
    *total = end;
    return 0;
}

/* The first piece that ends behind `offset`. */
static size_t find(const themis_net_piece_t *pieces, size_t count, uint64_t offset)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pieces[middle].end > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint64_t start_of(const themis_net_piece_t *pieces, size_t index)
{
    return index == 0 ? 0 : pieces[index - 1].end;
}

void *themis_net_pieces_at(const themis_net_piece_t *pieces, size_t count, uint64_t offset, size_t length)
{
    size_t i = find(pieces, count, offset);

    if (i == count || pieces[i].end - offset < length)
        return NULL;
    return (void *)(uintptr_t)(pieces[i].address + (offset - start_of(pieces, i)));
}

void themis_net_pieces_copy(const themis_net_piece_t *pieces, size_t count, uint64_t offset, void *buffer,
                            size_t length, int to_pieces)
{
    char *at = buffer;

    for (size_t i = find(pieces, count, offset); i < count && length > 0; i++) {
        uint64_t into = offset - start_of(pieces, i);
        size_t here = pieces[i].end - offset < length ? (size_t)(pieces[i].end - offset) : length;
        char *memory = (char *)(uintptr_t)(pieces[i].address + into);
        if (to_pieces)
            memcpy(memory, at, here);
        else
            memcpy(at, memory, here);
        at += here;
        offset += here;
        length -= here;
    }
}
