/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Independent accesses as lists: the view's data and the buffer's, each a flattened datatype (util/flat_type.h), are
 * expanded side by side, batch by batch, which bounds the memory for the lists.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "ad_themis.h"

enum { BATCH_ENTRIES = 1 << 16 };

/* --- flattened datatypes --- */

/* MPI may give a handle or memory of a freed type to the next one, so a type is known by what it says. */
static uint64_t flat_name(const ADIOI_Flatlist_node *list, MPI_Aint extent)
{
    uint64_t name = XXH64(list->indices, (size_t)list->count * sizeof *list->indices, (uint64_t)extent);

    name = XXH64(list->blocklens, (size_t)list->count * sizeof *list->blocklens, name);
    return name ? name : 1;
}

/* ROMIO's types for these have changed their names over the years, and are of 64 bits in all of them. */
_Static_assert(sizeof *((ADIOI_Flatlist_node *)0)->indices == sizeof(int64_t) &&
                   sizeof *((ADIOI_Flatlist_node *)0)->blocklens == sizeof(int64_t),
               "a flattened type is not of 64-bit numbers");

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
    uint64_t name;

    if (is_contiguous(datatype))
        return &themis_util_flat_type_bytes;
    list = ADIOI_Flatten_and_find(datatype);
    if (!list)
        return NULL;
    MPI_Type_get_extent(datatype, &lower, &extent);
    name = flat_name(list, extent);
    if (name == flat->name)
        return &flat->type;
    ADIOI_THEMIS_Flat_free(flat);
    if (themis_util_flat_type_create((const int64_t *)list->indices, (const int64_t *)list->blocklens,
                                     (size_t)list->count, extent, &flat->type) != THEMIS_OK)
        return NULL;
    flat->name = name;
    return &flat->type;
}

void ADIOI_THEMIS_Flat_free(ADIOI_THEMIS_Flat *flat)
{
    themis_util_flat_type_destroy(&flat->type);
    flat->name = 0;
}

/* --- the view --- */

static uint64_t view_position(ADIO_File fd, const themis_util_flat_type_t *view, int file_ptr_type, ADIO_Offset offset)
{
    if (file_ptr_type != ADIO_INDIVIDUAL)
        return (uint64_t)offset * (uint64_t)fd->etype_size;
    return view ? themis_util_flat_type_position(view, (uint64_t)(fd->fp_ind - fd->disp)) : 0;
}

uint64_t ADIOI_THEMIS_View_position(ADIO_File fd, int file_ptr_type, ADIO_Offset offset)
{
    return view_position(fd, ADIOI_THEMIS_Flat_type(&ADIOI_THEMIS_file(fd)->view, fd->filetype), file_ptr_type, offset);
}

ADIO_Offset ADIOI_THEMIS_View_offset(ADIO_File fd, uint64_t position)
{
    const themis_util_flat_type_t *view =
        is_contiguous(fd->filetype) ? &themis_util_flat_type_bytes : &ADIOI_THEMIS_file(fd)->view.type;

    return fd->disp + (ADIO_Offset)themis_util_flat_type_offset(view, position);
}

/* --- the access --- */

int ADIOI_THEMIS_Access_begin(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIOI_THEMIS_Access *access)
{
    uint64_t bytes = ADIOI_THEMIS_Bytes(count, datatype);

    if (bytes == 0 || ADIOI_THEMIS_Bytes(1, fd->filetype) == 0) {
        ADIOI_THEMIS_Access_plain(buf, 0, (uint64_t)fd->fp_ind, access);
        return 0;
    }
    ADIOI_THEMIS_Access_plain(buf, bytes, (uint64_t)fd->disp, access);
    access->view = ADIOI_THEMIS_Flat_type(&ADIOI_THEMIS_file(fd)->view, fd->filetype);
    access->memory = ADIOI_THEMIS_Flat_type(&access->buffer, datatype);
    if (!access->view || !access->memory)
        return -1;
    access->position = view_position(fd, access->view, file_ptr_type, offset);
    return 0;
}

void ADIOI_THEMIS_Access_plain(const void *buf, uint64_t bytes, uint64_t offset, ADIOI_THEMIS_Access *access)
{
    memset(access, 0, sizeof *access);
    access->view = access->memory = &themis_util_flat_type_bytes;
    access->origin = offset;
    access->base = (uint64_t)(uintptr_t)buf;
    access->left = bytes;
}

/* The next at most `bytes` bytes of memory; access->batch says how many they are. */
static themis_status_t memory_expand(ADIOI_THEMIS_Access *access, uint64_t bytes)
{
    themis_run_t whole = {access->base + access->moved, bytes, bytes, 1};
    const themis_run_t *run = &whole;
    uint64_t count = bytes > 0;

    if (!access->memory->contiguous) {
        themis_status_t status;

        themis_util_runs_clear(&access->pieces);
        status = themis_util_flat_type_expand(access->memory, access->base, access->moved, bytes, BATCH_ENTRIES,
                                              &access->pieces);
        if (status != THEMIS_OK)
            return status;
        run = access->pieces.run;
        count = themis_util_runs_pieces(&access->pieces);
        count = count < BATCH_ENTRIES ? count : BATCH_ENTRIES;
    }
    if (count > access->iov_capacity) {
        free(access->iov);
        access->iov = malloc(count * sizeof *access->iov);
        access->iov_capacity = access->iov ? count : 0;
        if (!access->iov)
            return THEMIS_NO_MEMORY;
    }
    for (; access->iov_count < count; run++)
        for (uint64_t i = 0; i < run->count && access->iov_count < count; i++) {
            void *at = (void *)(uintptr_t)(run->offset + i * run->stride);

            access->iov[access->iov_count++] = (struct iovec){at, run->length};
            access->batch += run->length;
        }
    return THEMIS_OK;
}

static themis_status_t file_expand(ADIOI_THEMIS_Access *access, uint64_t bytes, size_t max_runs)
{
    themis_util_runs_clear(&access->runs);
    return themis_util_flat_type_expand(access->view, access->origin, access->position, bytes, max_runs, &access->runs);
}

int ADIOI_THEMIS_Access_next(ADIOI_THEMIS_Access *access)
{
    themis_status_t status = file_expand(access, access->left, BATCH_ENTRIES);

    access->iov_count = 0;
    access->batch = 0;
    if (status == THEMIS_OK)
        status = memory_expand(access, access->runs.bytes);
    if (status == THEMIS_OK && access->batch < access->runs.bytes)
        status = file_expand(access, access->batch, SIZE_MAX);
    if (status != THEMIS_OK)
        return -1;
    access->position += access->batch;
    access->moved += access->batch;
    access->left -= access->batch;
    return 0;
}

themis_list_t ADIOI_THEMIS_Access_list(const ADIOI_THEMIS_Access *access)
{
    return (themis_list_t){access->iov, access->iov_count, access->runs.run, access->runs.count};
}

ADIO_Offset ADIOI_THEMIS_Access_target(const ADIOI_THEMIS_Access *access)
{
    return (ADIO_Offset)(access->origin + themis_util_flat_type_offset(access->view, access->position + access->left));
}

void ADIOI_THEMIS_Access_range(const ADIOI_THEMIS_Access *access, uint64_t *first, uint64_t *end)
{
    themis_util_flat_type_range(access->view, access->position, access->left, first, end);
    *first += access->origin;
    *end += access->origin;
}

void ADIOI_THEMIS_Access_end(ADIOI_THEMIS_Access *access)
{
    ADIOI_THEMIS_Flat_free(&access->buffer);
    themis_util_runs_free(&access->runs);
    themis_util_runs_free(&access->pieces);
    free(access->iov);
    access->iov = NULL;
}
