/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective calls whose arguments have to be the same on all ranks. ROMIO returns on a rank whose own are wrong while
 * the others wait for it, and lets only one rank know how the call went. For files of ours all ranks agree on the
 * arguments first and on the result afterwards, so each gets an error and nobody waits.
 *
 * In front of ROMIO's calls, like those of collective.c.
 */
#include "adio/glue/collective.h"

/* Collective. `fault`: what is wrong with this rank's arguments, a short text of MPICH's table, or NULL. 1: all ranks
 * have the same and sound ones; 0: *code is this rank's error. */
static int agreed(MPI_File file, const char *function, MPI_Offset value, int word, const char *fault, int *code)
{
    /* The most of a number and of its negative; the complement of a number cannot overflow. */
    MPI_Offset own[5] = {fault != NULL, value, ~value, word, ~(MPI_Offset)word}, most[5];

    MPI_Allreduce(own, most, 5, ADIO_OFFSET, MPI_MAX, file->comm);
    if (!most[0] && most[1] == ~most[2] && most[3] == ~most[4])
        return 1;
    *code = themis_glue_fail(file, function, fault ? MPI_ERR_ARG : MPI_ERR_NOT_SAME, fault ? fault : "**notsame");
    return 0;
}

/* Collective: rank 0 tells how it went for it; the others' codes have the same class and text. The handlers have been
 * called on rank 0 only, if `reported`. */
static int share_result(MPI_File file, const char *function, int code, int reported)
{
    struct {
        int class;
        char text[MPI_MAX_ERROR_STRING];
    } result = {MPI_SUCCESS, ""};
    int rank, length;

    MPI_Comm_rank(file->comm, &rank);
    if (rank == 0 && code != MPI_SUCCESS) {
        MPI_Error_class(code, &result.class);
        MPI_Error_string(code, result.text, &length);
    }
    MPI_Bcast(&result, sizeof result, MPI_BYTE, 0, file->comm);
    if (result.class == MPI_SUCCESS)
        return code;
    if (rank != 0)
        code = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, __LINE__, result.class, "**io", "%s",
                                    result.text);
    return rank == 0 && reported ? code : MPIO_Err_return_file(file, code);
}

/* --- open and delete --- */

static const char *mode_fault(int amode)
{
    int ways = !!(amode & MPI_MODE_RDONLY) + !!(amode & MPI_MODE_RDWR) + !!(amode & MPI_MODE_WRONLY);

    if (ways != 1)
        return "**fileamodeone";
    if ((amode & MPI_MODE_RDONLY) && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)))
        return "**fileamoderead";
    return (amode & MPI_MODE_RDWR) && (amode & MPI_MODE_SEQUENTIAL) ? "**fileamodeseq" : NULL;
}

int themis_romio_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh);
int PMPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
{
    const char *fault = mode_fault(amode);
    int bad = fault != NULL, any = 0, between = 1;

    if (themis_glue_is_our_name(filename) && comm != MPI_COMM_NULL)
        MPI_Comm_test_inter(comm, &between);
    if (!between)
        MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, comm);
    if (any)
        return themis_glue_fail(MPI_FILE_NULL, "MPI_File_open", bad ? MPI_ERR_AMODE : MPI_ERR_NOT_SAME,
                                bad ? fault : "**fileamodediff");
    return themis_romio_File_open(comm, filename, amode, info, fh);
}
int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
    __attribute__((weak, alias("PMPI_File_open")));

/* Not collective, but ROMIO does not hand the hints on. */
int themis_romio_File_delete(const char *filename, MPI_Info info);
int PMPI_File_delete(const char *filename, MPI_Info info)
{
    int code;

    ADIOI_THEMIS_Hook_set_delete_hints(info);
    code = themis_romio_File_delete(filename, info);
    ADIOI_THEMIS_Hook_set_delete_hints(MPI_INFO_NULL);
    return code;
}
int MPI_File_delete(const char *filename, MPI_Info info) __attribute__((weak, alias("PMPI_File_delete")));

/* --- size and atomicity --- */

int themis_romio_File_set_size(MPI_File fh, MPI_Offset size);
int PMPI_File_set_size(MPI_File fh, MPI_Offset size)
{
    int code;

    if (themis_glue_is_ours(fh) && !agreed(fh, "MPI_File_set_size", size, 0, size < 0 ? "**iobadsize" : NULL, &code))
        return code;
    return themis_romio_File_set_size(fh, size);
}
int MPI_File_set_size(MPI_File fh, MPI_Offset size) __attribute__((weak, alias("PMPI_File_set_size")));

int themis_romio_File_preallocate(MPI_File fh, MPI_Offset size);
int PMPI_File_preallocate(MPI_File fh, MPI_Offset size)
{
    static const char function[] = "MPI_File_preallocate";
    int code;

    if (!themis_glue_is_ours(fh))
        return themis_romio_File_preallocate(fh, size);
    if (!agreed(fh, function, size, 0, size < 0 ? "**iobadsize" : NULL, &code))
        return code;
    return share_result(fh, function, themis_romio_File_preallocate(fh, size), 1);
}
int MPI_File_preallocate(MPI_File fh, MPI_Offset size) __attribute__((weak, alias("PMPI_File_preallocate")));

int themis_romio_File_set_atomicity(MPI_File fh, int flag);
int PMPI_File_set_atomicity(MPI_File fh, int flag)
{
    int code;

    if (themis_glue_is_ours(fh) && !agreed(fh, "MPI_File_set_atomicity", 0, flag != 0, NULL, &code))
        return code;
    return themis_romio_File_set_atomicity(fh, flag);
}
int MPI_File_set_atomicity(MPI_File fh, int flag) __attribute__((weak, alias("PMPI_File_set_atomicity")));

/* --- the shared file pointer --- */

static const char *seek_fault(MPI_Offset offset, int whence)
{
    if (whence == MPI_SEEK_SET)
        return offset < 0 ? "**iobadoffset" : NULL;
    return whence == MPI_SEEK_CUR || whence == MPI_SEEK_END ? NULL : "**iobadwhence";
}

/* Rank 0's part; an MPI error code. */
static int move_shared(MPI_File file, MPI_Offset offset, int whence)
{
    ADIO_Offset from = 0;
    int code = MPI_SUCCESS;

    if (whence == MPI_SEEK_CUR)
        ADIO_Get_shared_fp(file, 0, &from, &code);
    else if (whence == MPI_SEEK_END)
        ADIOI_Get_eof_offset(file, &from);
    if (code == MPI_SUCCESS && from + offset < 0)
        code = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPI_File_seek_shared", __LINE__, MPI_ERR_ARG,
                                    "**ionegoffset", 0);
    if (code == MPI_SUCCESS)
        ADIO_Set_shared_fp(file, from + offset, &code);
    return code;
}

int themis_romio_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence);
int PMPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence)
{
    static const char function[] = "MPI_File_seek_shared";
    int code = MPI_SUCCESS, rank;

    /* ROMIO refuses to seek in a sequential file, on all ranks. */
    if (!themis_glue_is_ours(fh) || (fh->access_mode & ADIO_SEQUENTIAL))
        return themis_romio_File_seek_shared(fh, offset, whence);
    if (!agreed(fh, function, offset, whence, seek_fault(offset, whence), &code))
        return code;
    MPIR_Ext_cs_enter();
    MPI_Comm_rank(fh->comm, &rank);
    if (rank == 0)
        code = move_shared(fh, offset, whence);
    code = share_result(fh, function, code, 0);
    MPIR_Ext_cs_exit();
    return code;
}
int MPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence)
    __attribute__((weak, alias("PMPI_File_seek_shared")));
