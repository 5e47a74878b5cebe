/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error handlers of files: handlers CASE FILE, on any file system. "fatal" is aborted by MPI_ERRORS_ARE_FATAL, so its
 * exit status must not be 0; that of the others is 0 if all checks passed.
 */
#include "cases.h"

static int called, code_seen;
static MPI_File file_seen;

static void handler(MPI_File *file, int *code, ...)
{
    called++;
    code_seen = *code;
    file_seen = *file;
}

/* A wrong call: a count below 0. */
static int wrong(MPI_File file)
{
    char byte = 0;

    return MPI_File_write_at(file, 0, &byte, -1, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void own_handler(const char *name)
{
    MPI_File file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Errhandler own, found;
    int code;

    MPI_File_create_errhandler(handler, &own);
    MPI_File_set_errhandler(file, own);
    MPI_File_get_errhandler(file, &found);
    expect(found == own, "the handler is the file's");
    MPI_Errhandler_free(&found);
    code = wrong(file);
    expect(called == 1 && code_seen == code && file_seen == file, "it is called once, with file and code");
    expect(class_of(code) == MPI_ERR_COUNT, "and the call returns the code");
    expect(MPI_File_call_errhandler(file, MPI_ERR_IO) == MPI_SUCCESS && called == 2, "it can be called");
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    expect(wrong(file) != MPI_SUCCESS && called == 2, "MPI_ERRORS_RETURN only returns");
    MPI_Errhandler_free(&own);
    MPI_File_close(&file);
}

/* The handler of MPI_FILE_NULL is used for calls without a file, and inherited by files that are opened. */
static void default_handler(const char *name)
{
    MPI_File file = MPI_FILE_NULL;
    MPI_Errhandler own, found;

    MPI_File_create_errhandler(handler, &own);
    MPI_File_set_errhandler(MPI_FILE_NULL, own);
    expect(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS,
           "a wrong mode is an error");
    expect(called == 1, "the handler of MPI_FILE_NULL is called");
#ifndef OMPI_MAJOR_VERSION /* which does not call it for that handle */
    expect(file_seen == MPI_FILE_NULL, "with that handle");
#endif
    file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_File_get_errhandler(file, &found);
    expect(found == own, "a file inherits it");
    MPI_Errhandler_free(&found);
    wrong(file);
    expect(called == 2, "and calls it");
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    /* MPICH takes no reference for an inherited handler, but drops one: the program keeps its own. */
    MPI_File_close(&file);
}

static void fatal(const char *name)
{
    MPI_File file = open_ok(name, MPI_MODE_CREATE | MPI_MODE_RDWR);

    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
    wrong(file);
    fprintf(stderr, "MPI_ERRORS_ARE_FATAL came back\n");
}

int main(int argc, char **argv)
{
    static const test_case_t cases[] = {{"own", own_handler}, {"default", default_handler}, {"fatal", fatal}};

    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
