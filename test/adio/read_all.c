/* SPDX-License-Identifier: BSD-3-Clause */
/* read_all FILE: all ranks read the whole file, collectively and each by itself; prints the first error, and fails. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 8 << 20 };

static int failed(int error)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (error == MPI_SUCCESS)
        return 0;
    MPI_Error_string(error, text, &length);
    puts(text);
    return 1;
}

int main(int argc, char **argv)
{
    char *bytes = malloc(BYTES);
    MPI_File file;
    int result = 1;

    MPI_Init(&argc, &argv);
    if (bytes && argc == 2 && !failed(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file))) {
        int collective = failed(MPI_File_read_at_all(file, 0, bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        int independent = failed(MPI_File_read_at(file, 0, bytes, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        result = collective + 2 * independent;
        MPI_File_close(&file);
    }
    free(bytes);
    MPI_Finalize();
    return result;
}
