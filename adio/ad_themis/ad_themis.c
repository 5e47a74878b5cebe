/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's table of operations. */
#include "ad_themis.h"

/* Collective calls are counted, so that it is known whether one that failed got this far (adio/glue/collective.c). */
static void count_collective(ADIO_File fd)
{
    ADIOI_THEMIS_file(fd)->collective_calls++;
}

static void read_collective(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,
                            ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    count_collective(fd);
    ADIOI_THEMIS_ReadStridedColl(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
}

static void write_collective(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                             int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    count_collective(fd);
    ADIOI_THEMIS_WriteStridedColl(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
}

static void iread_collective(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,
                             ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    count_collective(fd);
    ADIOI_THEMIS_IreadStridedColl(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);
}

static void iwrite_collective(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    count_collective(fd);
    ADIOI_THEMIS_IwriteStridedColl(fd, buf, count, datatype, file_ptr_type, offset, request, error_code);
}

struct ADIOI_Fns_struct ADIO_THEMIS_operations = {
    .ADIOI_xxx_Open = ADIOI_THEMIS_Open,
    .ADIOI_xxx_OpenColl = ADIOI_THEMIS_OpenColl,
    .ADIOI_xxx_ReadContig = ADIOI_THEMIS_ReadContig,
    .ADIOI_xxx_WriteContig = ADIOI_THEMIS_WriteContig,
    .ADIOI_xxx_ReadStridedColl = read_collective,
    .ADIOI_xxx_WriteStridedColl = write_collective,
    .ADIOI_xxx_SeekIndividual = ADIOI_GEN_SeekIndividual,
    .ADIOI_xxx_Fcntl = ADIOI_THEMIS_Fcntl,
    .ADIOI_xxx_SetInfo = ADIOI_THEMIS_SetInfo,
    .ADIOI_xxx_ReadStrided = ADIOI_THEMIS_ReadStrided,
    .ADIOI_xxx_WriteStrided = ADIOI_THEMIS_WriteStrided,
    .ADIOI_xxx_Close = ADIOI_THEMIS_Close,
    .ADIOI_xxx_IreadContig = ADIOI_THEMIS_IreadContig,
    .ADIOI_xxx_IwriteContig = ADIOI_THEMIS_IwriteContig,
    .ADIOI_xxx_ReadDone = ADIOI_GEN_IODone,
    .ADIOI_xxx_WriteDone = ADIOI_GEN_IODone,
    .ADIOI_xxx_ReadComplete = ADIOI_GEN_IOComplete,
    .ADIOI_xxx_WriteComplete = ADIOI_GEN_IOComplete,
    .ADIOI_xxx_IreadStrided = ADIOI_THEMIS_IreadStrided,
    .ADIOI_xxx_IwriteStrided = ADIOI_THEMIS_IwriteStrided,
    .ADIOI_xxx_Flush = ADIOI_THEMIS_Flush,
    .ADIOI_xxx_Resize = ADIOI_THEMIS_Resize,
    .ADIOI_xxx_Delete = ADIOI_THEMIS_Delete,
    .ADIOI_xxx_Feature = ADIOI_THEMIS_Feature,
    .fsname = "THEMIS: Themis I/O servers",
    .ADIOI_xxx_IreadStridedColl = iread_collective,
    .ADIOI_xxx_IwriteStridedColl = iwrite_collective,
    .ADIOI_xxx_SetLock = ADIOI_THEMIS_SetLock,
};

int ADIOI_THEMIS_Feature(ADIO_File fd, int flag)
{
    switch (flag) {
    case ADIO_LOCKS:
    case ADIO_SHARED_FP:
    case ADIO_ATOMIC_MODE:
    case ADIO_SCALABLE_OPEN:
    case ADIO_SCALABLE_RESIZE:
    case ADIO_TWO_PHASE:
        return 1;
    case ADIO_IMMEDIATELY_VISIBLE:
        return !ADIOI_THEMIS_Cache_asked(fd);
    default: /* neither data sieving in writes nor a file that outlives its name */
        return 0;
    }
}
