/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/direct_view.h"
#include <stdlib.h>

/* A view that is being made, from two lists of extents by offset. */
typedef struct making {
    themis_client_direct_segments_t *segments;
    const themis_client_direct_mapped_t *mapped;
    themis_client_direct_view_t *view;
    const themis_client_direct_view_t *old; /* NULL: none */
    size_t next;                            /* extent of the old view; what is before it was taken over */
} making_t;

/* NULL: the reply does not fit the segment, or it cannot be had. Adds a reference. */
static themis_client_direct_segment_t *segment_at(making_t *making, const themis_proto_location_t *location,
                                                  uint64_t bytes)
{
    const themis_client_direct_mapped_t *mapped = making->mapped;
    themis_client_direct_segment_t *segment;

    if (themis_client_direct_segments_get(making->segments, mapped->server, mapped->connection, location->segment,
                                          &segment) != THEMIS_OK)
        return NULL;
    if (bytes <= segment->bytes && location->at <= segment->bytes - bytes)
        return segment;
    themis_client_direct_segments_put(making->segments, segment);
    return NULL;
}

/* Takes over the reference of the extent. */
static void add_extent(making_t *making, const themis_client_direct_extent_t *extent)
{
    themis_client_direct_view_t *view = making->view;
    themis_client_direct_extent_t *last = view->count > 0 ? &view->extents[view->count - 1] : NULL;

    if (last && last->end == extent->first && last->segment == extent->segment && !last->pages && !extent->pages &&
        last->memory + (last->end - last->first) == extent->memory) {
        last->end = extent->end;
        themis_client_direct_segments_put(making->segments, extent->segment);
        return;
    }
    view->extents[view->count++] = *extent;
    view->has_pages |= extent->pages != NULL;
}

/* What the old view has in [from, end). */
static void add_old(making_t *making, uint64_t from, uint64_t end)
{
    const themis_client_direct_view_t *old = making->old;

    for (; old && making->next < old->count && old->extents[making->next].first < end; making->next++) {
        themis_client_direct_extent_t extent = old->extents[making->next];
        int reaches_beyond = extent.end > end;
        if (extent.first < from) {
            extent.memory += from - extent.first;
            if (extent.pages)
                extent.pages += (from - extent.first) / THEMIS_UTIL_DIRECT_PAGE_BYTES;
            extent.first = from;
        }
        extent.end = reaches_beyond ? end : extent.end;
        if (extent.first < extent.end) {
            themis_client_direct_segments_ref(making->segments, extent.segment);
            if (extent.pages)
                themis_client_direct_segments_ref(making->segments, extent.pages_segment);
            add_extent(making, &extent);
        }
        if (reaches_beyond)
            return;
    }
}

static void put_extent(themis_client_direct_segments_t *segments, const themis_client_direct_extent_t *extent)
{
    themis_client_direct_segments_put(segments, extent->segment);
    if (extent->pages)
        themis_client_direct_segments_put(segments, extent->pages_segment);
}

/* 0: its memory, or the states of its pages, cannot be had. */
static int find_memory(making_t *making, const themis_proto_mapped_extent_t *given,
                       themis_client_direct_extent_t *extent)
{
    enum { PAGE = THEMIS_UTIL_DIRECT_PAGE_BYTES };

    if (given->location.segment == 0 || given->offset % PAGE != 0 || given->length % PAGE != 0) /* 0 is the beacon */
        return 0;
    extent->segment = segment_at(making, &given->location, given->length);
    if (!extent->segment)
        return 0;
    extent->memory = extent->segment->base + given->location.at;
    if (given->pages.segment == 0)
        return 1;
    extent->pages_segment = segment_at(making, &given->pages, given->length / PAGE);
    if (extent->pages_segment)
        extent->pages = (_Atomic uint8_t *)(extent->pages_segment->base + given->pages.at);
    else
        themis_client_direct_segments_put(making->segments, extent->segment);
    return extent->pages != NULL;
}

/* The new extents, and between them what was known before. */
static void add_all(making_t *making)
{
    const themis_proto_mapped_t *reply = making->mapped->reply;
    themis_proto_mapped_extent_t given;
    uint64_t from = 0;

    for (uint32_t i = 0; i < reply->count; i++) {
        themis_proto_mapped_get(reply, i, &given);
        themis_client_direct_extent_t extent = {.first = given.offset, .end = given.offset + given.length};
        add_old(making, from, given.offset);
        from = extent.end;
        if (find_memory(making, &given, &extent))
            add_extent(making, &extent);
    }
    add_old(making, from, UINT64_MAX);
}

static themis_status_t hold_words(making_t *making)
{
    const themis_proto_mapped_t *reply = making->mapped->reply;
    themis_client_direct_view_t *view = making->view;
    const themis_proto_location_t beacon = {0, 0};

    if (reply->slot.at % sizeof *view->slot != 0 || reply->cell.at % sizeof *view->cell != 0 ||
        reply->slot.segment == 0 || reply->cell.segment == 0)
        return THEMIS_PROTOCOL;
    view->held[0] = segment_at(making, &reply->slot, sizeof *view->slot);
    view->held[1] = segment_at(making, &reply->cell, sizeof *view->cell);
    view->held[2] = segment_at(making, &beacon, sizeof *view->beacon);
    if (!view->held[0] || !view->held[1] || !view->held[2])
        return THEMIS_ACCESS;
    view->slot = (void *)(view->held[0]->base + reply->slot.at);
    view->cell = (void *)(view->held[1]->base + reply->cell.at);
    view->beacon = (const void *)view->held[2]->base;
    return THEMIS_OK;
}

themis_status_t themis_client_direct_view_create(themis_client_direct_segments_t *segments,
                                                 const themis_client_direct_mapped_t *mapped,
                                                 const themis_client_direct_view_t *old,
                                                 themis_client_direct_view_t **result)
{
    making_t making = {.segments = segments, .mapped = mapped};

    if (old && old->grant == mapped->reply->grant && old->granted == mapped->connection)
        making.old = old;
    /* each new extent may cut an old one in two */
    size_t capacity = (making.old ? old->count : 0) + 2 * (size_t)mapped->reply->count;
    making.view = calloc(1, sizeof *making.view + capacity * sizeof making.view->extents[0]);
    if (!making.view)
        return THEMIS_NO_MEMORY;
    making.view->grant = mapped->reply->grant;
    making.view->granted = mapped->connection;
    making.view->store = mapped->store;
    making.view->connection = &segments->calls->peers->array[mapped->server].connection;
    themis_status_t status = hold_words(&making);
    if (status != THEMIS_OK) {
        themis_client_direct_view_destroy(segments, making.view);
        return status;
    }
    add_all(&making);
    *result = making.view;
    return THEMIS_OK;
}

void themis_client_direct_view_destroy(themis_client_direct_segments_t *segments, themis_client_direct_view_t *view)
{
    if (!view)
        return;
    for (size_t i = 0; i < view->count; i++)
        put_extent(segments, &view->extents[i]);
    for (size_t i = 0; i < sizeof view->held / sizeof *view->held; i++)
        themis_client_direct_segments_put(segments, view->held[i]);
    free(view);
}
