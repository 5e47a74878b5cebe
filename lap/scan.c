/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels over one row of the cost matrix, compiled from scan_kernels.h for several instruction sets. */
#include "lap/scan.h"

static void pair_add(themis_lap_pair_t *pair, int64_t value, int64_t column)
{
    if (value < pair->first || (value == pair->first && column < pair->first_column)) {
        pair->second = pair->first;
        pair->second_column = pair->first_column;
        pair->first = value;
        pair->first_column = column;
    } else if (value < pair->second || (value == pair->second && column < pair->second_column)) {
        pair->second = value;
        pair->second_column = column;
    }
}

static void min_add(themis_lap_min_t *min, int64_t value, int64_t column, int tied)
{
    if (value < min->value) {
        *min = (themis_lap_min_t){value, column, tied};
    } else if (value == min->value) {
        min->tied = 1;
        if (column < min->column)
            min->column = column;
    }
}

#define LAP_BYTES 16
#define LAP_TARGET
#define LAP_SCAN scan_any
#include "lap/scan_kernels.h"

#if defined(__x86_64__) && !defined(THEMIS_LAP_PLAIN)
#define LAP_BYTES 32
#define LAP_TARGET __attribute__((target("avx2")))
#define LAP_SCAN scan_avx2
#include "lap/scan_kernels.h"

#ifndef THEMIS_LAP_AVX2
#define LAP_BYTES 64
#define LAP_TARGET __attribute__((target("avx512f,avx512dq,avx512vl")))
#define LAP_SCAN scan_avx512
#include "lap/scan_kernels.h"
#endif

#endif

/* Tests also build this file with THEMIS_LAP_PLAIN (no kernels of x86) and THEMIS_LAP_AVX2 (none of AVX-512), for what
 * a newer processor would not select. */
const themis_lap_scan_t *themis_lap_scan_select(void)
{
#if defined(__x86_64__) && !defined(THEMIS_LAP_PLAIN)
#ifndef THEMIS_LAP_AVX2
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &scan_avx512;
#endif
    if (__builtin_cpu_supports("avx2"))
        return &scan_avx2;
#endif
    return &scan_any;
}
