/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The passes for one instruction set, written with vectors of LAP_BYTES bytes. Included by scan.c with LAP_BYTES,
 * LAP_TARGET and LAP_SCAN (the name of the table that results) defined; undefines them.
 */
#define LAP_LANES (LAP_BYTES / 8)
#define LAP_JOIN2(a, b) a##_##b
#define LAP_JOIN(a, b) LAP_JOIN2(a, b)
#define LAP_KERNEL(name) LAP_JOIN(LAP_SCAN, name)
#define LAP_VECTOR LAP_KERNEL(vector_t)
#if LAP_BYTES == 64
#define LAP_FIRST                                                                                                      \
    {                                                                                                                  \
        0, 1, 2, 3, 4, 5, 6, 7                                                                                         \
    }
#elif LAP_BYTES == 32
#define LAP_FIRST                                                                                                      \
    {                                                                                                                  \
        0, 1, 2, 3                                                                                                     \
    }
#else
#define LAP_FIRST                                                                                                      \
    {                                                                                                                  \
        0, 1                                                                                                           \
    }
#endif

typedef int64_t LAP_VECTOR __attribute__((vector_size(LAP_BYTES), aligned(8), may_alias));

/* Rows are visited in an order that the processor cannot predict, and hardware prefetching stops at each page. */
#define LAP_PREFETCH 192

/* Lane by lane: yes where the mask is all ones, no where it is zero. */
#define LAP_BLEND(mask, yes, no) (((yes) & (mask)) | ((no) & ~(mask)))

LAP_TARGET static themis_lap_pair_t LAP_KERNEL(pair)(const int64_t *row, const int64_t *v, int64_t columns)
{
    const LAP_VECTOR step = LAP_LANES - (LAP_VECTOR){0};
    themis_lap_pair_t pair = {THEMIS_LAP_INFINITY, THEMIS_LAP_INFINITY, INT64_MAX, INT64_MAX};
    LAP_VECTOR first = pair.first - (LAP_VECTOR){0}, second = first;
    LAP_VECTOR at = LAP_FIRST, at_first = at, at_second = at;
    int64_t j = 0;

    for (; j + LAP_LANES <= columns; j += LAP_LANES, at += step) {
        LAP_VECTOR t = *(const LAP_VECTOR *)(row + j) - *(const LAP_VECTOR *)(v + j);
        LAP_VECTOR below_first = t < first, below_second = t < second;

        __builtin_prefetch(row + j + LAP_PREFETCH);
        second = LAP_BLEND(below_first, first, LAP_BLEND(below_second, t, second));
        at_second = LAP_BLEND(below_first, at_first, LAP_BLEND(below_second, at, at_second));
        first = LAP_BLEND(below_first, t, first);
        at_first = LAP_BLEND(below_first, at, at_first);
    }
    for (int lane = 0; lane < LAP_LANES && j > 0; lane++) {
        pair_add(&pair, first[lane], at_first[lane]);
        if (second[lane] < THEMIS_LAP_INFINITY)
            pair_add(&pair, second[lane], at_second[lane]);
    }
    for (; j < columns; j++)
        pair_add(&pair, row[j] - v[j], j);
    return pair;
}

LAP_TARGET static themis_lap_min_t LAP_KERNEL(relax)(const int64_t *row, const int64_t *v, int64_t columns,
                                                     int64_t offset, int64_t i, int64_t *distance, int64_t *from)
{
    const LAP_VECTOR step = LAP_LANES - (LAP_VECTOR){0};
    const LAP_VECTOR shift = offset - (LAP_VECTOR){0};
    const LAP_VECTOR origin = i - (LAP_VECTOR){0};
    themis_lap_min_t min = {THEMIS_LAP_INFINITY, INT64_MAX, 0};
    LAP_VECTOR smallest = min.value - (LAP_VECTOR){0};
    LAP_VECTOR at = LAP_FIRST, at_smallest = at, tied = {0};
    int64_t j = 0;

    for (; j + LAP_LANES <= columns; j += LAP_LANES, at += step) {
        LAP_VECTOR t = *(const LAP_VECTOR *)(row + j) - *(const LAP_VECTOR *)(v + j) - shift;
        LAP_VECTOR d = *(const LAP_VECTOR *)(distance + j);
        LAP_VECTOR f = *(const LAP_VECTOR *)(from + j), better = t < d, below;

        __builtin_prefetch(row + j + LAP_PREFETCH);
        d = LAP_BLEND(better, t, d);
        *(LAP_VECTOR *)(distance + j) = d;
        *(LAP_VECTOR *)(from + j) = LAP_BLEND(better, origin, f);
        below = d < smallest;
        tied = ~below & (tied | (d == smallest));
        smallest = LAP_BLEND(below, d, smallest);
        at_smallest = LAP_BLEND(below, at, at_smallest);
    }
    for (int lane = 0; lane < LAP_LANES && j > 0; lane++)
        min_add(&min, smallest[lane], at_smallest[lane], tied[lane] != 0);
    for (; j < columns; j++) {
        int64_t t = row[j] - v[j] - offset;

        if (t < distance[j]) {
            distance[j] = t;
            from[j] = i;
        }
        min_add(&min, distance[j], j, 0);
    }
    return min;
}

LAP_TARGET static void LAP_KERNEL(minima)(const int64_t *row, int64_t columns, int64_t i, int64_t *v, int64_t *who)
{
    const LAP_VECTOR origin = i - (LAP_VECTOR){0};
    int64_t j = 0;

    for (; j + LAP_LANES <= columns; j += LAP_LANES) {
        LAP_VECTOR t = *(const LAP_VECTOR *)(row + j), old = *(const LAP_VECTOR *)(v + j);
        LAP_VECTOR w = *(const LAP_VECTOR *)(who + j), better = t < old;

        *(LAP_VECTOR *)(v + j) = LAP_BLEND(better, t, old);
        *(LAP_VECTOR *)(who + j) = LAP_BLEND(better, origin, w);
    }
    for (; j < columns; j++) {
        if (row[j] < v[j]) {
            v[j] = row[j];
            who[j] = i;
        }
    }
}

static const themis_lap_scan_t LAP_SCAN = {LAP_KERNEL(pair), LAP_KERNEL(relax), LAP_KERNEL(minima)};

#undef LAP_PREFETCH
#undef LAP_BLEND
#undef LAP_FIRST
#undef LAP_VECTOR
#undef LAP_KERNEL
#undef LAP_JOIN
#undef LAP_JOIN2
#undef LAP_LANES
#undef LAP_SCAN
#undef LAP_TARGET
#undef LAP_BYTES
