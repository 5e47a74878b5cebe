/* SPDX-License-Identifier: BSD-3-Clause */
/* Reproducible random numbers: xorshift (G. Marsaglia, Xorshift RNGs, 2003). */
#pragma once
#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

/* A number below `end`. */
static inline uint64_t draw(uint64_t end)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % end;
}
