/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_coll_view.h"
#include <xxhash.h>

/* MPI may reuse the handle or memory of a freed type, so a type is identified by its contents. */
static uint64_t name_of(const ADIOI_Flatlist_node *flat, MPI_Aint extent)
{
    uint64_t name = XXH64(flat->indices, (size_t)flat->count * sizeof *flat->indices, (uint64_t)extent);

    name = XXH64(flat->blocklens, (size_t)flat->count * sizeof *flat->blocklens, name);
    return name ? name : 1;
}

/* The names of these types differ between versions of ROMIO; all have 64 bits. */
_Static_assert(sizeof *((ADIOI_Flatlist_node *)0)->indices == sizeof(int64_t) &&
                   sizeof *((ADIOI_Flatlist_node *)0)->blocklens == sizeof(int64_t),
               "a flattened type does not have 64-bit numbers");

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

uint64_t ADIOI_THEMIS_Coll_view_position(ADIOI_THEMIS_Coll *coll, const ADIOI_THEMIS_Access *access)
{
    ADIO_File fd = access->fd;

    if (access->position != AD_THEMIS_AT_POINTER)
        return (uint64_t)access->offset * (uint64_t)fd->etype_size;
    if (is_plain(fd->filetype))
        return (uint64_t)(fd->fp_ind - fd->disp);
    if (flatten(fd->filetype, &coll->view) != THEMIS_OK)
        return 0;
    return themis_util_flat_type_position(&coll->view.type, (uint64_t)(fd->fp_ind - fd->disp));
}

ADIO_Offset ADIOI_THEMIS_Coll_view_offset(ADIOI_THEMIS_Coll *coll, uint64_t position)
{
    if (is_plain(coll->fd->filetype))
        return coll->fd->disp + (ADIO_Offset)position;
    return coll->fd->disp + (ADIO_Offset)themis_util_flat_type_offset(&coll->view.type, position);
}

/* Appends `bytes` bytes, from stream position `position` on, of elements of a datatype that start at `origin`. */
static themis_status_t expand(MPI_Datatype datatype, ADIOI_THEMIS_Flat *flat, uint64_t origin, uint64_t position,
                              uint64_t bytes, themis_util_runs_t *runs)
{
    themis_status_t status;

    if (is_plain(datatype))
        return themis_util_runs_push(runs, origin + position, bytes, bytes, 1);
    status = flatten(datatype, flat);
    return status == THEMIS_OK ? themis_util_flat_type_expand(&flat->type, origin, position, bytes, runs) : status;
}

themis_status_t ADIOI_THEMIS_Coll_view_describe(ADIOI_THEMIS_Coll *coll, const ADIOI_THEMIS_Access *access,
                                                uint64_t position, themis_util_runs_t *file, themis_util_runs_t *memory)
{
    uint64_t bytes = ADIOI_THEMIS_Access_bytes(access);
    themis_status_t status;

    themis_util_runs_clear(file);
    themis_util_runs_clear(memory);
    if (bytes == 0)
        return THEMIS_OK;
    status = expand(coll->fd->filetype, &coll->view, (uint64_t)coll->fd->disp, position, bytes, file);
    return status == THEMIS_OK ? expand(access->datatype, &coll->buffer, 0, 0, bytes, memory) : status;
}
