/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases, and where their pieces lie. */
#include "compare.h"
#include <stdlib.h>
#include <string.h>

static const bench_case_t cases[] = {
    /* name, piece, layout, collective, view, calls, fresh */
    {"contiguous_1mib_collective", BENCH_MIB, BENCH_REGION, true, false, 0, false},
    {"contiguous_1mib_independent", BENCH_MIB, BENCH_REGION, false, false, 0, false},
    {"contiguous_1mib_first_pass", BENCH_MIB, BENCH_REGION, false, false, 0, true},
    {"contiguous_64kib_collective", 65536, BENCH_REGION, true, false, 0, false},
    {"file_per_process_1mib", BENCH_MIB, BENCH_OWN_FILE, false, false, 0, false},
    {"file_per_process_4kib", 4096, BENCH_OWN_FILE, false, false, 0, false},
    {"independent_4kib", 4096, BENCH_REGION, false, false, 0, false},
    {"independent_4kib_random", 4096, BENCH_RANDOM, false, false, 0, false},
    {"interleaved_4kib_collective", 4096, BENCH_ALTERNATE, true, true, 0, false},
    {"interleaved_4kib_no_view", 4096, BENCH_ALTERNATE, true, false, 0, false},
    {"vector_64b_collective", 64, BENCH_ALTERNATE, true, true, 4, false},
    {"vector_4kib_collective", 4096, BENCH_ALTERNATE, true, true, 4, false},
    {"vector_4kib_independent", 4096, BENCH_ALTERNATE, false, true, 4, false},
    {"array_3d_collective", 0, BENCH_ARRAY, true, true, 1, false},
};

const bench_case_t *bench_case_at(size_t index)
{
    return index < sizeof(cases) / sizeof(cases[0]) ? &cases[index] : NULL;
}

const bench_case_t *bench_case_find(const char *name)
{
    const bench_case_t *found;

    for (size_t i = 0; (found = bench_case_at(i)) != NULL; i++)
        if (strcmp(found->name, name) == 0)
            return found;
    return NULL;
}

/* A cube of doubles cut over a grid of ranks, the dimension that varies fastest in the file first: a part lies in
 * pieces however few ranks there are. */
static void array_set(bench_t *bench, size_t total)
{
    int side = 8, largest_first[3] = {0, 0, 0}, at[3];

    MPI_Dims_create(bench->ranks, 3, largest_first);
    const int grid[3] = {largest_first[2], largest_first[1], largest_first[0]};
    while ((size_t)(side + 8) * (size_t)(side + 8) * (size_t)(side + 8) * sizeof(double) <= total)
        side += 8;
    at[0] = bench->rank / (grid[1] * grid[2]);
    at[1] = bench->rank / grid[2] % grid[1];
    at[2] = bench->rank % grid[2];
    for (int d = 0; d < 3; d++) {
        bench->begin[d] = side * at[d] / grid[d];
        bench->part[d] = side * (at[d] + 1) / grid[d] - bench->begin[d];
    }
    bench->side = side;
    bench->piece = (size_t)bench->part[2] * sizeof(double);
    bench->bytes = bench->piece * (size_t)bench->part[0] * (size_t)bench->part[1];
    bench->file_bytes = (size_t)side * (size_t)side * (size_t)side * sizeof(double);
}

static uint32_t random_below(uint32_t bound)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 32) * bound >> 32);
}

/* Every rank shuffles the places of all pieces alike, and takes its part of them. */
static void random_set(bench_t *bench)
{
    uint32_t count = (uint32_t)(bench->file_bytes / bench->piece), mine = (uint32_t)(bench->bytes / bench->piece);
    uint32_t *place = malloc(count * sizeof(*place));

    if (place == NULL)
        bench_need(MPI_ERR_NO_MEM, "malloc");
    for (uint32_t i = 0; i < count; i++)
        place[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = random_below(i), kept = place[i - 1];

        place[i - 1] = place[other];
        place[other] = kept;
    }
    memmove(place, place + (size_t)mine * (size_t)bench->rank, mine * sizeof(*place));
    bench->random = place;
}

void bench_layout_set(bench_t *bench, size_t total)
{
    if (bench->what->layout == BENCH_ARRAY) {
        array_set(bench, total);
        return;
    }
    bench->piece = bench->what->piece;
    bench->bytes = (total / (size_t)bench->ranks + BENCH_MIB - 1) / BENCH_MIB * BENCH_MIB;
    bench->file_bytes = bench->bytes * (bench->what->layout == BENCH_OWN_FILE ? 1 : (size_t)bench->ranks);
    if (bench->what->layout == BENCH_RANDOM)
        random_set(bench);
}

static size_t array_place(const bench_t *bench, size_t index)
{
    size_t side = (size_t)bench->side, rows = (size_t)bench->part[1];
    size_t slowest = (size_t)bench->begin[0] + index / rows, middle = (size_t)bench->begin[1] + index % rows;

    return ((slowest * side + middle) * side + (size_t)bench->begin[2]) * sizeof(double);
}

size_t bench_layout_place(const bench_t *bench, size_t index)
{
    switch (bench->what->layout) {
    case BENCH_REGION:
        return bench->bytes * (size_t)bench->rank + index * bench->piece;
    case BENCH_ALTERNATE:
        return (index * (size_t)bench->ranks + (size_t)bench->rank) * bench->piece;
    case BENCH_RANDOM:
        return bench->random[index] * bench->piece;
    case BENCH_ARRAY:
        return array_place(bench, index);
    case BENCH_OWN_FILE:
        break;
    }
    return index * bench->piece;
}

MPI_Offset bench_layout_view(const bench_t *bench, MPI_Datatype *etype, MPI_Datatype *view)
{
    MPI_Aint row = (MPI_Aint)bench->piece * bench->ranks;
    const int size[3] = {bench->side, bench->side, bench->side};
    MPI_Datatype block;

    if (bench->what->layout == BENCH_ARRAY) {
        *etype = MPI_DOUBLE;
        MPI_Type_create_subarray(3, size, bench->part, bench->begin, MPI_ORDER_C, MPI_DOUBLE, view);
        MPI_Type_commit(view);
        return 0;
    }
    *etype = MPI_BYTE;
    MPI_Type_contiguous((int)bench->piece, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, row, view);
    MPI_Type_free(&block);
    MPI_Type_commit(view);
    return (MPI_Offset)bench->piece * bench->rank;
}
