/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/segments.h"
#include <string.h>

int themis_net_segments_set(themis_net_segment_t *segments, const struct iovec *vector, size_t count, uint64_t *total)
{
    uint64_t end = 0;

    for (size_t i = 0; i < count; i++) {
        if (__builtin_add_overflow(end, vector[i].iov_len, &end) || end > INT64_MAX)
            return -1;
        segments[i] = (themis_net_segment_t){(uintptr_t)vector[i].iov_base, end};
    }
    *total = end;
    return 0;
}

/* The first segment that ends after `offset`. */
static size_t segment_find(const themis_net_segment_t *segments, size_t count, uint64_t offset)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (segments[middle].end > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static char *segment_memory(const themis_net_segment_t *segments, size_t index, uint64_t offset)
{
    uint64_t start = index == 0 ? 0 : segments[index - 1].end;

    return (char *)(uintptr_t)(segments[index].address + (offset - start));
}

void *themis_net_segments_at(const themis_net_segment_t *segments, size_t count, uint64_t offset, size_t length)
{
    size_t i = segment_find(segments, count, offset);

    return i == count || segments[i].end - offset < length ? NULL : segment_memory(segments, i, offset);
}

void themis_net_segments_copy(const themis_net_segment_t *segments, size_t count, uint64_t offset, void *buffer,
                              size_t length, int to_segments)
{
    char *at = buffer;

    for (size_t i = segment_find(segments, count, offset); i < count && length > 0; i++) {
        size_t here = segments[i].end - offset < length ? (size_t)(segments[i].end - offset) : length;
        char *memory = segment_memory(segments, i, offset);
        memcpy(to_segments ? memory : at, to_segments ? at : memory, here);
        at += here;
        offset += here;
        length -= here;
    }
}
