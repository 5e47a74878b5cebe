/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program whose own MPI-IO goes on where Themis does not serve it; compiled as a program, and as a library that
 * test/adio/late.c opens.
 *
 *   mpirun -n N own_io open FILE LOCAL-FILE     FILE cannot be opened: the default handler is called, and the class is
 *                                               MPI_ERR_NO_SUCH_FILE; LOCAL-FILE can be written and read
 *   own_io delete FILE                          FILE cannot be removed, likewise
 *   mpirun -n N own_io use FILE                 FILE can be written and read
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int own_io_run(int argc, char **argv);

static int handled;

static void on_error(MPI_File *file, int *code, ...)
{
    handled++;
}

static int is_absent(int code)
{
    int class = 0;

    MPI_Error_class(code, &class);
    if (class == MPI_ERR_NO_SUCH_FILE)
        return 1;
    printf("code %d has class %d\n", code, class);
    return 0;
}

static int cannot_open(const char *name)
{
    MPI_File file;
    MPI_Errhandler handler;

    MPI_File_create_errhandler(on_error, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    int code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    int again = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    if (handled != 2)
        printf("the handler was called %d times\n", handled);
    return is_absent(code) && is_absent(again) && handled == 2;
}

static int use(const char *name)
{
    char mine[8], theirs[8] = "";
    MPI_File file;
    MPI_Status status;
    MPI_Offset size;
    int rank, ranks, bytes;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(mine, sizeof mine, "rank %2d", rank);
    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return 0;
    MPI_File_write_at_all(file, 8L * rank, mine, 8, MPI_CHAR, &status);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek(file, 8L * rank, MPI_SEEK_SET);
    MPI_File_read(file, theirs, 8, MPI_CHAR, &status);
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    MPI_File_get_size(file, &size);
    return MPI_File_close(&file) == MPI_SUCCESS && bytes == 8 && size == 8L * ranks && strcmp(mine, theirs) == 0;
}

int own_io_run(int argc, char **argv)
{
    int good = 0;

    MPI_Init(&argc, &argv);
    if (argc == 4 && strcmp(argv[1], "open") == 0)
        good = cannot_open(argv[2]) && use(argv[3]);
    else if (argc == 3 && strcmp(argv[1], "delete") == 0)
        good = is_absent(MPI_File_delete(argv[2], MPI_INFO_NULL));
    else if (argc == 3 && strcmp(argv[1], "use") == 0)
        good = use(argv[2]);
    MPI_Finalize();
    return !good;
}

#ifndef LATE
int main(int argc, char **argv)
{
    return own_io_run(argc, argv);
}
#endif
