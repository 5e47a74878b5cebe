/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file of parallel HDF5 that the program does not close: HDF5 closes it in MPI_Finalize.
 *
 *   finalize_hdf5 write|read FILE
 *
 * Each rank has some rows of the dataset; element (i, j) is i * COLUMNS + j. "read" takes the next rank's.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 50, COLUMNS = 1000 }; /* ROWS of each rank */

static int rank, ranks;
static int data[ROWS][COLUMNS];

static void need(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "rank %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static hid_t file_open(const char *name, int create)
{
    hid_t how = H5Pcreate(H5P_FILE_ACCESS), file;

    need(H5Pset_fapl_mpio(how, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
    file = create ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, how) : H5Fopen(name, H5F_ACC_RDONLY, how);
    need(file >= 0, "opening the file");
    return file;
}

/* The rows of `owner`, collectively. */
static void rows_move(hid_t set, int owner, int write)
{
    hsize_t begin[2] = {(hsize_t)owner * ROWS, 0}, size[2] = {ROWS, COLUMNS};
    hid_t in_file = H5Dget_space(set), in_memory = H5Screate_simple(2, size, NULL), how = H5Pcreate(H5P_DATASET_XFER);
    herr_t rc;

    need(H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE) >= 0, "H5Pset_dxpl_mpio");
    need(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, begin, NULL, size, NULL) >= 0, "H5Sselect_hyperslab");
    rc = write ? H5Dwrite(set, H5T_NATIVE_INT, in_memory, in_file, how, data)
               : H5Dread(set, H5T_NATIVE_INT, in_memory, in_file, how, data);
    need(rc >= 0, write ? "H5Dwrite" : "H5Dread");
}

static void file_write(const char *name)
{
    hsize_t size[2] = {(hsize_t)ranks * ROWS, COLUMNS};
    hid_t file = file_open(name, 1);
    hid_t set = H5Dcreate2(file, "rows", H5T_NATIVE_INT, H5Screate_simple(2, size, NULL), H5P_DEFAULT, H5P_DEFAULT,
                           H5P_DEFAULT);

    need(set >= 0, "H5Dcreate2");
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            data[i][j] = (rank * ROWS + i) * COLUMNS + j;
    rows_move(set, rank, 1);
}

static int file_read(const char *name)
{
    int owner = (rank + 1) % ranks, wrong = 0;
    hid_t set = H5Dopen2(file_open(name, 0), "rows", H5P_DEFAULT);

    need(set >= 0, "H5Dopen2");
    rows_move(set, owner, 0);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            wrong += data[i][j] != (owner * ROWS + i) * COLUMNS + j;
    if (wrong)
        fprintf(stderr, "rank %d: %d elements are wrong\n", rank, wrong);
    return wrong;
}

int main(int argc, char **argv)
{
    int wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    need(argc == 3, "finalize_hdf5 write|read FILE:");
    if (strcmp(argv[1], "write") == 0)
        file_write(argv[2]);
    else
        wrong = file_read(argv[2]);
    MPI_Finalize();
    return wrong != 0;
}
