/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel HDF5, some small collective writes to a dataset, then a collective read of all of it. With H5S_ALL HDF5
 * makes of the read one independent read by rank 0 and a broadcast, and no MPI_File_sync comes before it.
 *
 *   mpirun -n N ./order_hdf5 FILE [SECONDS]     the last rank comes so late to each read
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART = 128, WRITES = 2, STEPS = 4 }; /* PART: elements of a rank in a write */

static int rank, ranks;

static void need(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int value(int step, hsize_t index)
{
    return (step + 1) * 1000000 + (int)index;
}

/* The part of this rank in one of the writes of a step. */
static void write_part(hid_t set, hid_t how, int step, int turn)
{
    hsize_t begin = (hsize_t)(turn * ranks + rank) * PART, length = PART;
    hid_t in_file = H5Dget_space(set), in_memory = H5Screate_simple(1, &length, NULL);
    int data[PART];

    for (hsize_t i = 0; i < PART; i++)
        data[i] = value(step, begin + i);
    H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &begin, NULL, &length, NULL);
    need(H5Dwrite(set, H5T_NATIVE_INT, in_memory, in_file, how, data) >= 0, "H5Dwrite");
    H5Sclose(in_memory);
    H5Sclose(in_file);
}

/* How many elements of the whole dataset are not what this step has written. */
static int read_all(hid_t set, hid_t how, int step, int *data)
{
    int count = WRITES * ranks * PART, wrong = 0;

    memset(data, 0xa5, (size_t)count * sizeof *data);
    need(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, how, data) >= 0, "H5Dread");
    for (int i = 0; i < count; i++)
        wrong += data[i] != value(step, (hsize_t)i);
    return wrong;
}

static int run(hid_t set, double late)
{
    int *data = malloc((size_t)WRITES * (size_t)ranks * PART * sizeof *data), sum = 0;
    hid_t how = H5Pcreate(H5P_DATASET_XFER);

    need(data && H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE) >= 0, "H5Pset_dxpl_mpio");
    for (int step = 0; step < STEPS; step++) {
        for (int turn = 0; turn < WRITES; turn++)
            write_part(set, how, step, turn);
        if (rank == ranks - 1)
            usleep((useconds_t)(late * 1e6));
        int wrong = read_all(set, how, step, data);
        if (wrong)
            printf("step %d: rank %d: %d of %d elements are wrong\n", step, rank, wrong, WRITES * ranks * PART);
        sum += wrong;
        MPI_Barrier(MPI_COMM_WORLD); /* the next step writes where others may still read */
    }
    H5Pclose(how);
    free(data);
    return sum;
}

int main(int count, char **words)
{
    hsize_t elements;
    int sum, all;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    need(count > 1, "reading the arguments");
    elements = (hsize_t)WRITES * (hsize_t)ranks * PART;
    hid_t how = H5Pcreate(H5P_FILE_ACCESS), space = H5Screate_simple(1, &elements, NULL);
    need(H5Pset_fapl_mpio(how, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "H5Pset_fapl_mpio");
    hid_t file = H5Fcreate(words[1], H5F_ACC_TRUNC, H5P_DEFAULT, how);
    need(file >= 0, "H5Fcreate");
    hid_t set = H5Dcreate2(file, "set", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    need(set >= 0, "H5Dcreate2");
    sum = run(set, count > 2 ? atof(words[2]) : 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(how);
    need(H5Fclose(file) >= 0, "H5Fclose");
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("order_hdf5: %d ranks, %s: %d elements are wrong\n", ranks, words[1], all);
    MPI_Finalize();
    return all != 0;
}
