/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/entry.h"
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, FIRST_CAPACITY = 512 };

void themis_store_entries_free(themis_store_entries_t *entries)
{
    free(entries->bytes);
    *entries = (themis_store_entries_t){0};
}

static int entries_reserve(themis_store_entries_t *entries, size_t bytes)
{
    size_t wanted = entries->length + bytes, capacity = entries->capacity ? entries->capacity : FIRST_CAPACITY;

    if (wanted <= entries->capacity)
        return 1;
    while (capacity < wanted)
        capacity *= 2;
    uint8_t *grown = realloc(entries->bytes, capacity);
    if (!grown)
        return 0;
    entries->bytes = grown;
    entries->capacity = capacity;
    return 1;
}

void *themis_store_entries_add(themis_store_entries_t *entries, themis_store_entry_type_t type, uint64_t subject,
                               uint32_t count, size_t words)
{
    size_t bytes = sizeof(themis_store_entry_t) + words * WORD;

    if (words > UINT16_MAX || !entries_reserve(entries, bytes))
        return NULL;
    uint8_t *at = entries->bytes + entries->length;
    themis_store_entry_t entry = {.type = (uint16_t)type, .words = (uint16_t)words, .count = count, .subject = subject};
    memcpy(at, &entry, sizeof entry);
    memset(at + sizeof entry, 0, words * WORD);
    entries->length += bytes;
    return at + sizeof entry;
}

/* Words of the body of an entry; UINT64_MAX: there is no such type. */
static uint64_t words_of(const themis_store_entry_t *entry)
{
    switch (entry->type) {
    case THEMIS_STORE_ENTRY_SEGMENT:
        return sizeof(themis_store_entry_segment_t) / WORD;
    case THEMIS_STORE_ENTRY_OBJECT:
        return sizeof(themis_store_entry_object_t) / WORD;
    case THEMIS_STORE_ENTRY_SIZE:
        return sizeof(themis_store_entry_size_t) / WORD;
    case THEMIS_STORE_ENTRY_CUT:
    case THEMIS_STORE_ENTRY_DROP:
    case THEMIS_STORE_ENTRY_CELL:
        return 1;
    case THEMIS_STORE_ENTRY_EXTENTS:
        return (uint64_t)entry->count * (sizeof(themis_store_entry_extent_t) / WORD);
    case THEMIS_STORE_ENTRY_PAGES:
        return sizeof(themis_store_entry_pages_t) / WORD + entry->count;
    case THEMIS_STORE_ENTRY_SHARED:
        return sizeof(themis_store_entry_shared_t) / WORD;
    case THEMIS_STORE_ENTRY_BLOCK:
    case THEMIS_STORE_ENTRY_REMOVE:
    case THEMIS_STORE_ENTRY_COMMIT:
    case THEMIS_STORE_ENTRY_END:
        return 0;
    default:
        return UINT64_MAX;
    }
}

const themis_store_entry_t *themis_store_entry_next(const uint8_t **at, const uint8_t *end)
{
    const themis_store_entry_t *entry = (const themis_store_entry_t *)*at;

    if ((size_t)(end - *at) < sizeof *entry || words_of(entry) != entry->words ||
        (size_t)(end - *at) - sizeof *entry < (size_t)entry->words * WORD)
        return NULL;
    *at += sizeof *entry + (size_t)entry->words * WORD;
    return entry;
}
