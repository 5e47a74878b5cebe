/* SPDX-License-Identifier: BSD-3-Clause */
/* The extents of one round: bytes [position, position + bytes) of a file domain, numbered in the order of the file. */
#ifndef THEMIS_COLLECTIVE_DOMAIN_EXTENTS_H
#define THEMIS_COLLECTIVE_DOMAIN_EXTENTS_H
#include <stdint.h>
#include "themis/aggregation.h"

typedef struct themis_collective_span {
    themis_aggregation_iterator_t iterator;
    uint64_t place; /* bytes passed */
    uint64_t left;
} themis_collective_span_t;

typedef struct themis_collective_extent {
    uint64_t offset, length; /* in the file */
    uint64_t place;          /* of its first byte, counted from the start of the span */
} themis_collective_extent_t;

/* The domains are borrowed while the span is in use. A span that reaches over the domain's end stops there. */
static inline void themis_collective_span_begin(themis_collective_span_t *span,
                                                const themis_aggregation_domains_t *domains, uint32_t domain,
                                                uint64_t position, uint64_t bytes)
{
    uint64_t size = themis_aggregation_domains_size(domains, domain);
    span->place = 0;
    span->left = position >= size ? 0 : size - position < bytes ? size - position : bytes;
    if (span->left)
        themis_aggregation_iterator_init(domains, domain, themis_aggregation_domains_seek(domains, domain, position),
                                         &span->iterator);
}

static inline int themis_collective_span_next(themis_collective_span_t *span, themis_collective_extent_t *extent)
{
    themis_aggregation_extent_t found;
    if (!span->left || !themis_aggregation_iterator_next(&span->iterator, &found))
        return 0;
    uint64_t length = found.length < span->left ? found.length : span->left;
    *extent = (themis_collective_extent_t){found.offset, length, span->place};
    span->place += length;
    span->left -= length;
    return 1;
}
#endif
