/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The three passes over one row of the cost matrix in which nearly all time is spent, written with vectors of eight
 * 64-bit lanes. Included by jv.h once for each scalar type, with lap_scalar_t, LAP_INFINITY and LAP_CLONES defined.
 */
#define LAP_LANES 8

typedef lap_scalar_t lap_vector_t __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t lap_mask_t __attribute__((vector_size(64), aligned(8), may_alias));

/* A macro: vectors of 64 bytes as arguments would depend on the instruction set of each clone. */
#define LAP_BLEND(mask, yes, no) (((lap_mask_t)(yes) & (mask)) | ((lap_mask_t)(no) & ~(mask)))

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

/* The two smallest of row[j] - v[j]; on equal values the lower columns. With one column, second is LAP_INFINITY. */
LAP_CLONES static lap_pair_t lap_scan_pair(const lap_scalar_t *row, const lap_scalar_t *v, int64_t columns)
{
    const lap_mask_t step = {LAP_LANES, LAP_LANES, LAP_LANES, LAP_LANES, LAP_LANES, LAP_LANES, LAP_LANES, LAP_LANES};
    lap_pair_t pair = {LAP_INFINITY, LAP_INFINITY, INT64_MAX, INT64_MAX};
    lap_vector_t first = pair.first - (lap_vector_t){0}, second = first;
    lap_mask_t at = {0, 1, 2, 3, 4, 5, 6, 7}, at_first = at, at_second = at;
    int64_t j = 0;

    for (; j + LAP_LANES <= columns; j += LAP_LANES, at += step) {
        lap_vector_t t = *(const lap_vector_t *)(row + j) - *(const lap_vector_t *)(v + j);
        lap_mask_t below_first = t < first, below_second = t < second;

        second = (lap_vector_t)LAP_BLEND(below_first, first, LAP_BLEND(below_second, t, second));
        at_second = LAP_BLEND(below_first, at_first, LAP_BLEND(below_second, at, at_second));
        first = (lap_vector_t)LAP_BLEND(below_first, t, first);
        at_first = LAP_BLEND(below_first, at, at_first);
    }
    for (int lane = 0; lane < LAP_LANES && j > 0; lane++) {
        lap_pair_add(&pair, first[lane], at_first[lane]);
        if (second[lane] < LAP_INFINITY)
            lap_pair_add(&pair, second[lane], at_second[lane]);
    }
    for (; j < columns; j++)
        lap_pair_add(&pair, row[j] - v[j], j);
    return pair;
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

/* One step of Dijkstra: distance[j] = min(distance[j], row[j] - v[j] - offset), from[j] = i where it became less. */
LAP_CLONES static lap_least_t lap_scan_relax(const lap_scalar_t *row, const lap_scalar_t *v, int64_t columns,
                                             lap_scalar_t offset, int64_t i, lap_scalar_t *distance, int64_t *from)
{
    const lap_mask_t step = {LAP_LANES, LAP_LANES, LAP_LANES, LAP_LANES, LAP_LANES, LAP_LANES, LAP_LANES, LAP_LANES};
    const lap_vector_t shift = offset - (lap_vector_t){0};
    const lap_mask_t origin = i - (lap_mask_t){0};
    lap_least_t least = {LAP_INFINITY, INT64_MAX, 0};
    lap_vector_t smallest = least.value - (lap_vector_t){0};
    lap_mask_t at = {0, 1, 2, 3, 4, 5, 6, 7}, at_smallest = at, tied = {0};
    int64_t j = 0;

    for (; j + LAP_LANES <= columns; j += LAP_LANES, at += step) {
        lap_vector_t t = *(const lap_vector_t *)(row + j) - *(const lap_vector_t *)(v + j) - shift;
        lap_vector_t d = *(const lap_vector_t *)(distance + j);
        lap_mask_t f = *(const lap_mask_t *)(from + j), better = t < d, below;

        d = (lap_vector_t)LAP_BLEND(better, t, d);
        *(lap_vector_t *)(distance + j) = d;
        *(lap_mask_t *)(from + j) = LAP_BLEND(better, origin, f);
        below = d < smallest;
        tied = ~below & (tied | (d == smallest));
        smallest = (lap_vector_t)LAP_BLEND(below, d, smallest);
        at_smallest = LAP_BLEND(below, at, at_smallest);
    }
    for (int lane = 0; lane < LAP_LANES && j > 0; lane++)
        lap_least_add(&least, smallest[lane], at_smallest[lane], tied[lane] != 0);
    for (; j < columns; j++) {
        lap_scalar_t t = row[j] - v[j] - offset;

        if (t < distance[j]) {
            distance[j] = t;
            from[j] = i;
        }
        lap_least_add(&least, distance[j], j, 0);
    }
    return least;
}

/* Column minima: v[j] = min(v[j], row[j]), who[j] = i where it became less. */
LAP_CLONES static void lap_scan_minima(const lap_scalar_t *row, int64_t columns, int64_t i, lap_scalar_t *v,
                                       int64_t *who)
{
    const lap_mask_t origin = i - (lap_mask_t){0};
    int64_t j = 0;

    for (; j + LAP_LANES <= columns; j += LAP_LANES) {
        lap_vector_t t = *(const lap_vector_t *)(row + j), old = *(const lap_vector_t *)(v + j);
        lap_mask_t w = *(const lap_mask_t *)(who + j), better = t < old;

        *(lap_vector_t *)(v + j) = (lap_vector_t)LAP_BLEND(better, t, old);
        *(lap_mask_t *)(who + j) = LAP_BLEND(better, origin, w);
    }
    for (; j < columns; j++) {
        if (row[j] < v[j]) {
            v[j] = row[j];
            who[j] = i;
        }
    }
}
