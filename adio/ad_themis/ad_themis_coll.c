/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective reads and writes: ROMIO's generic two-phase I/O. */
#include "ad_themis.h"

void ADIOI_THEMIS_ReadStridedColl(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                  int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    ADIOI_GEN_ReadStridedColl(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
}

void ADIOI_THEMIS_WriteStridedColl(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                   int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    ADIOI_GEN_WriteStridedColl(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
}

void ADIOI_THEMIS_IreadStridedColl(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                   int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    ADIOI_GEN_IreadStridedColl(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);
}

void ADIOI_THEMIS_IwriteStridedColl(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                    int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    ADIOI_GEN_IwriteStridedColl(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);
}
