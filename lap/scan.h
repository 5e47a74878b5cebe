/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The three passes over one row of the cost matrix in which nearly all time is spent, compiled for several instruction
 * sets. Included by jv.h once for each scalar type, with lap_scalar_t and LAP_INFINITY defined.
 */
#include <stdbool.h>
#include <stddef.h>

/* The smallest and second smallest value of a pass, and the columns where they stand. */
typedef struct lap_pair {
    lap_scalar_t first, second;
    int64_t first_column, second_column;
} lap_pair_t;

typedef struct lap_least {
    lap_scalar_t value;
    int64_t column;
    int tied; /* another column may have the same value */
} lap_least_t;

/* The passes of one instruction set; see scan_kernels.h. */
typedef struct lap_scans {
    lap_pair_t (*pair)(const lap_scalar_t *row, const lap_scalar_t *v, int64_t columns);
    lap_least_t (*relax)(const lap_scalar_t *row, const lap_scalar_t *v, int64_t columns, lap_scalar_t offset,
                         int64_t i, lap_scalar_t *distance, int64_t *from);
    bool (*outside)(const lap_scalar_t *cost, size_t count, lap_scalar_t limit);
    void (*minima)(const lap_scalar_t *row, int64_t columns, int64_t i, lap_scalar_t *v, int64_t *who);
} lap_scans_t;

static void lap_pair_add(lap_pair_t *pair, lap_scalar_t value, int64_t column)
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

static void lap_least_add(lap_least_t *least, lap_scalar_t value, int64_t column, int tied)
{
    if (value < least->value) {
        *least = (lap_least_t){value, column, tied};
    } else if (value == least->value) {
        least->tied = 1;
        if (column < least->column)
            least->column = column;
    }
}

#define LAP_BYTES 16
#define LAP_TARGET
#define LAP_SCANS lap_scans_any
#include "lap/scan_kernels.h"

#if defined(__x86_64__) && !defined(THEMIS_LAP_PLAIN)
#define LAP_BYTES 32
#define LAP_TARGET __attribute__((target("avx2")))
#define LAP_SCANS lap_scans_avx2
#include "lap/scan_kernels.h"

#ifndef THEMIS_LAP_AVX2
#define LAP_BYTES 64
#define LAP_TARGET __attribute__((target("avx512f,avx512dq,avx512vl")))
#define LAP_SCANS lap_scans_avx512
#include "lap/scan_kernels.h"
#endif

/* With THEMIS_LAP_PLAIN or THEMIS_LAP_AVX2 tests compile the tables that this processor would not choose. */
static const lap_scans_t *lap_scans(void)
{
#ifndef THEMIS_LAP_AVX2
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &lap_scans_avx512;
#endif
    return __builtin_cpu_supports("avx2") ? &lap_scans_avx2 : &lap_scans_any;
}
#else
static const lap_scans_t *lap_scans(void)
{
    return &lap_scans_any;
}
#endif
