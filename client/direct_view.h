/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of an object under one grant: which of its bytes are where in this process's memory. A view does not
 * change once it is made; what becomes known later makes a new one, so that threads can copy without a lock.
 */
#pragma once
#include "client/direct_segments.h"
#include "proto/proto.h"
#include "util/direct.h"

/* Bytes [first, end) of the object. */
typedef struct themis_client_direct_extent {
    uint64_t first, end;
    char *memory;                            /* of byte `first` */
    themis_client_direct_segment_t *segment; /* owned reference */
    /* States of the pages from `first` on, which is the start of one, and an owned reference to where they are; NULL:
     * all are valid. */
    _Atomic uint8_t *pages;
    themis_client_direct_segment_t *pages_segment;
} themis_client_direct_extent_t;

/* The first part may be needed by each access, the rest to make and to free it. */
typedef struct themis_client_direct_view {
    themis_util_direct_slot_t *slot;
    themis_util_direct_cell_t *cell;
    const themis_util_direct_beacon_t *beacon;
    const _Atomic uint64_t *connection; /* that of the server now */
    uint64_t granted;                   /* the connection of the grant */
    uint64_t store;                     /* hash of the identity of the server's store */
    uint32_t grant;
    int has_pages; /* 1: an extent has states of its pages */
    size_t count;

    struct themis_client_direct_view *next;  /* of those that were replaced */
    themis_client_direct_segment_t *held[3]; /* owned references, for slot, cell and beacon */
    themis_client_direct_extent_t extents[]; /* by offset, disjoint; neighbours that continue in memory are one */
} themis_client_direct_view_t;

/* A reply to MAP, and where it came from. */
typedef struct themis_client_direct_mapped {
    const themis_proto_mapped_t *reply;
    uint32_t server;
    uint64_t connection, store;
} themis_client_direct_mapped_t;

/* The view that the reply gives together with `old` (NULL: none), if that has the same grant. Extents whose memory
 * cannot be had are left out. */
themis_status_t themis_client_direct_view_create(themis_client_direct_segments_t *segments,
                                                 const themis_client_direct_mapped_t *mapped,
                                                 const themis_client_direct_view_t *old,
                                                 themis_client_direct_view_t **view);
/* NULL is allowed. */
void themis_client_direct_view_destroy(themis_client_direct_segments_t *segments, themis_client_direct_view_t *view);

/* 1: the server lives, and has not taken the grant back. */
static inline int themis_client_direct_view_is_valid(const themis_client_direct_view_t *view)
{
    return atomic_load(&view->slot->grant) == view->grant &&
           !(atomic_load(&view->beacon->word) & THEMIS_UTIL_DIRECT_DEAD) &&
           atomic_load_explicit(view->connection, memory_order_relaxed) == view->granted;
}

/* The extent with byte `offset`, or NULL. `near` is one that is likely to be it, or just before it. */
static inline const themis_client_direct_extent_t *
themis_client_direct_view_find(const themis_client_direct_view_t *view, const themis_client_direct_extent_t *near,
                               uint64_t offset)
{
    if (near && offset - near->first < near->end - near->first)
        return near;
    size_t low = 0, count = view->count;
    while (count > 1) { /* the last one that does not begin after the offset */
        size_t half = count / 2;
        low = view->extents[low + half].first <= offset ? low + half : low;
        count -= half;
    }
    const themis_client_direct_extent_t *found = &view->extents[low];
    return view->count > 0 && offset - found->first < found->end - found->first ? found : NULL;
}

/* 1: all bytes of [first, end) are known. */
static inline int themis_client_direct_view_covers(const themis_client_direct_view_t *view,
                                                   const themis_client_direct_extent_t *extent, uint64_t end)
{
    const themis_client_direct_extent_t *last = view->extents + view->count;

    while (extent->end < end && extent + 1 < last && extent[1].first == extent->end)
        extent++;
    return extent->end >= end;
}
