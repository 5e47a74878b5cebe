/* SPDX-License-Identifier: BSD-3-Clause */
/* From views and datatypes to runs. A flattened type is turned into runs once and kept until another takes its place.
 */
#include <string.h>
#include <xxhash.h>
#include "ad_themis_coll.h"

/* MPI may give a handle or memory of a freed type to the next one, so a type is known by what it says. */
static uint64_t name_of(const ADIOI_Flatlist_node *flat, MPI_Aint extent)
{
    uint64_t name = XXH64(flat->indices, (size_t)flat->count * sizeof *flat->indices, (uint64_t)extent);

    name = XXH64(flat->blocklens, (size_t)flat->count * sizeof *flat->blocklens, name);
    return name ? name : 1;
}

/* ROMIO's types for these have changed their names over the years, and are of 64 bits in all of them. */
_Static_assert(sizeof *((ADIOI_Flatlist_node *)0)->indices == sizeof(int64_t) &&
                   sizeof *((ADIOI_Flatlist_node *)0)->blocklens == sizeof(int64_t),
               "a flattened type is not of 64-bit numbers");

static themis_status_t flatten(MPI_Datatype datatype, ADIOI_THEMIS_Flat *flat)
{
    const ADIOI_Flatlist_node *list = ADIOI_Flatten_and_find(datatype);
    MPI_Aint lower, extent;
    themis_status_t status;
    uint64_t name;

    if (!list)
        return THEMIS_NO_MEMORY;
    MPI_Type_get_extent(datatype, &lower, &extent);
    name = name_of(list, extent);
    if (name == flat->name)
        return THEMIS_OK;
    themis_util_flat_type_destroy(&flat->type);
    flat->name = 0;
    status = themis_util_flat_type_create((const int64_t *)list->indices, (const int64_t *)list->blocklens,
                                          (size_t)list->count, extent, &flat->type);
    if (status == THEMIS_OK)
        flat->name = name;
    return status;
}

static int is_plain(MPI_Datatype datatype)
{
    int contiguous;

    ADIOI_Datatype_iscontig(datatype, &contiguous);
    return contiguous;
}

uint64_t ADIOI_THEMIS_Coll_position(ADIO_File fd, ADIOI_THEMIS_Coll *coll, int file_ptr_type, ADIO_Offset offset)
{
    if (file_ptr_type != ADIO_INDIVIDUAL)
        return (uint64_t)offset * (uint64_t)fd->etype_size;
    if (is_plain(fd->filetype))
        return (uint64_t)(fd->fp_ind - fd->disp);
    if (flatten(fd->filetype, &coll->view) != THEMIS_OK)
        return 0;
    return themis_util_flat_type_position(&coll->view.type, (uint64_t)(fd->fp_ind - fd->disp));
}

ADIO_Offset ADIOI_THEMIS_Coll_offset(ADIO_File fd, ADIOI_THEMIS_Coll *coll, uint64_t position)
{
    if (is_plain(fd->filetype))
        return fd->disp + (ADIO_Offset)position;
    return fd->disp + (ADIO_Offset)themis_util_flat_type_offset(&coll->view.type, position);
}

themis_status_t ADIOI_THEMIS_Coll_describe(ADIO_File fd, ADIOI_THEMIS_Coll *coll, AD_THEMIS_COUNT count,
                                           MPI_Datatype datatype, uint64_t position, themis_util_runs_t *file,
                                           themis_util_runs_t *memory)
{
    themis_status_t status = THEMIS_OK;
    uint64_t bytes = ADIOI_THEMIS_Bytes(count, datatype);

    themis_util_runs_clear(file);
    themis_util_runs_clear(memory);
    if (bytes == 0)
        return THEMIS_OK;
    if (is_plain(fd->filetype)) {
        status = themis_util_runs_add(file, (uint64_t)fd->disp + position, bytes);
    } else {
        status = flatten(fd->filetype, &coll->view);
        if (status == THEMIS_OK)
            status =
                themis_util_flat_type_expand(&coll->view.type, (uint64_t)fd->disp, position, bytes, SIZE_MAX, file);
    }
    if (status != THEMIS_OK)
        return status;
    if (is_plain(datatype))
        return themis_util_runs_add(memory, 0, bytes);
    status = flatten(datatype, &coll->buffer);
    return status == THEMIS_OK ? themis_util_flat_type_expand(&coll->buffer.type, 0, 0, bytes, SIZE_MAX, memory)
                               : status;
}
