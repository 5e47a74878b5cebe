/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/copy.h"
#include <stdint.h>
#include <string.h>

enum { PAGE = 4096, SLOW_DISTANCE = 32, SLOW_LENGTH = 2048, STEP = 64 };

/* From the end to the beginning: no load then has the lower address bits of a store that was just made. */
static void copy_backwards(char *to, const char *from, size_t length)
{
    for (; length >= STEP; length -= STEP)
        memcpy(to + length - STEP, from + length - STEP, STEP); /* loads and stores */
    memcpy(to, from, length);
}

void themis_util_copy(void *to, const void *from, size_t length)
{
    const size_t distance = ((uintptr_t)to - (uintptr_t)from) % PAGE;

    if (length < SLOW_LENGTH || distance == 0 || distance >= SLOW_DISTANCE)
        memcpy(to, from, length);
    else
        copy_backwards(to, from, length);
}
