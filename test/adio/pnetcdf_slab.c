/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dataset of PnetCDF: mpirun -n N pnetcdf_slab FILE. Each rank writes some rows of two variables, collectively and
 * without blocking, and reads those of the next rank before the file is closed: ncmpi_open looks at its file with
 * open(2), and there is none under a name on servers.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 37, COLUMNS = 211 }; /* ROWS of each rank */

static int rank, ranks;

static void need(int code, const char *what)
{
    if (code == NC_NOERR)
        return;
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, ncmpi_strerror(code));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Element (i, j) of variable `v`. */
static int element(int v, int i, int j)
{
    return v * 1000000 + i * COLUMNS + j;
}

static int compare(int file, int variable, int v)
{
    static int found[ROWS][COLUMNS];
    int first = (rank + 1) % ranks * ROWS, wrong = 0;
    MPI_Offset start[2] = {first, 0}, count[2] = {ROWS, COLUMNS};

    need(ncmpi_get_vara_int_all(file, variable, start, count, &found[0][0]), "get_vara_int_all");
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            wrong += found[i][j] != element(v, first + i, j);
    return wrong;
}

int main(int argc, char **argv)
{
    static int data[2][ROWS][COLUMNS];
    int file, dims[2], variable[2], request, status, wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Offset start[2] = {rank * ROWS, 0}, count[2] = {ROWS, COLUMNS};
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                data[v][i][j] = element(v, rank * ROWS + i, j);
    need(ncmpi_create(MPI_COMM_WORLD, argc > 1 ? argv[1] : "", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
         "create");
    need(ncmpi_def_dim(file, "rows", (MPI_Offset)ROWS * ranks, &dims[0]), "def_dim");
    need(ncmpi_def_dim(file, "columns", COLUMNS, &dims[1]), "def_dim");
    need(ncmpi_def_var(file, "blocking", NC_INT, 2, dims, &variable[0]), "def_var");
    need(ncmpi_def_var(file, "posted", NC_INT, 2, dims, &variable[1]), "def_var");
    need(ncmpi_enddef(file), "enddef");
    need(ncmpi_put_vara_int_all(file, variable[0], start, count, &data[0][0][0]), "put_vara_int_all");
    need(ncmpi_iput_vara_int(file, variable[1], start, count, &data[1][0][0], &request), "iput_vara_int");
    need(ncmpi_wait_all(file, 1, &request, &status), "wait_all");
    need(status, "the posted write");
    need(ncmpi_sync(file), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    wrong = compare(file, variable[0], 0) + compare(file, variable[1], 1);
    need(ncmpi_close(file), "close");
    if (wrong)
        fprintf(stderr, "rank %d: %d elements are wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
