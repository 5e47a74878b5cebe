/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_list.h"
#include <stdlib.h>
#include <string.h>
#include "ad_themis_view.h"

enum { BATCH_ENTRIES = 1 << 16 };

/* Contiguous bytes at an absolute offset. */
static void list_contiguous(const void *buf, uint64_t bytes, uint64_t offset, ADIOI_THEMIS_List *list)
{
    memset(list, 0, sizeof *list);
    list->view = list->memory = &themis_util_flat_type_bytes;
    list->origin = offset;
    list->base = (uint64_t)(uintptr_t)buf;
    list->left = bytes;
}

int ADIOI_THEMIS_List_begin(const ADIOI_THEMIS_Access *access, ADIOI_THEMIS_List *list)
{
    uint64_t bytes = ADIOI_THEMIS_Access_bytes(access);
    ADIO_File fd = access->fd;
    MPI_Count size;

    if (access->position == AD_THEMIS_AT_BYTE) {
        list_contiguous(access->buf, bytes, (uint64_t)access->offset, list);
        return 0;
    }
    MPI_Type_size_x(fd->filetype, &size);
    if (bytes == 0 || size == 0) {
        list_contiguous(access->buf, 0, (uint64_t)fd->fp_ind, list);
        return 0;
    }
    list_contiguous(access->buf, bytes, (uint64_t)fd->disp, list);
    list->view = ADIOI_THEMIS_View_type(fd);
    list->memory = ADIOI_THEMIS_Flat_type(&list->buffer, access->datatype);
    if (!list->view || !list->memory)
        return -1;
    list->position = ADIOI_THEMIS_View_position(access, list->view);
    return 0;
}

/* At most the next `bytes` bytes of memory; list->batch is their number. */
static themis_status_t memory_expand(ADIOI_THEMIS_List *list, uint64_t bytes)
{
    themis_run_t whole = {list->base + list->moved, bytes, bytes, 1};
    const themis_run_t *run = &whole;
    uint64_t count = bytes > 0;

    if (!list->memory->contiguous) {
        themis_status_t status;

        themis_util_runs_clear(&list->pieces);
        status =
            themis_util_flat_type_expand(list->memory, list->base, list->moved, bytes, BATCH_ENTRIES, &list->pieces);
        if (status != THEMIS_OK)
            return status;
        run = list->pieces.run;
        count = themis_util_runs_pieces(&list->pieces);
        count = count < BATCH_ENTRIES ? count : BATCH_ENTRIES;
    }
    if (count > list->iov_capacity) {
        free(list->iov);
        list->iov = malloc(count * sizeof *list->iov);
        list->iov_capacity = list->iov ? count : 0;
        if (!list->iov)
            return THEMIS_NO_MEMORY;
    }
    for (; list->iov_count < count; run++)
        for (uint64_t i = 0; i < run->count && list->iov_count < count; i++) {
            void *at = (void *)(uintptr_t)(run->offset + i * run->stride);

            list->iov[list->iov_count++] = (struct iovec){at, run->length};
            list->batch += run->length;
        }
    return THEMIS_OK;
}

static themis_status_t file_expand(ADIOI_THEMIS_List *list, uint64_t bytes, size_t max_runs)
{
    themis_util_runs_clear(&list->runs);
    return themis_util_flat_type_expand(list->view, list->origin, list->position, bytes, max_runs, &list->runs);
}

int ADIOI_THEMIS_List_next(ADIOI_THEMIS_List *list)
{
    /* Where all that is left is few runs of the file but many pieces of memory, a batch takes a small part of it:
     * expand no more than about that the next time, or the time for all batches grows with the square of their number.
     */
    uint64_t limit = list->batch && list->batch < list->left / 2 ? 2 * list->batch : list->left;
    themis_status_t status = file_expand(list, limit, BATCH_ENTRIES);

    list->iov_count = 0;
    list->batch = 0;
    if (status == THEMIS_OK)
        status = memory_expand(list, list->runs.bytes);
    if (status == THEMIS_OK && list->batch < list->runs.bytes)
        status = file_expand(list, list->batch, SIZE_MAX);
    if (status != THEMIS_OK)
        return -1;
    list->position += list->batch;
    list->moved += list->batch;
    list->left -= list->batch;
    return 0;
}

themis_list_t ADIOI_THEMIS_List_batch(const ADIOI_THEMIS_List *list)
{
    return (themis_list_t){list->iov, list->iov_count, list->runs.run, list->runs.count};
}

ADIO_Offset ADIOI_THEMIS_List_target(const ADIOI_THEMIS_List *list)
{
    return (ADIO_Offset)(list->origin + themis_util_flat_type_offset(list->view, list->position + list->left));
}

void ADIOI_THEMIS_List_range(const ADIOI_THEMIS_List *list, uint64_t *first, uint64_t *end)
{
    themis_util_flat_type_range(list->view, list->position, list->left, first, end);
    *first += list->origin;
    *end += list->origin;
}

void ADIOI_THEMIS_List_end(ADIOI_THEMIS_List *list)
{
    ADIOI_THEMIS_Flat_free(&list->buffer);
    themis_util_runs_free(&list->runs);
    themis_util_runs_free(&list->pieces);
    free(list->iov);
    list->iov = NULL;
}
