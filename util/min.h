/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef THEMIS_UTIL_MIN_H
#define THEMIS_UTIL_MIN_H
#include <stdint.h>

static inline uint64_t themis_util_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}
#endif
