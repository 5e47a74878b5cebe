/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's table of operations. */
#include "ad_themis.h"
#include "ad_themis_async.h"
#include "ad_themis_cache.h"
#include "ad_themis_coll.h"
#include "ad_themis_control.h"
#include "ad_themis_hints.h"
#include "ad_themis_io.h"
#include "ad_themis_open.h"

/* TRANSFER(name, run, result, unit): read_<name> and write_<name> with the signatures of ROMIO's table, for accesses
 * that `run` does; `unit` is the position that an explicit offset means. */
#define TRANSFER(name, run, result_t, unit)                                                                            \
    TRANSFER_IN(read_##name, THEMIS_READ, void *, run, result_t, unit)                                                 \
    TRANSFER_IN(write_##name, THEMIS_WRITE, const void *, run, result_t, unit)
#define TRANSFER_IN(name, direction, buffer_t, run, result_t, unit)                                                    \
    static void name(ADIO_File fd, buffer_t buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,      \
                     ADIO_Offset offset, result_t *result, int *error_code)                                            \
    {                                                                                                                  \
        ADIOI_THEMIS_Position position = file_ptr_type == ADIO_INDIVIDUAL ? AD_THEMIS_AT_POINTER : unit;               \
        ADIOI_THEMIS_Access access = {fd, direction, (void *)buf, count, datatype, position, offset};                  \
                                                                                                                       \
        *error_code = run(&access, result);                                                                            \
    }

TRANSFER(contiguous, ADIOI_THEMIS_Io_contiguous, ADIO_Status, AD_THEMIS_AT_BYTE)
TRANSFER(strided, ADIOI_THEMIS_Io_strided, ADIO_Status, AD_THEMIS_AT_ETYPE)
TRANSFER(collective, ADIOI_THEMIS_Coll_run, ADIO_Status, AD_THEMIS_AT_ETYPE)
TRANSFER(contiguous_async, ADIOI_THEMIS_Async_start, ADIO_Request, AD_THEMIS_AT_BYTE)
TRANSFER(strided_async, ADIOI_THEMIS_Async_start, ADIO_Request, AD_THEMIS_AT_ETYPE)
TRANSFER(collective_async, ADIOI_THEMIS_Coll_start, ADIO_Request, AD_THEMIS_AT_ETYPE)

static int feature(ADIO_File fd, int flag)
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

struct ADIOI_Fns_struct ADIO_THEMIS_operations = {
    .ADIOI_xxx_Open = ADIOI_THEMIS_Open,
    .ADIOI_xxx_OpenColl = ADIOI_THEMIS_OpenColl,
    .ADIOI_xxx_ReadContig = read_contiguous,
    .ADIOI_xxx_WriteContig = write_contiguous,
    .ADIOI_xxx_ReadStridedColl = read_collective,
    .ADIOI_xxx_WriteStridedColl = write_collective,
    .ADIOI_xxx_SeekIndividual = ADIOI_GEN_SeekIndividual,
    .ADIOI_xxx_Fcntl = ADIOI_THEMIS_Fcntl,
    .ADIOI_xxx_SetInfo = ADIOI_THEMIS_SetInfo,
    .ADIOI_xxx_ReadStrided = read_strided,
    .ADIOI_xxx_WriteStrided = write_strided,
    .ADIOI_xxx_Close = ADIOI_THEMIS_Close,
    .ADIOI_xxx_IreadContig = read_contiguous_async,
    .ADIOI_xxx_IwriteContig = write_contiguous_async,
    .ADIOI_xxx_ReadDone = ADIOI_GEN_IODone,
    .ADIOI_xxx_WriteDone = ADIOI_GEN_IODone,
    .ADIOI_xxx_ReadComplete = ADIOI_GEN_IOComplete,
    .ADIOI_xxx_WriteComplete = ADIOI_GEN_IOComplete,
    .ADIOI_xxx_IreadStrided = read_strided_async,
    .ADIOI_xxx_IwriteStrided = write_strided_async,
    .ADIOI_xxx_Flush = ADIOI_THEMIS_Flush,
    .ADIOI_xxx_Resize = ADIOI_THEMIS_Resize,
    .ADIOI_xxx_Delete = ADIOI_THEMIS_Delete,
    .ADIOI_xxx_Feature = feature,
    .fsname = "THEMIS: Themis I/O servers",
    .ADIOI_xxx_IreadStridedColl = read_collective_async,
    .ADIOI_xxx_IwriteStridedColl = write_collective_async,
    .ADIOI_xxx_SetLock = ADIOI_THEMIS_SetLock,
};
