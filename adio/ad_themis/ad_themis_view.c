/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_view.h"
#include "ad_themis_file.h"

const themis_util_flat_type_t *ADIOI_THEMIS_View_type(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);

    if (!file->view_type || file->viewed != fd->filetype) {
        file->view_type = ADIOI_THEMIS_Flat_type(&file->view, fd->filetype);
        file->viewed = fd->filetype;
    }
    return file->view_type;
}

void ADIOI_THEMIS_View_forget(ADIO_File fd)
{
    ADIOI_THEMIS_file(fd)->view_type = NULL;
}

uint64_t ADIOI_THEMIS_View_position(const ADIOI_THEMIS_Access *access, const themis_util_flat_type_t *view)
{
    ADIO_File fd = access->fd;

    if (access->position != AD_THEMIS_AT_POINTER)
        return (uint64_t)access->offset * (uint64_t)fd->etype_size;
    return view ? themis_util_flat_type_position(view, (uint64_t)(fd->fp_ind - fd->disp)) : 0;
}

ADIO_Offset ADIOI_THEMIS_View_offset(ADIO_File fd, uint64_t position)
{
    const themis_util_flat_type_t *view = ADIOI_THEMIS_View_type(fd);

    return fd->disp + (view ? (ADIO_Offset)themis_util_flat_type_offset(view, position) : 0);
}

themis_status_t ADIOI_THEMIS_View_runs(const ADIOI_THEMIS_Access *access, uint64_t position, ADIOI_THEMIS_Flat *buffer,
                                       themis_util_runs_t *file, themis_util_runs_t *memory)
{
    uint64_t bytes = ADIOI_THEMIS_Access_bytes(access), origin = (uint64_t)access->fd->disp;
    const themis_util_flat_type_t *view, *datatype;
    themis_status_t status;

    themis_util_runs_clear(file);
    themis_util_runs_clear(memory);
    if (bytes == 0)
        return THEMIS_OK;
    view = ADIOI_THEMIS_View_type(access->fd);
    datatype = ADIOI_THEMIS_Flat_type(buffer, access->datatype);
    if (!view || !datatype)
        return THEMIS_NO_MEMORY;
    status = themis_util_flat_type_expand(view, origin, position, bytes, SIZE_MAX, file);
    if (status == THEMIS_OK)
        status = themis_util_flat_type_expand(datatype, 0, 0, bytes, SIZE_MAX, memory);
    return status;
}
