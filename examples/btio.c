/* SPDX-License-Identifier: BSD-3-Clause */
/* A three-dimensional array of doubles in a block-tridiagonal pattern: on q*q ranks the array is cut into q*q*q cells,
 * and each rank has one cell in each of the q slices. In slice 0 rank r has the cell in row r / q and column r % q; in
 * each further slice its cell lies one row higher and one column further right, around the edges. All of a rank's cells
 * are written with one collective call. Written from the description of figure 8(b) in "Topology-Aware Strategy for
 * MPI-IO Operations in Clusters".
 *
 *   mpirun -n 9 ./btio --size 120 themis:/btio */
#include "example.h"
#include <stdlib.h>

typedef struct {
    int begin[3];
    int length[3];
    size_t first; /* elements in the cells before this one */
} cell_t;

typedef struct {
    int size[3];
    int q;
    cell_t *cells; /* q cells, by slice */
} cells_t;

static MPI_Offset cells_index(const void *context, size_t i)
{
    const cells_t *cells = context;
    int slice = cells->q - 1;
    const cell_t *cell;
    size_t in_cell;
    MPI_Offset x, y, z;

    while (cells->cells[slice].first > i)
        slice--;
    cell = &cells->cells[slice];
    in_cell = i - cell->first;
    z = cell->begin[2] + (MPI_Offset)(in_cell % (size_t)cell->length[2]);
    y = cell->begin[1] + (MPI_Offset)(in_cell / (size_t)cell->length[2] % (size_t)cell->length[1]);
    x = cell->begin[0] + (MPI_Offset)(in_cell / (size_t)cell->length[2] / (size_t)cell->length[1]);
    return (x * cells->size[1] + y) * cells->size[2] + z;
}

/* The side of the square of ranks; ends the job if their number is no square or the array is too small. */
static int square_side(const example_options_t *options)
{
    int ranks, q = 1;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while (q * q < ranks)
        q++;
    if (q * q != ranks)
        example_check(MPI_ERR_ARG, "the number of ranks is not a square");
    for (int d = 0; d < 3; d++)
        if (options->size[d] < q)
            example_check(MPI_ERR_ARG, "the array is smaller than the square of ranks");
    return q;
}

/* Returns the number of elements of this rank. */
static size_t cells_make(const example_options_t *options, cells_t *cells)
{
    size_t count = 0;
    int rank = example_part_of_rank(options), q = square_side(options);

    cells->q = q;
    cells->cells = calloc((size_t)q, sizeof(*cells->cells));
    if (cells->cells == NULL)
        example_check(MPI_ERR_NO_MEM, "calloc");
    for (int slice = 0; slice < q; slice++) {
        cell_t *cell = &cells->cells[slice];
        int at[3] = {slice, (rank / q - slice + q) % q, (rank % q + slice) % q};

        cell->first = count;
        for (int d = 0; d < 3; d++) {
            cells->size[d] = options->size[d];
            example_part(options->size[d], q, at[d], &cell->begin[d], &cell->length[d]);
        }
        count += (size_t)cell->length[0] * (size_t)cell->length[1] * (size_t)cell->length[2];
    }
    return count;
}

/* One subarray for each slice, all at displacement 0; slices follow one another in the file, so offsets only grow. */
static MPI_Datatype cells_view(const cells_t *cells)
{
    size_t q = (size_t)cells->q;
    MPI_Datatype *types = calloc(q, sizeof(MPI_Datatype)), view;
    MPI_Aint *displacements = calloc(q, sizeof(MPI_Aint));
    int *lengths = calloc(q, sizeof(int));

    if (types == NULL || displacements == NULL || lengths == NULL)
        example_check(MPI_ERR_NO_MEM, "calloc");
    for (size_t slice = 0; slice < q; slice++) {
        lengths[slice] = 1;
        MPI_Type_create_subarray(3, cells->size, cells->cells[slice].length, cells->cells[slice].begin, MPI_ORDER_C,
                                 MPI_DOUBLE, &types[slice]);
    }
    MPI_Type_create_struct(cells->q, lengths, displacements, types, &view);
    MPI_Type_commit(&view);
    for (size_t slice = 0; slice < q; slice++)
        MPI_Type_free(&types[slice]);
    free(lengths);
    free(displacements);
    free(types);
    return view;
}

int main(int argc, char **argv)
{
    example_options_t options;
    example_array_t array = {.index = cells_index, .name = "btio"};
    cells_t cells;
    bool good;

    MPI_Init(&argc, &argv);
    example_options_parse(argc, argv, "Writes a 3-D array in a block-tridiagonal pattern, reads it back, verifies it.",
                          &options);
    array.count = cells_make(&options, &cells);
    array.view = cells_view(&cells);
    array.bytes = (MPI_Offset)sizeof(double) * cells.size[0] * cells.size[1] * cells.size[2];
    array.context = &cells;
    good = example_array_run(&options, &array);
    MPI_Type_free(&array.view);
    free(cells.cells);
    example_options_free(&options);
    MPI_Finalize();
    return good ? 0 : 1;
}
