/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once
#include <stdint.h>

static inline uint64_t themis_util_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
