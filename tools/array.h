/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow. */
#pragma once
#include <stdlib.h>

/* An owned array with room for one more element of so many bytes; NULL if out of memory, and it is as it was. */
static inline void *themis_tools_array_room(void *array, size_t count, size_t *capacity, size_t element)
{
    if (count < *capacity)
        return array;
    size_t more = 2 * *capacity + 16;
    void *grown = realloc(array, more * element);
    if (grown)
        *capacity = more;
    return grown;
}
