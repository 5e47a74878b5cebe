/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow. */
#pragma once
#include <stdlib.h>
#include <string.h>
#include "themis/status.h"

/* Makes room for `count` elements of `size` bytes. `array` is the address of the pointer to the first, or to NULL; on
 * THEMIS_NO_MEMORY the array is as before. */
static inline themis_status_t themis_client_array_reserve(void *array, size_t *capacity, size_t count, size_t size)
{
    void *old;

    if (count <= *capacity)
        return THEMIS_OK;
    size_t wanted = count < 2 * *capacity ? 2 * *capacity : count;
    memcpy(&old, array, sizeof old);
    void *grown = realloc(old, wanted * size);
    if (!grown)
        return THEMIS_NO_MEMORY;
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return THEMIS_OK;
}
