/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the driver gets into ROMIO without an edit of ROMIO's files: the linker sends ROMIO's calls of four functions to
 * the __wrap_ functions here (--wrap in local.mk).
 */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include "adio/glue/collective.h"
#include "util/config.h"

#if AD_THEMIS_RESOLVE_RETURNS
typedef int resolve_t;
#define RESOLVED(value) return (value)
#else
typedef void resolve_t;
#define RESOLVED(value) return
#endif

resolve_t __real_ADIO_ResolveFileType(MPI_Comm comm, const char *filename, int *fstype, ADIOI_Fns **ops, int *code);
resolve_t __wrap_ADIO_ResolveFileType(MPI_Comm comm, const char *filename, int *fstype, ADIOI_Fns **ops, int *code);

enum { LONGEST_NAME = 255 };

static int has_prefix(const char *name)
{
    return strncmp(name, "themis:", 7) == 0;
}

/* ROMIO_FSTYPE_FORCE has the last word, as in ROMIO. */
int themis_glue_is_our_name(const char *name)
{
    const char *forced = themis_util_config_env("ROMIO_FSTYPE_FORCE");

    return name && has_prefix(forced ? forced : name);
}

resolve_t __wrap_ADIO_ResolveFileType(MPI_Comm comm, const char *filename, int *fstype, ADIOI_Fns **ops, int *code)
{
    if (!themis_glue_is_our_name(filename)) {
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
    RESOLVED(has_prefix(filename) || strchr(filename, ':') != NULL);
}

void __real_ADIO_Get_shared_fp(ADIO_File fd, ADIO_Offset increment, ADIO_Offset *before, int *code);
void __wrap_ADIO_Get_shared_fp(ADIO_File fd, ADIO_Offset increment, ADIO_Offset *before, int *code);
void __real_ADIO_Set_shared_fp(ADIO_File fd, ADIO_Offset value, int *code);
void __wrap_ADIO_Set_shared_fp(ADIO_File fd, ADIO_Offset value, int *code);

/* The hidden file is of this opening of the file alone; ROMIO opens it when the shared pointer is first used. */
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

void __real_ADIOI_Shfp_fname(ADIO_File fd, int rank, int *code);
void __wrap_ADIOI_Shfp_fname(ADIO_File fd, int rank, int *code);

/* The hidden file is called like the file, and then some. Where that is more than a name may have it is a hash; all
 * ranks have the same text to start from, and it is of this opening of the file alone. */
void __wrap_ADIOI_Shfp_fname(ADIO_File fd, int rank, int *code)
{
    char *name;

    __real_ADIOI_Shfp_fname(fd, rank, code);
    name = fd->file_system == ADIO_THEMIS && *code == MPI_SUCCESS ? strrchr(fd->shared_fp_fname, '/') : NULL;
    if (name && strlen(name + 1) > LONGEST_NAME)
        sprintf(name + 1, ".shfp.%016llx", (unsigned long long)XXH3_64bits(name + 1, strlen(name + 1)));
}

void __real_MPIO_File_free(MPI_File *file);
void __wrap_MPIO_File_free(MPI_File *file);

/* If a close fails, ROMIO's MPI_File_close reads the file's handler after it has freed the file. So each file that is
 * freed stays in memory until the next one is; both happen under ROMIO's lock. */
void __wrap_MPIO_File_free(MPI_File *file)
{
    static MPI_File last = MPI_FILE_NULL;

    if (last != MPI_FILE_NULL)
        __real_MPIO_File_free(&last);
    last = *file;
    last->cookie = 0; /* so that who uses it still is told */
    *file = MPI_FILE_NULL;
}
