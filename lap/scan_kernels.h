/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The passes for one instruction set, written with vectors of LAP_BYTES bytes. Included by scan.h with LAP_BYTES,
 * LAP_TARGET and LAP_SCANS (the name of the table that results) defined; undefines them.
 */
#define LAP_LANES (LAP_BYTES / 8)
#define LAP_JOIN2(a, b) a##_##b
#define LAP_JOIN(a, b) LAP_JOIN2(a, b)
#define LAP_KERNEL(name) LAP_JOIN(LAP_SCANS, name)
#define LAP_VECTOR LAP_KERNEL(vector_t)
#define LAP_MASK LAP_KERNEL(mask_t)
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

typedef lap_scalar_t LAP_VECTOR __attribute__((vector_size(LAP_BYTES), aligned(8), may_alias));
typedef int64_t LAP_MASK __attribute__((vector_size(LAP_BYTES), aligned(8), may_alias));

/* Rows are met in no order that a processor foresees, and its own prefetching ends with each page. */
#define LAP_AHEAD 192

/* Lane by lane: yes where the mask is all ones, no where it is zero. */
#define LAP_BLEND(mask, yes, no) (((LAP_MASK)(yes) & (mask)) | ((LAP_MASK)(no) & ~(mask)))

/* The two smallest of row[j] - v[j]; on equal values the lower columns. With one column, second is LAP_INFINITY. */
LAP_TARGET static lap_pair_t LAP_KERNEL(pair)(const lap_scalar_t *row, const lap_scalar_t *v, int64_t columns)
{
    const LAP_MASK step = LAP_LANES - (LAP_MASK){0};
    lap_pair_t pair = {LAP_INFINITY, LAP_INFINITY, INT64_MAX, INT64_MAX};
    LAP_VECTOR first = pair.first - (LAP_VECTOR){0}, second = first;
    LAP_MASK at = LAP_FIRST, at_first = at, at_second = at;
    int64_t j = 0;

    for (; j + LAP_LANES <= columns; j += LAP_LANES, at += step) {
        LAP_VECTOR t = *(const LAP_VECTOR *)(row + j) - *(const LAP_VECTOR *)(v + j);
        LAP_MASK below_first = t < first, below_second = t < second;

        __builtin_prefetch(row + j + LAP_AHEAD);
        second = (LAP_VECTOR)LAP_BLEND(below_first, first, LAP_BLEND(below_second, t, second));
        at_second = LAP_BLEND(below_first, at_first, LAP_BLEND(below_second, at, at_second));
        first = (LAP_VECTOR)LAP_BLEND(below_first, t, first);
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

/* One step of Dijkstra: distance[j] = min(distance[j], row[j] - v[j] - offset), from[j] = i where it became less. */
LAP_TARGET static lap_least_t LAP_KERNEL(relax)(const lap_scalar_t *row, const lap_scalar_t *v, int64_t columns,
                                                lap_scalar_t offset, int64_t i, lap_scalar_t *distance, int64_t *from)
{
    const LAP_MASK step = LAP_LANES - (LAP_MASK){0};
    const LAP_VECTOR shift = offset - (LAP_VECTOR){0};
    const LAP_MASK origin = i - (LAP_MASK){0};
    lap_least_t least = {LAP_INFINITY, INT64_MAX, 0};
    LAP_VECTOR smallest = least.value - (LAP_VECTOR){0};
    LAP_MASK at = LAP_FIRST, at_smallest = at, tied = {0};
    int64_t j = 0;

    for (; j + LAP_LANES <= columns; j += LAP_LANES, at += step) {
        LAP_VECTOR t = *(const LAP_VECTOR *)(row + j) - *(const LAP_VECTOR *)(v + j) - shift;
        LAP_VECTOR d = *(const LAP_VECTOR *)(distance + j);
        LAP_MASK f = *(const LAP_MASK *)(from + j), better = t < d, below;

        __builtin_prefetch(row + j + LAP_AHEAD);
        d = (LAP_VECTOR)LAP_BLEND(better, t, d);
        *(LAP_VECTOR *)(distance + j) = d;
        *(LAP_MASK *)(from + j) = LAP_BLEND(better, origin, f);
        below = d < smallest;
        tied = ~below & (tied | (d == smallest));
        smallest = (LAP_VECTOR)LAP_BLEND(below, d, smallest);
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
LAP_TARGET static void LAP_KERNEL(minima)(const lap_scalar_t *row, int64_t columns, int64_t i, lap_scalar_t *v,
                                          int64_t *who)
{
    const LAP_MASK origin = i - (LAP_MASK){0};
    int64_t j = 0;

    for (; j + LAP_LANES <= columns; j += LAP_LANES) {
        LAP_VECTOR t = *(const LAP_VECTOR *)(row + j), old = *(const LAP_VECTOR *)(v + j);
        LAP_MASK w = *(const LAP_MASK *)(who + j), better = t < old;

        *(LAP_VECTOR *)(v + j) = (LAP_VECTOR)LAP_BLEND(better, t, old);
        *(LAP_MASK *)(who + j) = LAP_BLEND(better, origin, w);
    }
    for (; j < columns; j++) {
        if (row[j] < v[j]) {
            v[j] = row[j];
            who[j] = i;
        }
    }
}

/* Whether any cost is not from -limit to limit; true for what is no number. */
LAP_TARGET static bool LAP_KERNEL(outside)(const lap_scalar_t *cost, size_t count, lap_scalar_t limit)
{
    const LAP_VECTOR most = limit - (LAP_VECTOR){0}, least = -limit - (LAP_VECTOR){0};
    LAP_MASK within = ~(LAP_MASK){0};
    size_t k = 0;

    for (; k + LAP_LANES <= count; k += LAP_LANES) {
        LAP_VECTOR c = *(const LAP_VECTOR *)(cost + k);

        within &= (c <= most) & (c >= least);
    }
    for (int lane = 0; lane < LAP_LANES; lane++)
        if (within[lane] == 0)
            return true;
    for (; k < count; k++)
        if (!(cost[k] <= limit && cost[k] >= -limit))
            return true;
    return false;
}

static const lap_scans_t LAP_SCANS = {LAP_KERNEL(pair), LAP_KERNEL(relax), LAP_KERNEL(outside), LAP_KERNEL(minima)};

#undef LAP_AHEAD
#undef LAP_BLEND
#undef LAP_FIRST
#undef LAP_MASK
#undef LAP_VECTOR
#undef LAP_KERNEL
#undef LAP_JOIN
#undef LAP_JOIN2
#undef LAP_LANES
#undef LAP_SCANS
#undef LAP_TARGET
#undef LAP_BYTES
