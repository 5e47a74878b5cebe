/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_flat.h"
#include <xxhash.h>

/* MPI may reuse the handle or memory of a freed type, so a type is identified by its contents. */
static uint64_t flat_hash(const ADIOI_Flatlist_node *list, MPI_Aint extent)
{
    uint64_t hash = XXH64(list->indices, (size_t)list->count * sizeof *list->indices, (uint64_t)extent);

    hash = XXH64(list->blocklens, (size_t)list->count * sizeof *list->blocklens, hash);
    return hash ? hash : 1;
}

/* The names of these types differ between versions of ROMIO; all have 64 bits. */
_Static_assert(sizeof *((ADIOI_Flatlist_node *)0)->indices == sizeof(int64_t) &&
                   sizeof *((ADIOI_Flatlist_node *)0)->blocklens == sizeof(int64_t),
               "a flattened type does not have 64-bit numbers");

static int is_contiguous(MPI_Datatype datatype)
{
    int contiguous;

    ADIOI_Datatype_iscontig(datatype, &contiguous);
    return contiguous;
}

const themis_util_flat_type_t *ADIOI_THEMIS_Flat_type(ADIOI_THEMIS_Flat *flat, MPI_Datatype datatype)
{
    const ADIOI_Flatlist_node *list;
    MPI_Aint lower, extent;
    uint64_t hash;

    if (is_contiguous(datatype))
        return &themis_util_flat_type_bytes;
    list = ADIOI_Flatten_and_find(datatype);
    if (!list)
        return NULL;
    MPI_Type_get_extent(datatype, &lower, &extent);
    hash = flat_hash(list, extent);
    if (hash == flat->hash)
        return &flat->type;
    ADIOI_THEMIS_Flat_free(flat);
    if (themis_util_flat_type_create((const int64_t *)list->indices, (const int64_t *)list->blocklens,
                                     (size_t)list->count, extent, &flat->type) != THEMIS_OK)
        return NULL;
    flat->hash = hash;
    return &flat->type;
}

void ADIOI_THEMIS_Flat_free(ADIOI_THEMIS_Flat *flat)
{
    themis_util_flat_type_destroy(&flat->type);
    flat->hash = 0;
}
