/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Codes come from MPICH itself, so that they have its stack and text. A file's handler is kept in ROMIO's file object,
 * where libmpich's MPI_File_set_errhandler and MPI_File_call_errhandler find it: they were built with the same ROMIO
 * and use the same field.
 */
#include "adio/glue/abi.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "adio/ad_themis/ad_themis_hooks.h"
#include "adio_extern.h"
#include "util/log.h"

/* Exported by libmpich, in no header. */
int MPIR_Err_create_code(int lastcode, int fatal, const char function[], int line, int error_class,
                         const char generic_msg[], const char specific_msg[], ...);

/* The letters of the conversions of a message, in order, at most 3. */
static void message_conversions(const char *message, char letters[4])
{
    int n = 0;

    for (const char *at = strchr(message, '%'); at && at[1] && n < 3; at = strchr(at + 2, '%'))
        letters[n++] = at[1];
    letters[n] = '\0';
}

/* MPICH has no form with a va_list, so the arguments are taken from it as the message's conversions say. */
int MPIR_Err_create_code_valist(int lastcode, int fatal, const char function[], int line, int error_class,
                                const char generic_msg[], const char specific_msg[], va_list arguments)
{
    char letters[4] = "";
    const char *text, *text2;
    int number;

    if (specific_msg)
        message_conversions(specific_msg, letters);
    if (specific_msg && !strcmp(letters, "s")) {
        text = va_arg(arguments, const char *);
        return MPIR_Err_create_code(lastcode, 0, function, line, error_class, generic_msg, specific_msg, text);
    }
    if (specific_msg && !strcmp(letters, "d")) {
        number = va_arg(arguments, int);
        return MPIR_Err_create_code(lastcode, 0, function, line, error_class, generic_msg, specific_msg, number);
    }
    if (specific_msg && !strcmp(letters, "sd")) {
        text = va_arg(arguments, const char *);
        number = va_arg(arguments, int);
        return MPIR_Err_create_code(lastcode, 0, function, line, error_class, generic_msg, specific_msg, text, number);
    }
    if (specific_msg && !strcmp(letters, "ss")) {
        text = va_arg(arguments, const char *);
        text2 = va_arg(arguments, const char *);
        return MPIR_Err_create_code(lastcode, 0, function, line, error_class, generic_msg, specific_msg, text, text2);
    }
    return MPIR_Err_create_code(lastcode, 0, function, line, error_class, generic_msg,
                                letters[0] ? NULL : specific_msg);
}

void themis_glue_abi_errhandler_call(MPI_File file, int code)
{
    PMPI_File_call_errhandler(file, code);
}

/* A file's handle is ROMIO's own. */
const char *themis_glue_abi_open_fault(void)
{
    return NULL;
}

/* Compares where libmpich and this ROMIO keep a file's error handler. */
void themis_glue_abi_init(void)
{
    ADIO_File file = calloc(1, sizeof *file);
    MPI_Errhandler found = MPI_ERRHANDLER_NULL;

    if (!file)
        return;
    file->cookie = ADIOI_FILE_COOKIE;
    file->err_handler = MPI_ERRORS_ARE_FATAL;
    if (PMPI_File_get_errhandler(file, &found) != MPI_SUCCESS || found != MPI_ERRORS_ARE_FATAL)
        themis_warn("the MPI library in use has another version of ROMIO than this library: error handlers of files "
                    "will not work");
    free(file);
}

typedef int set_errhandler_fn(MPI_File, MPI_Errhandler);

/* The default handler, that of MPI_FILE_NULL, is kept twice: by libmpich and by this ROMIO. */
__attribute__((visibility("default"))) int PMPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler)
{
    set_errhandler_fn *next = (set_errhandler_fn *)dlsym(RTLD_NEXT, "PMPI_File_set_errhandler");
    int rc = next ? next(file, handler) : MPI_ERR_INTERN;

    if (rc == MPI_SUCCESS && file == MPI_FILE_NULL)
        ADIOI_DFLT_ERR_HANDLER = handler;
    return rc;
}

#pragma weak MPI_File_set_errhandler = PMPI_File_set_errhandler
