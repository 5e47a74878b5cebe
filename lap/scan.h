/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes over one row of the cost matrix, in which nearly all time is spent. */
#pragma once
#include <stdint.h>

/* A distance beyond all others. */
#define THEMIS_LAP_INFINITY (INT64_C(1) << 61)

/* The smallest and second smallest value of a pass, and their columns. */
typedef struct themis_lap_pair {
    int64_t first, second;
    int64_t first_column, second_column;
} themis_lap_pair_t;

typedef struct themis_lap_min {
    int64_t value, column;
    int tied; /* another column may have the same value */
} themis_lap_min_t;

/* The passes of one instruction set. */
typedef struct themis_lap_scan {
    /* The two smallest of row[j] - v[j]; on equal values the lower columns. With one column, second is INFINITY. */
    themis_lap_pair_t (*pair)(const int64_t *row, const int64_t *v, int64_t columns);
    /* One step of Dijkstra: distance[j] = min(distance[j], row[j] - v[j] - offset), from[j] = i where it decreased. */
    themis_lap_min_t (*relax)(const int64_t *row, const int64_t *v, int64_t columns, int64_t offset, int64_t i,
                              int64_t *distance, int64_t *from);
    /* Column minima: v[j] = min(v[j], row[j]), who[j] = i where it decreased. */
    void (*minima)(const int64_t *row, int64_t columns, int64_t i, int64_t *v, int64_t *who);
} themis_lap_scan_t;

/* The fastest that this processor can run; static storage. */
const themis_lap_scan_t *themis_lap_scan_select(void);
