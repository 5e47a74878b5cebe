/* SPDX-License-Identifier: BSD-3-Clause */
#include "adio/glue/file.h"
#include <string.h>
#include "util/config.h"

int themis_glue_file_is_ours(MPI_File file)
{
    return file != MPI_FILE_NULL && file->cookie == ADIOI_FILE_COOKIE && file->file_system == ADIO_THEMIS &&
           file->fs_ptr != NULL;
}

static int has_prefix(const char *name)
{
    return strncmp(name, "themis:", 7) == 0;
}

int themis_glue_file_name_is_ours(const char *name)
{
    const char *forced = themis_util_config_env("ROMIO_FSTYPE_FORCE"); /* overrides the name, as in ROMIO */

    return name && has_prefix(forced ? forced : name);
}

int themis_glue_file_fail(MPI_File file, const char *function, int class, const char *fault)
{
    int code = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, __LINE__, class, fault, 0);

    return MPIO_Err_return_file(file, code);
}
