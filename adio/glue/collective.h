/* SPDX-License-Identifier: BSD-3-Clause */
/* What the calls that stand in front of ROMIO's have in common (collective.c, arguments.c). */
#ifndef THEMIS_ADIO_GLUE_COLLECTIVE_H
#define THEMIS_ADIO_GLUE_COLLECTIVE_H
#include "adio/ad_themis/ad_themis_hooks.h"

/* 1: an open file that our driver serves; all others go to ROMIO untouched. */
static inline int themis_glue_is_ours(MPI_File file)
{
    return file != MPI_FILE_NULL && file->cookie == ADIOI_FILE_COOKIE && file->file_system == ADIO_THEMIS &&
           file->fs_ptr != NULL;
}

/* 1: the name of a file that our driver serves, by its prefix or by ROMIO_FSTYPE_FORCE (driver.c). */
int themis_glue_is_our_name(const char *name);

/* An error without arguments in its text, given to the handler of `file` (MPI_FILE_NULL: the default one); what the
 * handler leaves of it. */
static inline int themis_glue_fail(MPI_File file, const char *function, int class, const char *fault)
{
    int code = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, __LINE__, class, fault, 0);

    return MPIO_Err_return_file(file, code);
}
#endif
