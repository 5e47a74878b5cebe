/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_door: accesses by MPI-IO that test/mount/exercise.py asks for on standard input. A line "write LENGTH OFFSET
 * NAME" is followed by as many bytes, and answered by a line with what was written; "read LENGTH OFFSET NAME" by a line
 * with the number of bytes that there are, and these. -1: it has failed.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 5000, LARGEST = 1 << 20 };

static char bytes[LARGEST];

static int access_file(const char *name, int is_write, long offset, int length)
{
    MPI_Status status;
    MPI_File file;
    int done;

    if (MPI_File_open(MPI_COMM_SELF, name, is_write ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL,
                      &file))
        return -1;
    const int failed = is_write ? MPI_File_write_at(file, offset, bytes, length, MPI_BYTE, &status)
                                : MPI_File_read_at(file, offset, bytes, length, MPI_BYTE, &status);
    if (MPI_File_close(&file) || failed || MPI_Get_count(&status, MPI_BYTE, &done))
        return -1;
    return done;
}

/* 0: the line is not understood. */
static int serve(char *line)
{
    char *at = strchr(line, ' ');
    const int is_write = strncmp(line, "write ", 6) == 0;

    line[strcspn(line, "\n")] = '\0';
    if (!at)
        return 0;
    const long length = strtol(at, &at, 10), offset = strtol(at, &at, 10);
    if (length < 0 || length > LARGEST || offset < 0 || *at != ' ')
        return 0;
    if (is_write && fread(bytes, 1, (size_t)length, stdin) != (size_t)length)
        return 0;
    const int done = access_file(at + 1, is_write, offset, (int)length);
    printf("%d\n", done);
    if (!is_write && done > 0)
        fwrite(bytes, 1, (size_t)done, stdout);
    fflush(stdout);
    return 1;
}

int main(int argc, char **argv)
{
    char line[LINE];

    MPI_Init(&argc, &argv);
    while (fgets(line, sizeof line, stdin) && serve(line))
        ;
    MPI_Finalize();
    return 0;
}
