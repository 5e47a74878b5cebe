/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's table of operations. */
#include "ad_themis.h"

struct ADIOI_Fns_struct ADIO_THEMIS_operations = {
    .ADIOI_xxx_Open = ADIOI_THEMIS_Open,
    .ADIOI_xxx_OpenColl = ADIOI_THEMIS_OpenColl,
    .ADIOI_xxx_ReadContig = ADIOI_THEMIS_ReadContig,
    .ADIOI_xxx_WriteContig = ADIOI_THEMIS_WriteContig,
    .ADIOI_xxx_ReadStridedColl = ADIOI_THEMIS_ReadStridedColl,
    .ADIOI_xxx_WriteStridedColl = ADIOI_THEMIS_WriteStridedColl,
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
    .ADIOI_xxx_IreadStridedColl = ADIOI_THEMIS_IreadStridedColl,
    .ADIOI_xxx_IwriteStridedColl = ADIOI_THEMIS_IwriteStridedColl,
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
    case ADIO_IMMEDIATELY_VISIBLE:
        return 1;
    default: /* neither data sieving in writes nor a file that outlives its name */
        return 0;
    }
}
