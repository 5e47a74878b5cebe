/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects as clients with direct access have them: the test maps segments, beside the store. */
#pragma once
#include "test/store/objects.h"
#include "util/direct.h"

enum { PAGE = 4096, SEGMENTS = 4096, EXTENTS = 512, ALICE = 1000, BOB = 1001, CAROL = 1002 };

/* What this process has mapped, by serial number. */
typedef struct mapped_segment {
    uint64_t serial, bytes;
    uint8_t *base;
} mapped_segment_t;

extern mapped_segment_t segments[SEGMENTS];
extern size_t segment_count;

/* An object as a client with a grant has it. */
typedef struct grant {
    uint32_t uid;
    themis_store_object_t *object;
    themis_util_direct_cell_t *cell;
    themis_store_location_t location; /* of the cell */
    themis_store_mapped_t mapped[EXTENTS];
    size_t count;
} grant_t;

void open_direct(uint64_t size, uint64_t warm);
void close_direct(void);

/* Where a location is in this process, as a client of `uid` gets it. */
uint8_t *reach(uint32_t uid, themis_store_location_t location);

themis_status_t grant_open(grant_t *grant, uint64_t id, uint32_t uid);
void grant_close(grant_t *grant);
themis_status_t grant_map(grant_t *grant, uint64_t offset, uint64_t length, int allocate);
/* Moves what is mapped of a range; a write raises the end. The bytes that were moved. */
uint64_t grant_move(grant_t *grant, themis_direction_t direction, uint64_t offset, uint8_t *bytes, uint64_t length);
void grant_put(grant_t *grant, uint64_t offset, uint64_t length, uint8_t value);

/* Leaves `bytes` of the owner's memory in which there was 's'. */
void soil(uint64_t bytes);

void window_fill(const themis_store_window_t *window, int value);
int all_are(const uint8_t *bytes, uint64_t length, uint8_t value);
uint64_t used(void); /* bytes of the store */
