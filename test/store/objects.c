/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/store/objects.h"
#include <stdlib.h>
#include <string.h>

themis_store_t *store;
uint32_t owner = 1000;

themis_status_t transfer(uint64_t id, themis_direction_t direction, uint64_t offset, uint8_t *bytes, uint64_t length)
{
    themis_store_object_t *object;
    themis_store_window_t *window;

    themis_status_t status = themis_store_open(store, id, direction == THEMIS_WRITE, owner, &object);
    if (status != THEMIS_OK)
        return status;
    REQUIRE(themis_store_window_create(&window) == THEMIS_OK);
    while (length && status == THEMIS_OK) {
        window->object = object;
        window->direction = direction;
        window->extent_count = 1;
        window->extents[0] =
            (themis_store_extent_t){offset, length < THEMIS_STORE_WINDOW_BYTES ? length : THEMIS_STORE_WINDOW_BYTES};
        status = themis_store_prepare(store, window);
        if (status != THEMIS_OK)
            break;
        REQUIRE(window->bytes > 0);
        uint64_t sum = 0;
        for (size_t i = 0; i < window->piece_count; i++) {
            const struct iovec *piece = &window->pieces[i];
            if (direction == THEMIS_WRITE)
                memcpy(piece->iov_base, bytes + sum, piece->iov_len);
            else
                memcpy(bytes + sum, piece->iov_base, piece->iov_len);
            sum += piece->iov_len;
        }
        REQUIRE(sum == window->bytes);
        status = themis_store_finish(store, window, THEMIS_OK);
        bytes += sum;
        offset += sum;
        length -= sum;
    }
    themis_store_window_destroy(window);
    themis_store_close(store, object);
    return status;
}

void put(uint64_t id, uint64_t offset, uint64_t length, uint8_t value)
{
    uint8_t *bytes = malloc(length);

    memset(bytes, value, length);
    REQUIRE(transfer(id, THEMIS_WRITE, offset, bytes, length) == THEMIS_OK);
    free(bytes);
}

void expect(uint64_t id, uint64_t offset, uint64_t length, uint8_t value)
{
    uint8_t *bytes = malloc(length);

    memset(bytes, 0xee, length);
    REQUIRE(transfer(id, THEMIS_READ, offset, bytes, length) == THEMIS_OK);
    for (uint64_t i = 0; i < length; i++)
        if (bytes[i] != value)
            ck_abort_msg("object %d byte %llu is %u, not %u", (int)id, (unsigned long long)(offset + i), bytes[i],
                         value);
    free(bytes);
}

themis_store_size_t size_of(uint64_t id)
{
    themis_store_object_t *object;
    themis_store_size_t size = {0};

    ck_assert_int_eq(themis_store_open(store, id, 1, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_size(store, object, &size), THEMIS_OK);
    themis_store_close(store, object);
    return size;
}

void truncate_to(uint64_t id, uint64_t size)
{
    themis_store_object_t *object;

    ck_assert_int_eq(themis_store_open(store, id, 1, owner, &object), THEMIS_OK);
    ck_assert_int_eq(themis_store_truncate(store, object, size), THEMIS_OK);
    themis_store_close(store, object);
}
