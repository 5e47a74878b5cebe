/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the log of a durable arena says, as entries in the byte order of the machine, each a multiple of 8 bytes.
 *
 * Every entry states how something is from now on, not by how much it changes. So a log may be replayed over a state
 * that already has a part of it, as that which a checkpoint took while the log went on.
 */
#pragma once
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

typedef enum themis_store_entry_type {
    THEMIS_STORE_ENTRY_SEGMENT = 1, /* subject: its index; body: themis_store_entry_segment_t */
    THEMIS_STORE_ENTRY_BLOCK,       /* subject: unit of a block of slots; count: 1: in use, 0: free */
    THEMIS_STORE_ENTRY_OBJECT,      /* subject: id, as of all that follow; body: themis_store_entry_object_t */
    THEMIS_STORE_ENTRY_REMOVE,      /* the object is gone */
    THEMIS_STORE_ENTRY_SIZE,        /* body: themis_store_entry_size_t */
    THEMIS_STORE_ENTRY_CUT,         /* body: uint64_t: nothing is left of the bytes from there on */
    THEMIS_STORE_ENTRY_DROP,        /* body: uint64_t: no extent begins at this offset */
    THEMIS_STORE_ENTRY_EXTENTS,     /* body: themis_store_entry_extent_t[count] */
    THEMIS_STORE_ENTRY_PAGES,       /* body: themis_store_entry_pages_t, uint64_t[count]: a bit for each page */
    THEMIS_STORE_ENTRY_SHARED,      /* body: themis_store_entry_shared_t */
    THEMIS_STORE_ENTRY_CELL,        /* count: 1: the object has one; body: uint64_t: its unit */
    THEMIS_STORE_ENTRY_COMMIT,      /* subject: a position; all before it, and the bytes that it is about, is durable */
    THEMIS_STORE_ENTRY_END          /* of a checkpoint */
} themis_store_entry_type_t;

typedef struct themis_store_entry {
    uint16_t type;
    uint16_t words; /* of 8 bytes, behind this */
    uint32_t count;
    uint64_t subject;
} themis_store_entry_t;

typedef struct themis_store_entry_segment {
    uint64_t serial; /* 0: it has no memory */
    uint32_t owner, opened;
    uint64_t exported; /* 1: processes may have mapped it */
} themis_store_entry_segment_t;

typedef struct themis_store_entry_object {
    uint64_t
        position; /* in a checkpoint: of the log, when the object was like this; what comes before says nothing new */
    uint64_t end, modified;
    uint64_t owner;
} themis_store_entry_object_t;

typedef struct themis_store_entry_size {
    uint64_t end, modified;
} themis_store_entry_size_t;

typedef struct themis_store_entry_extent {
    uint64_t offset;
    uint32_t unit;
    uint16_t order;
    uint16_t valid; /* 1: all of its pages are */
} themis_store_entry_extent_t;

/* The states of pages [first, end) of the extent at `offset`: bit i of the words is that of first + i. No words: all of
 * them are valid. */
typedef struct themis_store_entry_pages {
    uint64_t offset;
    uint32_t first, end;
} themis_store_entry_pages_t;

typedef struct themis_store_entry_shared {
    uint64_t offset; /* of the extent */
    uint64_t unit;   /* of the block that has the states of its pages */
} themis_store_entry_shared_t;

static_assert(sizeof(themis_store_entry_t) == 16 && sizeof(themis_store_entry_extent_t) == 16 &&
                  sizeof(themis_store_entry_segment_t) == 24 && sizeof(themis_store_entry_object_t) == 32,
              "the layout is that of files");

/* Entries that are being put together. Empty when all zeros; owned. */
typedef struct themis_store_entries {
    uint8_t *bytes;
    size_t length, capacity;
} themis_store_entries_t;

void themis_store_entries_free(themis_store_entries_t *entries);
/* Appends an entry with a body of `words`, whose bytes are to be filled in; NULL: no memory. Valid until the next one.
 */
void *themis_store_entries_add(themis_store_entries_t *entries, themis_store_entry_type_t type, uint64_t subject,
                               uint32_t count, size_t words);

/* The entry at *at, which advances; NULL: there is none, or what is there is no entry (then *at stays). Its body has
 * the size that its type and count need. */
const themis_store_entry_t *themis_store_entry_next(const uint8_t **at, const uint8_t *end);
static inline const void *themis_store_entry_body(const themis_store_entry_t *entry)
{
    return entry + 1;
}
