/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_hooks.h"
#include "ad_themis_error.h"
#include "ad_themis_file.h"

/* Linux maps nothing below. */
enum { LOWEST_ADDRESS = 65536 };

int ADIOI_THEMIS_Hook_buffer_bad(const void *buf, MPI_Count count, MPI_Datatype datatype)
{
    MPI_Count lb, extent, size;

    if ((uintptr_t)buf >= LOWEST_ADDRESS || count <= 0 || datatype == MPI_DATATYPE_NULL ||
        MPIR_Ext_datatype_iscommitted(datatype) != MPI_SUCCESS)
        return 0;
    MPI_Type_size_x(datatype, &size);
    MPI_Type_get_true_extent_x(datatype, &lb, &extent);
    /* A type of addresses, to be used with MPI_BOTTOM, starts far from 0. */
    return size > 0 && (intptr_t)buf + lb < LOWEST_ADDRESS;
}

unsigned ADIOI_THEMIS_Hook_collective_begin(ADIO_File fd)
{
    ADIOI_THEMIS_file(fd)->shared_failed = 0;
    return ADIOI_THEMIS_file(fd)->collective_calls;
}

int ADIOI_THEMIS_Hook_collective_reached(ADIO_File fd, unsigned begun)
{
    return ADIOI_THEMIS_file(fd)->collective_calls != begun;
}

int ADIOI_THEMIS_Hook_shared_failed(ADIO_File fd)
{
    return ADIOI_THEMIS_file(fd)->shared_failed;
}

void ADIOI_THEMIS_Hook_shared_add(ADIO_File fd, ADIO_Offset increment, ADIO_Offset *before, int *error_code)
{
    themis_file_t *hidden = ADIOI_THEMIS_file(fd->shared_fp_fd)->handle;
    themis_status_t status;
    int64_t value = 0;

    AD_THEMIS_UNLOCKED(status,
                       increment ? themis_counter_add(hidden, increment, &value) : themis_counter_get(hidden, &value));
    *before = value;
    ADIOI_THEMIS_file(fd)->shared_failed = status != THEMIS_OK;
    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
}

void ADIOI_THEMIS_Hook_shared_set(ADIO_File fd, ADIO_Offset value, int *error_code)
{
    themis_status_t status;

    AD_THEMIS_UNLOCKED(status, themis_counter_set(ADIOI_THEMIS_file(fd->shared_fp_fd)->handle, value));
    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
}

static _Thread_local MPI_Info delete_hints = MPI_INFO_NULL;

void ADIOI_THEMIS_Hook_set_delete_hints(MPI_Info info)
{
    delete_hints = info;
}

MPI_Info ADIOI_THEMIS_Hook_delete_hints(void)
{
    return delete_hints;
}
