/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program without MPI that opens a library with it, which others do not see, as Python does with mpi4py.
 *
 *   late LIBRARY ARGUMENT...     runs the library's own_io_run (test/adio/own_io.c) with the arguments, in the
 *                                directory LATE_DIRECTORY of the environment, if that is set
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *directory = getenv("LATE_DIRECTORY");

    if (directory && chdir(directory) != 0)
        return 1;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(int, char **) = NULL;

    if (library)
        *(void **)&run = dlsym(library, "own_io_run");
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return run(argc - 1, argv + 1);
}
