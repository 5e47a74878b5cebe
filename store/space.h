/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The space of an arena: blocks of 4 KiB times a power of two (buddy allocator), in segments.
 *
 * With direct access a segment is memory that can be passed on, and belongs to one owner: blocks of different owners
 * are never in the same segment. A segment without blocks in use can go to another owner, but only as new memory: what
 * the old owner's processes have mapped is not used again. An owner that finds no segment gets blocks of
 * THEMIS_STORE_COMMON, whose memory is not passed on. Without direct access the whole space is one segment of
 * THEMIS_STORE_COMMON.
 *
 * The first access to a page costs several times as much as a copy into a populated one. So the part of a segment in
 * use grows in steps from the bottom, freed blocks are reused before it grows, and what is taken into use is populated,
 * in huge pages where possible. A thread of the lowest priority does so with a bounded number of bytes (`warm`) ahead:
 * at the start, and later only when fewer are left.
 *
 * Threads: all functions may be called from any thread.
 */
#pragma once
#include "store/store.h"

enum {
    THEMIS_STORE_SPACE_UNIT = 4096,   /* bytes of a block of order 0 */
    THEMIS_STORE_SPACE_MAX_ORDER = 12 /* 16 MiB; less where segments are smaller */
};

/* Bytes of the largest space, 4 KiB less than 16 TiB: units are numbered with 32 bits. */
#define THEMIS_STORE_SPACE_MAX_BYTES ((UINT64_C(1) << 44) - THEMIS_STORE_SPACE_UNIT - 1)

typedef struct themis_store_space themis_store_space_t;
typedef struct themis_store_log themis_store_log_t; /* store/log.h */

/*
 * Uses size, path, warm, reserve_step and direct, which has no effect on a file. `log` and `directory`: those of a
 * durable arena, borrowed as long as the space, or NULL and -1; such a space has to be recovered before it is used.
 * THEMIS_CONFIG: the size is impossible, or the file is something else; THEMIS_BUSY: another server uses it;
 * THEMIS_NO_MEMORY, THEMIS_IO. Logged.
 */
themis_status_t themis_store_space_create(const themis_store_options_t *options, themis_store_log_t *log, int directory,
                                          themis_store_space_t **space);
void themis_store_space_destroy(themis_store_space_t *space); /* NULL is allowed */

/* Allocates a block of `order`, or of the highest lower one that is free; *got is its order and *unit its place. Its
 * memory is not touched. THEMIS_NO_SPACE: neither the owner nor THEMIS_STORE_COMMON has or gets any. */
themis_status_t themis_store_space_allocate(themis_store_space_t *space, uint32_t owner, unsigned order, unsigned *got,
                                            uint32_t *unit);
/* 1: so many units are free, as it is now, for owners together. What is free, but not yet durably, is made so first. */
int themis_store_space_has_room(themis_store_space_t *space, uint64_t units);
/* Populates an allocated block that is about to be used. */
void themis_store_space_populate(themis_store_space_t *space, uint32_t unit, unsigned order);
void themis_store_space_free(themis_store_space_t *space, uint32_t unit, unsigned order);

/* Of a unit of an allocated block: 1 if nobody was given it before; then it read as zeros when it was allocated. */
int themis_store_space_is_fresh(const themis_store_space_t *space, uint32_t unit);
/* Where an allocated block can be found by its owner's processes; 0 if it cannot. */
int themis_store_space_locate(const themis_store_space_t *space, uint32_t unit, themis_store_location_t *location);

/* Address of a block; valid as long as the space. */
uint8_t *themis_store_space_address(const themis_store_space_t *space, uint32_t unit);
uint32_t themis_store_space_unit(const themis_store_space_t *space, const void *address);

int themis_store_space_direct(const themis_store_space_t *space); /* 1: blocks can be located */
/* 1: those of this user can be. */
int themis_store_space_passes_on(const themis_store_space_t *space, uint32_t uid);
/* As themis_store_segment. */
themis_status_t themis_store_space_segment(themis_store_space_t *space, uint64_t serial, uint32_t owner, int *fd,
                                           uint64_t *bytes);

/* Units of the segments of a new space that is divided. */
uint32_t themis_store_space_segment_units(uint64_t size);

/* Fills in capacity, used, warm, huge and segments. */
void themis_store_space_usage(themis_store_space_t *space, themis_store_usage_t *usage);
/* 1 while less than half of the space is in use. */
int themis_store_space_has_plenty(const themis_store_space_t *space);
