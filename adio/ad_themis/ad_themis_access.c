/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_access.h"

uint64_t ADIOI_THEMIS_Access_bytes(const ADIOI_THEMIS_Access *access)
{
    MPI_Count size;

    MPI_Type_size_x(access->datatype, &size);
    return (uint64_t)size * (uint64_t)access->count;
}

int ADIOI_THEMIS_Access_lists(const ADIOI_THEMIS_Access *access, ADIOI_THEMIS_List *list)
{
    int file_ptr_type = access->position == AD_THEMIS_AT_POINTER ? ADIO_INDIVIDUAL : ADIO_EXPLICIT_OFFSET;

    if (access->position == AD_THEMIS_AT_BYTE)
        return ADIOI_THEMIS_List_plain(access->buf, ADIOI_THEMIS_Access_bytes(access), (uint64_t)access->offset, list);
    return ADIOI_THEMIS_List_begin(access->fd, access->buf, access->count, access->datatype, file_ptr_type,
                                   access->offset, list);
}

void ADIOI_THEMIS_Access_set_status(const ADIOI_THEMIS_Access *access, uint64_t bytes, ADIO_Status *status)
{
#ifdef HAVE_STATUS_SET_BYTES
    if (status)
        MPIR_Status_set_bytes(status, access->datatype, (MPI_Count)bytes);
#endif
}
