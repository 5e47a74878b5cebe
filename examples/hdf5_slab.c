/* SPDX-License-Identifier: BSD-3-Clause */
/* Parallel HDF5: two datasets of the same doubles, one contiguous and one chunked; each rank writes a slab of rows of
 * the one and a slab of columns of the other collectively, reads them back, and compares. Element (i, j) is i * columns
 * + j.
 *
 *   mpirun -n 4 ./hdf5_slab themis:/slab.h5 512 384 100 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    hsize_t rows, columns, chunk; /* chunk: side of a square chunk in elements */
    int rank, ranks;
} slab_t;

typedef struct {
    hsize_t begin[2], length[2];
} box_t;

static void need(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Rank's share of dimension `along`, the whole of the other. */
static box_t slab_box(const slab_t *slab, int along)
{
    hsize_t size[2] = {slab->rows, slab->columns}, rank = (hsize_t)slab->rank, ranks = (hsize_t)slab->ranks;
    box_t box = {{0, 0}, {slab->rows, slab->columns}};

    box.begin[along] = size[along] * rank / ranks;
    box.length[along] = size[along] * (rank + 1) / ranks - box.begin[along];
    return box;
}

static double value(const slab_t *slab, const box_t *box, hsize_t i)
{
    hsize_t row = box->begin[0] + i / box->length[1], column = box->begin[1] + i % box->length[1];

    return (double)(row * slab->columns + column);
}

static hid_t dataset_create(hid_t file, const slab_t *slab, const char *name, int chunked)
{
    hsize_t size[2] = {slab->rows, slab->columns};
    hsize_t chunk[2] = {slab->chunk < slab->rows ? slab->chunk : slab->rows,
                        slab->chunk < slab->columns ? slab->chunk : slab->columns};
    hid_t space = H5Screate_simple(2, size, NULL), how = H5Pcreate(H5P_DATASET_CREATE), set;

    if (chunked)
        need(H5Pset_chunk(how, 2, chunk) >= 0, "H5Pset_chunk");
    set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    need(set >= 0, "H5Dcreate2");
    H5Pclose(how);
    H5Sclose(space);
    return set;
}

/* Moves this rank's box between the dataset and memory, collectively. */
static void dataset_move(hid_t set, const box_t *box, int write, double *data)
{
    hid_t in_file = H5Dget_space(set), in_memory = H5Screate_simple(2, box->length, NULL);
    hid_t how = H5Pcreate(H5P_DATASET_XFER);
    herr_t rc;

    need(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE) >= 0, "H5Pset_dxpl_mpio");
    need(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, box->begin, NULL, box->length, NULL) >= 0, "H5Sselect_hyperslab");
    if (write)
        rc = H5Dwrite(set, H5T_NATIVE_DOUBLE, in_memory, in_file, how, data);
    else
        rc = H5Dread(set, H5T_NATIVE_DOUBLE, in_memory, in_file, how, data);
    need(rc >= 0, write ? "H5Dwrite" : "H5Dread");
    H5Pclose(how);
    H5Sclose(in_memory);
    H5Sclose(in_file);
}

static hid_t file_open(const char *name, int create)
{
    hid_t how = H5Pcreate(H5P_FILE_ACCESS), file;

    need(H5Pset_fapl_mpio(how, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
    file = create ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, how) : H5Fopen(name, H5F_ACC_RDONLY, how);
    need(file >= 0, create ? "H5Fcreate" : "H5Fopen");
    H5Pclose(how);
    return file;
}

static const char *const set_names[] = {"contiguous", "chunked"};

static void write_all(const slab_t *slab, const char *name)
{
    hid_t file = file_open(name, 1), set;

    for (int which = 0; which < 2; which++) {
        box_t box = slab_box(slab, which);
        hsize_t count = box.length[0] * box.length[1];
        double *data = malloc((size_t)(count + 1) * sizeof(*data));

        need(data != NULL, "malloc");
        for (hsize_t i = 0; i < count; i++)
            data[i] = value(slab, &box, i);
        set = dataset_create(file, slab, set_names[which], which == 1);
        dataset_move(set, &box, 1, data);
        need(H5Dclose(set) >= 0, "H5Dclose");
        free(data);
    }
    need(H5Fclose(file) >= 0, "H5Fclose");
}

/* Reads across the direction of the write, so that no rank reads only what it wrote. Returns what differs. */
static long read_all(const slab_t *slab, const char *name)
{
    hid_t file = file_open(name, 0), set;
    long wrong = 0;

    for (int which = 0; which < 2; which++) {
        box_t box = slab_box(slab, 1 - which);
        hsize_t count = box.length[0] * box.length[1];
        double *data = calloc((size_t)(count + 1), sizeof(*data));

        need(data != NULL, "calloc");
        set = H5Dopen2(file, set_names[which], H5P_DEFAULT);
        need(set >= 0, "H5Dopen2");
        dataset_move(set, &box, 0, data);
        for (hsize_t i = 0; i < count; i++) {
            double want = value(slab, &box, i);

            wrong += memcmp(&want, &data[i], sizeof(want)) != 0;
        }
        H5Dclose(set);
        free(data);
    }
    need(H5Fclose(file) >= 0, "H5Fclose");
    return wrong;
}

int main(int argc, char **argv)
{
    slab_t slab = {.rows = 256, .columns = 256, .chunk = 64};
    long wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &slab.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &slab.ranks);
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE [ROWS [COLUMNS [CHUNK]]]\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    slab.rows = argc > 2 ? strtoull(argv[2], NULL, 10) : slab.rows;
    slab.columns = argc > 3 ? strtoull(argv[3], NULL, 10) : slab.columns;
    slab.chunk = argc > 4 ? strtoull(argv[4], NULL, 10) : slab.chunk;
    need(slab.rows > 0 && slab.columns > 0 && slab.chunk > 0, "reading the sizes");
    write_all(&slab, argv[1]);
    wrong = read_all(&slab, argv[1]);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (slab.rank == 0)
        printf("hdf5_slab: %llu x %llu doubles, chunks of %llu, %d ranks, %s: %s\n", (unsigned long long)slab.rows,
               (unsigned long long)slab.columns, (unsigned long long)slab.chunk, slab.ranks, argv[1],
               wrong == 0 ? "every element verified" : "WRONG DATA");
    MPI_Finalize();
    return wrong != 0;
}
