/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the driver gets into ROMIO without a change of ROMIO's files: the linker sends ROMIO's calls of some functions to
 * the __wrap_ functions here (interception.def).
 */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include "adio/glue/file.h"
#include "adio/glue/interception.h"

enum { LONGEST_NAME = 255 };

themis_glue_resolve_t __wrap_ADIO_ResolveFileType(MPI_Comm comm, const char *filename, int *fstype, ADIOI_Fns **ops,
                                                  int *code)
{
    if (!themis_glue_file_name_is_ours(filename)) {
#if AD_THEMIS_RESOLVE_RETURNS
        return __real_ADIO_ResolveFileType(comm, filename, fstype, ops, code);
#else
        __real_ADIO_ResolveFileType(comm, filename, fstype, ops, code);
        return;
#endif
    }
    *fstype = ADIO_THEMIS;
    *ops = &ADIO_THEMIS_operations;
    *code = MPI_SUCCESS;
#if AD_THEMIS_RESOLVE_RETURNS
    return strchr(filename, ':') != NULL; /* 1: ROMIO removes the prefix */
#endif
}

/* Each open file has a hidden file of its own; ROMIO opens it when the shared pointer is first used. */
static int hidden_is_open(ADIO_File fd, int *code)
{
    ADIO_Offset ignored;

    *code = MPI_SUCCESS;
    if (fd->shared_fp_fd == ADIO_FILE_NULL)
        __real_ADIO_Get_shared_fp(fd, 0, &ignored, code);
    return fd->shared_fp_fd != ADIO_FILE_NULL && *code == MPI_SUCCESS;
}

/* A counter at the server instead of lock, read, write, unlock. */
void __wrap_ADIO_Get_shared_fp(ADIO_File fd, ADIO_Offset increment, ADIO_Offset *before, int *code)
{
    *before = 0;
    if (fd->file_system != ADIO_THEMIS)
        __real_ADIO_Get_shared_fp(fd, increment, before, code);
    else if (hidden_is_open(fd, code))
        ADIOI_THEMIS_Hook_shared_add(fd, increment, before, code);
}

void __wrap_ADIO_Set_shared_fp(ADIO_File fd, ADIO_Offset value, int *code)
{
    if (fd->file_system != ADIO_THEMIS)
        __real_ADIO_Set_shared_fp(fd, value, code);
    else if (hidden_is_open(fd, code))
        ADIOI_THEMIS_Hook_shared_set(fd, value, code);
}

/* ROMIO appends a suffix to the file's name. Where that is too long, the hidden file's name is a hash of it: the text
 * is the same on all ranks, and differs for each open file. */
void __wrap_ADIOI_Shfp_fname(ADIO_File fd, int rank, int *code)
{
    char *name;

    __real_ADIOI_Shfp_fname(fd, rank, code);
    name = fd->file_system == ADIO_THEMIS && *code == MPI_SUCCESS ? strrchr(fd->shared_fp_fname, '/') : NULL;
    if (name && strlen(name + 1) > LONGEST_NAME)
        sprintf(name + 1, ".shfp.%016llx", (unsigned long long)XXH3_64bits(name + 1, strlen(name + 1)));
}

/* If a close fails, ROMIO's MPI_File_close reads the file's error handler after it has freed the file. So a freed file
 * stays in memory until the next one is freed; both happen under ROMIO's lock. */
void __wrap_MPIO_File_free(MPI_File *file)
{
    static MPI_File last = MPI_FILE_NULL;

    if (last != MPI_FILE_NULL)
        __real_MPIO_File_free(&last);
    last = *file;
    last->cookie = 0; /* so that further use is an error */
    *file = MPI_FILE_NULL;
}
