/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective calls whose arguments must be the same on all ranks. ROMIO returns on a rank with wrong arguments while
 * the others wait for it, and reports the result to one rank only. For files of the driver, an allreduce compares the
 * arguments first and a broadcast shares the result, so that every rank gets the error and none waits.
 */
#include "adio/glue/abi.h"
#include "adio/glue/file.h"
#include "adio/glue/interception.h"

/* Collective. `fault`: what is wrong with this rank's arguments, a short text of MPICH's table, or NULL. 1: all ranks
 * have the same valid ones; 0: *code is this rank's error. */
static int arguments_agree(MPI_File file, const char *function, MPI_Offset value, int word, const char *fault,
                           int *code)
{
    /* The maximum of a number and of its complement, which gives the minimum and cannot overflow. */
    MPI_Offset own[5] = {fault != NULL, value, ~value, word, ~(MPI_Offset)word}, max[5];

    MPI_Allreduce(own, max, 5, ADIO_OFFSET, MPI_MAX, file->comm);
    if (!max[0] && max[1] == ~max[2] && max[3] == ~max[4])
        return 1;
    *code = themis_glue_file_fail(file, function, fault ? MPI_ERR_ARG : MPI_ERR_NOT_SAME, fault ? fault : "**notsame");
    return 0;
}

/* Collective: rank 0 broadcasts its result; the others' codes have the same class and text. `reported`: rank 0's error
 * handler has been called. */
static int result_share(MPI_File file, const char *function, int code, int reported)
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

int PMPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
{
    const char *mode = mode_fault(amode), *fault = mode;
    int bad, any = 0, between = 1;

    if (themis_glue_file_name_is_ours(filename) && comm != MPI_COMM_NULL)
        MPI_Comm_test_inter(comm, &between);
    if (!between && !fault)
        fault = themis_glue_abi_open_fault();
    bad = fault != NULL;
    if (!between)
        MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, comm);
    if (any && bad)
        return themis_glue_file_fail(MPI_FILE_NULL, "MPI_File_open", mode ? MPI_ERR_AMODE : MPI_ERR_NO_MEM, fault);
    if (any)
        return themis_glue_file_fail(MPI_FILE_NULL, "MPI_File_open", MPI_ERR_NOT_SAME, "**fileamodediff");
    return themis_romio_File_open(comm, filename, amode, info, fh);
}
#pragma weak MPI_File_open = PMPI_File_open

/* Not collective, but ROMIO does not pass the hints to the driver. */
int PMPI_File_delete(const char *filename, MPI_Info info)
{
    int code;

    ADIOI_THEMIS_Hook_set_delete_hints(info);
    code = themis_romio_File_delete(filename, info);
    ADIOI_THEMIS_Hook_set_delete_hints(MPI_INFO_NULL);
    return code;
}
#pragma weak MPI_File_delete = PMPI_File_delete

/* --- size and atomicity --- */

int PMPI_File_set_size(MPI_File fh, MPI_Offset size)
{
    int code;

    if (themis_glue_file_is_ours(fh) &&
        !arguments_agree(fh, "MPI_File_set_size", size, 0, size < 0 ? "**iobadsize" : NULL, &code))
        return code;
    return themis_romio_File_set_size(fh, size);
}
#pragma weak MPI_File_set_size = PMPI_File_set_size

int PMPI_File_preallocate(MPI_File fh, MPI_Offset size)
{
    static const char function[] = "MPI_File_preallocate";
    int code;

    if (!themis_glue_file_is_ours(fh))
        return themis_romio_File_preallocate(fh, size);
    if (!arguments_agree(fh, function, size, 0, size < 0 ? "**iobadsize" : NULL, &code))
        return code;
    return result_share(fh, function, themis_romio_File_preallocate(fh, size), 1);
}
#pragma weak MPI_File_preallocate = PMPI_File_preallocate

int PMPI_File_set_atomicity(MPI_File fh, int flag)
{
    int code;

    if (themis_glue_file_is_ours(fh) && !arguments_agree(fh, "MPI_File_set_atomicity", 0, flag != 0, NULL, &code))
        return code;
    return themis_romio_File_set_atomicity(fh, flag);
}
#pragma weak MPI_File_set_atomicity = PMPI_File_set_atomicity

/* --- the shared file pointer --- */

static const char *seek_fault(MPI_Offset offset, int whence)
{
    if (whence == MPI_SEEK_SET)
        return offset < 0 ? "**iobadoffset" : NULL;
    return whence == MPI_SEEK_CUR || whence == MPI_SEEK_END ? NULL : "**iobadwhence";
}

/* On rank 0 only. An MPI error code. */
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

int PMPI_File_seek_shared(MPI_File fh, MPI_Offset offset, int whence)
{
    static const char function[] = "MPI_File_seek_shared";
    int code = MPI_SUCCESS, rank;

    /* In a sequential file, ROMIO's call fails on all ranks. */
    if (!themis_glue_file_is_ours(fh) || (fh->access_mode & ADIO_SEQUENTIAL))
        return themis_romio_File_seek_shared(fh, offset, whence);
    if (!arguments_agree(fh, function, offset, whence, seek_fault(offset, whence), &code))
        return code;
    MPIR_Ext_cs_enter();
    MPI_Comm_rank(fh->comm, &rank);
    if (rank == 0)
        code = move_shared(fh, offset, whence);
    code = result_share(fh, function, code, 0);
    MPIR_Ext_cs_exit();
    return code;
}
#pragma weak MPI_File_seek_shared = PMPI_File_seek_shared
