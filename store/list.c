/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/list.h"
#include <stdlib.h>
#include "store/store.h"

enum { PARTS_AT_ONCE = 4096 };

themis_status_t themis_store_list_part_add(themis_store_list_part_t *part, uint64_t id)
{
    if (part->count == part->capacity) {
        size_t capacity = 2 * part->capacity + 64;
        uint64_t *more = realloc(part->ids, capacity * sizeof *more);
        if (!more)
            return THEMIS_NO_MEMORY;
        part->ids = more;
        part->capacity = capacity;
    }
    part->ids[part->count++] = id;
    return THEMIS_OK;
}

static int by_hash(const void *a, const void *b)
{
    uint64_t one = themis_store_list_hash(*(const uint64_t *)a), other = themis_store_list_hash(*(const uint64_t *)b);

    return (one > other) - (one < other);
}

static themis_status_t object_look(themis_store_t *store, uint64_t id, themis_store_size_t *size)
{
    themis_store_object_t *object;

    if (store->ops->look)
        return store->ops->look(store, id, size);
    themis_status_t status = themis_store_open(store, id, 0, THEMIS_STORE_COMMON, &object);
    if (status != THEMIS_OK)
        return status;
    status = themis_store_size(store, object, size);
    themis_store_close(store, object);
    return status;
}

/* Appends those of the next part, or as many as there is room for. */
static themis_status_t part_list(themis_store_t *store, uint64_t *position, themis_store_listed_t *listed,
                                 size_t capacity, size_t *count)
{
    themis_store_list_part_t part = {.after = *position};
    themis_store_size_t size;
    themis_status_t status = store->ops->list(store, &part);
    size_t i = 0;

    if (status == THEMIS_OK && part.count)
        qsort(part.ids, part.count, sizeof *part.ids, by_hash);
    for (; status == THEMIS_OK && i < part.count && *count < capacity; i++) {
        status = object_look(store, part.ids[i], &size);
        if (status == THEMIS_OK)
            listed[(*count)++] = (themis_store_listed_t){part.ids[i], size.end, size.modified};
        else if (status == THEMIS_NO_ENTRY) /* it was removed just now */
            status = THEMIS_OK;
        if (status == THEMIS_OK)
            *position = themis_store_list_hash(part.ids[i]);
    }
    if (status == THEMIS_OK && i == part.count)
        *position = part.end;
    free(part.ids);
    return status;
}

themis_status_t themis_store_list(themis_store_t *store, uint64_t *position, themis_store_listed_t *listed,
                                  size_t capacity, size_t *count)
{
    themis_status_t status = THEMIS_OK;

    *count = 0;
    for (int parts = 0; status == THEMIS_OK && parts < PARTS_AT_ONCE && *count < capacity; parts++)
        status = *position == UINT64_MAX ? THEMIS_IN_PROGRESS : part_list(store, position, listed, capacity, count);
    return status == THEMIS_IN_PROGRESS ? THEMIS_OK : status;
}
