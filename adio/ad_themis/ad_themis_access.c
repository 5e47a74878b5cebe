/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_access.h"

uint64_t ADIOI_THEMIS_Access_bytes(const ADIOI_THEMIS_Access *access)
{
    MPI_Count size;

    MPI_Type_size_x(access->datatype, &size);
    return (uint64_t)size * (uint64_t)access->count;
}

void ADIOI_THEMIS_Access_set_status(const ADIOI_THEMIS_Access *access, uint64_t bytes, ADIO_Status *status)
{
#ifdef HAVE_STATUS_SET_BYTES
    if (status)
        MPIR_Status_set_bytes(status, access->datatype, (MPI_Count)bytes);
#endif
}
