/* SPDX-License-Identifier: BSD-3-Clause */
/* A three-dimensional array of doubles, row-major in one file, cut into blocks: each rank writes and reads one block
 * through a subarray view, collectively. The pattern of the first benchmark of "Topology-Aware Strategy for MPI-IO
 * Operations in Clusters", figure 8(a).
 *
 *   mpirun -n 8 ./cube --size 256 themis:/cube */
#include "example.h"

typedef struct {
    int size[3];   /* of the whole array */
    int begin[3];  /* of this rank's block */
    int length[3]; /* of this rank's block */
} block_t;

static MPI_Offset block_index(const void *context, size_t i)
{
    const block_t *block = context;
    MPI_Offset z = block->begin[2] + (MPI_Offset)(i % (size_t)block->length[2]);
    MPI_Offset y = block->begin[1] + (MPI_Offset)(i / (size_t)block->length[2] % (size_t)block->length[1]);
    MPI_Offset x = block->begin[0] + (MPI_Offset)(i / (size_t)block->length[2] / (size_t)block->length[1]);

    return (x * block->size[1] + y) * block->size[2] + z;
}

/* Cuts the array over a grid of ranks that is as close to a cube as their number allows. */
static void block_make(const example_options_t *options, block_t *block)
{
    int rank = example_part_of_rank(options), ranks, grid[3] = {0, 0, 0}, at[3];

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, grid);
    at[0] = rank / (grid[1] * grid[2]);
    at[1] = rank / grid[2] % grid[1];
    at[2] = rank % grid[2];
    for (int d = 0; d < 3; d++) {
        block->size[d] = options->size[d];
        example_part(options->size[d], grid[d], at[d], &block->begin[d], &block->length[d]);
        if (options->size[d] < grid[d])
            example_check(MPI_ERR_ARG, "the array is smaller than the grid of ranks");
    }
}

int main(int argc, char **argv)
{
    example_options_t options;
    example_array_t array = {.index = block_index, .name = "cube"};
    block_t block;
    bool good;

    MPI_Init(&argc, &argv);
    example_options_parse(argc, argv, "Writes a 3-D array in blocks, reads it back and verifies every byte.", &options);
    block_make(&options, &block);
    MPI_Type_create_subarray(3, block.size, block.length, block.begin, MPI_ORDER_C, MPI_DOUBLE, &array.view);
    MPI_Type_commit(&array.view);
    array.count = (size_t)block.length[0] * (size_t)block.length[1] * (size_t)block.length[2];
    array.bytes = (MPI_Offset)sizeof(double) * block.size[0] * block.size[1] * block.size[2];
    array.context = &block;
    good = example_array_run(&options, &array);
    MPI_Type_free(&array.view);
    example_options_free(&options);
    MPI_Finalize();
    return good ? 0 : 1;
}
