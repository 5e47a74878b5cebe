/* SPDX-License-Identifier: BSD-3-Clause */
/* What ROMIO asks about errors and error handlers (mpir_ext.h) and is the same for all MPI libraries. */
#include <stdio.h>
#include "adio/ad_themis/ad_themis_hooks.h"
#include "adio/glue/abi.h"
#include "util/log.h"

int MPIR_Err_is_fatal(int code)
{
    return 0;
}

void MPIR_Err_get_string(int code, char *text, int length, MPIR_Err_get_class_string_func_t unused)
{
    char whole[MPI_MAX_ERROR_STRING];
    int bytes;

    if (PMPI_Error_string(code, whole, &bytes) != MPI_SUCCESS)
        snprintf(whole, sizeof whole, "error code %d", code);
    snprintf(text, (size_t)length, "%s", whole);
}

int MPIR_Abort(MPI_Comm comm, int code, int exit_code, const char *message)
{
    fprintf(stderr, "%s\n", message);
    return PMPI_Abort(comm, exit_code);
}

int MPIR_Ext_assert_fail(const char *condition, const char *file, int line)
{
    themis_error("ROMIO: assertion failed in %s, line %d: %s", file, line, condition);
    return PMPI_Abort(MPI_COMM_WORLD, 1);
}

/* The MPI library knows the handler's language and calls it. Other threads may use files meanwhile, and so may the
 * handler. */
static void handler_call(MPI_File *file, int *code, ...)
{
    int held = themis_glue_lock_release();

    themis_glue_abi_errhandler_call(*file, *code);
    themis_glue_lock_acquire(held);
}

void MPIR_Get_file_error_routine(MPI_Errhandler handler, void (**function)(MPI_File *, int *, ...), int *kind)
{
    *function = NULL;
    *kind = 1;
    if (handler == MPI_ERRORS_RETURN || !handler)
        return;
    *function = handler_call;
    *kind = 2;
}

int MPIR_File_call_cxx_errhandler(MPI_File *file, int *code, void (*function)(MPI_File *, int *, ...))
{
    function(file, code, NULL);
    return MPI_SUCCESS;
}
