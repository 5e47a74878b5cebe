/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that look random and are the same in every run; a test sets draw_state first. */
#pragma once

#include <stdint.h>

static uint64_t draw_state;

/* From 0 to below - 1. splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t draw(uint64_t below)
{
    uint64_t z = draw_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}
