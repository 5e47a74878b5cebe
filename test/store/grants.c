/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/store/grants.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

mapped_segment_t segments[SEGMENTS];
size_t segment_count;

void open_direct(uint64_t size, uint64_t warm)
{
    themis_store_options_t options = {.type = "arena", .size = size, .warm = warm, .direct = 1};

    ck_assert_int_eq(themis_store_create(&options, &store), THEMIS_OK);
    owner = ALICE;
}

void close_direct(void)
{
    for (size_t i = 0; i < segment_count; i++)
        munmap(segments[i].base, segments[i].bytes);
    segment_count = 0;
    themis_store_destroy(store);
}

uint8_t *reach(uint32_t uid, themis_store_location_t location)
{
    size_t i = 0;
    int fd;

    while (i < segment_count && segments[i].serial != location.segment)
        i++;
    if (i == segment_count) {
        REQUIRE(segment_count < SEGMENTS);
        REQUIRE(themis_store_segment(store, location.segment, uid, &fd, &segments[i].bytes) == THEMIS_OK);
        segments[i].base = mmap(NULL, segments[i].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        REQUIRE(segments[i].base != MAP_FAILED);
        segments[i].serial = location.segment;
        segment_count++;
        close(fd);
    }
    REQUIRE(location.at < segments[i].bytes);
    return segments[i].base + location.at;
}

themis_status_t grant_open(grant_t *grant, uint64_t id, uint32_t uid)
{
    grant->uid = uid;
    grant->count = 0;
    REQUIRE(themis_store_open(store, id, 1, uid, &grant->object) == THEMIS_OK);
    themis_status_t status = themis_store_pin(store, grant->object, uid, &grant->location);
    if (status == THEMIS_OK)
        grant->cell = (themis_util_direct_cell_t *)reach(uid, grant->location);
    else
        themis_store_close(store, grant->object);
    return status;
}

void grant_close(grant_t *grant)
{
    themis_store_unpin(store, grant->object, &grant->location);
    themis_store_close(store, grant->object);
}

themis_status_t grant_map(grant_t *grant, uint64_t offset, uint64_t length, int allocate)
{
    themis_store_extent_t range = {offset, length};

    return themis_store_map(store, grant->object, &range, allocate, grant->mapped, EXTENTS, &grant->count);
}

uint64_t grant_move(grant_t *grant, themis_direction_t direction, uint64_t offset, uint8_t *bytes, uint64_t length)
{
    uint64_t moved = 0, last = 0;

    for (size_t i = 0; i < grant->count; i++) {
        const themis_store_mapped_t *mapped = &grant->mapped[i];
        uint64_t from = mapped->offset > offset ? mapped->offset : offset;
        uint64_t end =
            mapped->offset + mapped->length < offset + length ? mapped->offset + mapped->length : offset + length;
        if (from >= end)
            continue;
        uint8_t *at = reach(grant->uid, mapped->location) + (from - mapped->offset);
        memcpy(direction == THEMIS_WRITE ? at : bytes + (from - offset),
               direction == THEMIS_WRITE ? bytes + (from - offset) : at, end - from);
        moved += end - from;
        last = end;
    }
    if (direction == THEMIS_WRITE && atomic_load(&grant->cell->end) < last)
        atomic_store(&grant->cell->end, last);
    return moved;
}

void grant_put(grant_t *grant, uint64_t offset, uint64_t length, uint8_t value)
{
    uint8_t *bytes = malloc(length);

    memset(bytes, value, length);
    REQUIRE(grant_map(grant, offset, length, 1) == THEMIS_OK);
    REQUIRE(grant_move(grant, THEMIS_WRITE, offset, bytes, length) == length);
    free(bytes);
}

void soil(uint64_t bytes)
{
    put(99, 0, bytes, 's');
    ck_assert_int_eq(themis_store_remove(store, 99), THEMIS_OK);
}

int all_are(const uint8_t *bytes, uint64_t length, uint8_t value)
{
    for (uint64_t i = 0; i < length; i++)
        if (bytes[i] != value)
            return 0;
    return 1;
}

uint64_t used(void)
{
    themis_store_usage_t usage;

    ck_assert_int_eq(themis_store_usage(store, &usage), THEMIS_OK);
    return usage.used;
}

void window_fill(const themis_store_window_t *window, int value)
{
    for (size_t i = 0; i < window->piece_count; i++)
        memset(window->pieces[i].iov_base, value, window->pieces[i].iov_len);
}
