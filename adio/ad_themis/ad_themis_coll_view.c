/* SPDX-License-Identifier: BSD-3-Clause */
/* From views and datatypes to lists of runs. */
#include "ad_themis_coll.h"

themis_status_t ADIOI_THEMIS_Coll_describe(ADIO_File fd, ADIOI_THEMIS_Coll *coll, AD_THEMIS_COUNT count,
                                           MPI_Datatype datatype, uint64_t position, themis_util_runs_t *file,
                                           themis_util_runs_t *memory)
{
    const themis_util_flat_type_t *view, *buffer;
    themis_status_t status;
    uint64_t bytes = ADIOI_THEMIS_Bytes(count, datatype);

    themis_util_runs_clear(file);
    themis_util_runs_clear(memory);
    if (bytes == 0)
        return THEMIS_OK;
    view = ADIOI_THEMIS_Flat_type(&ADIOI_THEMIS_file(fd)->view, fd->filetype);
    buffer = ADIOI_THEMIS_Flat_type(&coll->buffer, datatype);
    if (!view || !buffer)
        return THEMIS_NO_MEMORY;
    status = themis_util_flat_type_expand(view, (uint64_t)fd->disp, position, bytes, SIZE_MAX, file);
    if (status == THEMIS_OK)
        status = themis_util_flat_type_expand(buffer, 0, 0, bytes, SIZE_MAX, memory);
    return status;
}
