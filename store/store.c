/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/store.h"
#include <stdlib.h>
#include <string.h>
#include "store/arena.h"
#include "store/posix.h"
#include "util/log.h"

themis_status_t themis_store_window_create(themis_store_window_t **window)
{
    themis_store_window_t *made = malloc(sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->staging = NULL;
    made->object = NULL;
    *window = made;
    return THEMIS_OK;
}

void themis_store_window_destroy(themis_store_window_t *window)
{
    if (!window)
        return;
    free(window->staging);
    free(window);
}

themis_status_t themis_store_create(const themis_store_options_t *options, themis_store_t **store)
{
    if (strcmp(options->type, "arena") == 0)
        return themis_store_arena_create(options, store);
    if (strcmp(options->type, "posix") == 0)
        return themis_store_posix_create(options, store);
    themis_error("unknown store \"%s\": expected \"arena\" or \"posix\"", options->type);
    return THEMIS_CONFIG;
}

void themis_store_destroy(themis_store_t *store)
{
    if (store)
        store->ops->destroy(store);
}

themis_status_t themis_store_open(themis_store_t *store, uint64_t id, int create, uint32_t owner,
                                  themis_store_object_t **object)
{
    return store->ops->open(store, id, create, owner, object);
}

void themis_store_close(themis_store_t *store, themis_store_object_t *object)
{
    store->ops->close(store, object);
}

themis_status_t themis_store_prepare(themis_store_t *store, themis_store_window_t *window)
{
    window->bytes = 0;
    window->piece_count = 0;
    window->mark_count = 0;
    window->shadowed = 0;
    return store->ops->prepare(store, window);
}

themis_status_t themis_store_finish(themis_store_t *store, themis_store_window_t *window, themis_status_t moved)
{
    return store->ops->finish(store, window, moved);
}

themis_status_t themis_store_truncate(themis_store_t *store, themis_store_object_t *object, uint64_t size)
{
    return size > INT64_MAX ? THEMIS_FILE_TOO_BIG : store->ops->truncate(store, object, size);
}

themis_status_t themis_store_allocate(themis_store_t *store, themis_store_object_t *object,
                                      const themis_store_extent_t *range)
{
    if (range->offset > INT64_MAX || range->length > INT64_MAX - range->offset)
        return THEMIS_FILE_TOO_BIG;
    return range->length == 0 ? THEMIS_OK : store->ops->allocate(store, object, range);
}

themis_status_t themis_store_size(themis_store_t *store, themis_store_object_t *object, themis_store_size_t *size)
{
    return store->ops->size(store, object, size);
}

themis_status_t themis_store_set_modified(themis_store_t *store, themis_store_object_t *object, uint64_t modified)
{
    return store->ops->set_modified(store, object, modified);
}

themis_status_t themis_store_sync(themis_store_t *store, themis_store_object_t *object)
{
    return store->ops->sync(store, object);
}

themis_status_t themis_store_remove(themis_store_t *store, uint64_t id)
{
    return store->ops->remove(store, id);
}

themis_status_t themis_store_usage(themis_store_t *store, themis_store_usage_t *usage)
{
    return store->ops->usage(store, usage);
}

int themis_store_blocking(const themis_store_t *store)
{
    return store->ops->blocking;
}

const char *themis_store_type(const themis_store_t *store)
{
    return store->ops->name;
}

int themis_store_direct(const themis_store_t *store)
{
    return store->ops->direct && store->ops->direct(store);
}

themis_status_t themis_store_pin(themis_store_t *store, themis_store_object_t *object, uint32_t uid,
                                 themis_store_location_t *cell)
{
    return themis_store_direct(store) ? store->ops->pin(store, object, uid, cell) : THEMIS_UNSUPPORTED;
}

void themis_store_unpin(themis_store_t *store, themis_store_object_t *object, const themis_store_location_t *cell)
{
    store->ops->unpin(store, object, cell);
}

themis_status_t themis_store_map(themis_store_t *store, themis_store_object_t *object,
                                 const themis_store_extent_t *range, int flags, themis_store_mapped_t *mapped,
                                 size_t capacity, size_t *count)
{
    if (!themis_store_direct(store))
        return THEMIS_UNSUPPORTED;
    if (range->offset > INT64_MAX || range->length > INT64_MAX - range->offset)
        return THEMIS_FILE_TOO_BIG;
    return store->ops->map(store, object, range, flags, mapped, capacity, count);
}

themis_status_t themis_store_block_allocate(themis_store_t *store, uint32_t uid, themis_store_location_t *location,
                                            void **address)
{
    return themis_store_direct(store) ? store->ops->block_allocate(store, uid, location, address) : THEMIS_UNSUPPORTED;
}

void themis_store_block_free(themis_store_t *store, void *address)
{
    if (address)
        store->ops->block_free(store, address);
}

themis_status_t themis_store_segment(themis_store_t *store, uint64_t serial, uint32_t uid, int *fd, uint64_t *bytes)
{
    return themis_store_direct(store) ? store->ops->segment(store, serial, uid, fd, bytes) : THEMIS_UNSUPPORTED;
}
