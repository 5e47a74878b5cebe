/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Noncontiguous accesses as lists. Two streams of pieces, of memory and of the file, run side by side; what they have
 * in common is cut off step by step. Neighbouring pieces grow together, and pieces of equal length at equal distance
 * become one run, so that a vector or a row of a subarray is one entry however long it is. Batches bound the memory.
 */
#include "ad_themis_list.h"
#include <stdlib.h>
#include <string.h>

enum { BATCH_ENTRIES = 1 << 16, FIRST_ENTRIES = 64 };

/* --- streams --- */

/* Goes to the next block that holds bytes. */
static void stream_advance(ADIOI_THEMIS_Stream *stream)
{
    do {
        if (++stream->block >= stream->flat->count) {
            stream->block = 0;
            stream->repetition++;
        }
    } while (stream->flat->blocklens[stream->block] == 0);
    stream->at = (uint64_t)(stream->base + stream->repetition * stream->extent + stream->flat->indices[stream->block]);
    stream->left = (uint64_t)stream->flat->blocklens[stream->block];
}

static void stream_take(ADIOI_THEMIS_Stream *stream, uint64_t bytes)
{
    stream->at += bytes;
    stream->left -= bytes;
    if (stream->left == 0 && stream->flat)
        stream_advance(stream);
}

static ADIOI_THEMIS_Stream stream_plain(uint64_t at, uint64_t bytes)
{
    return (ADIOI_THEMIS_Stream){.at = at, .left = bytes};
}

/* From the start of repetition `repetition`. */
static ADIOI_THEMIS_Stream stream_typed(MPI_Datatype datatype, int64_t base, int64_t repetition)
{
    ADIOI_THEMIS_Stream stream = {.flat = ADIOI_Flatten_and_find(datatype), .base = base, .repetition = repetition};
    MPI_Aint lb, extent;

    MPI_Type_get_extent(datatype, &lb, &extent);
    stream.extent = extent;
    stream.block = -1;
    stream_advance(&stream);
    return stream;
}

/* Skips bytes of the stream's own (not holes); whole repetitions at once. */
static void stream_skip(ADIOI_THEMIS_Stream *stream, uint64_t bytes)
{
    uint64_t whole = 0;

    for (MPI_Count i = 0; stream->flat && i < stream->flat->count; i++)
        whole += (uint64_t)stream->flat->blocklens[i];
    if (whole > 0 && bytes >= whole) {
        stream->repetition += (int64_t)(bytes / whole);
        stream->at += bytes / whole * (uint64_t)stream->extent;
        bytes %= whole;
    }
    while (bytes > 0) {
        uint64_t step = bytes < stream->left ? bytes : stream->left;

        stream_take(stream, step);
        bytes -= step;
    }
}

/* --- the access --- */

static ADIOI_THEMIS_Stream memory_stream(const void *buf, MPI_Datatype datatype, uint64_t bytes)
{
    int contiguous;

    ADIOI_Datatype_iscontig(datatype, &contiguous);
    if (contiguous)
        return stream_plain((uint64_t)(uintptr_t)buf, bytes);
    return stream_typed(datatype, (int64_t)(intptr_t)buf, 0);
}

/* Where the file pointer stands in a noncontiguous view: its absolute offset is known. */
static ADIOI_THEMIS_Stream file_stream_at(ADIO_File fd, ADIO_Offset at)
{
    ADIOI_THEMIS_Stream stream = stream_typed(fd->filetype, fd->disp, 0);
    int64_t first = (int64_t)stream.at;

    if (at > first && stream.extent > 0)
        stream = stream_typed(fd->filetype, fd->disp, (at - first) / stream.extent);
    while ((int64_t)(stream.at + stream.left) <= at)
        stream_advance(&stream);
    if ((int64_t)stream.at < at)
        stream_take(&stream, (uint64_t)at - stream.at);
    return stream;
}

static ADIOI_THEMIS_Stream file_stream(ADIO_File fd, int file_ptr_type, ADIO_Offset offset, uint64_t bytes)
{
    ADIOI_THEMIS_Stream stream;
    MPI_Count size;
    uint64_t skip;
    int contiguous;

    ADIOI_Datatype_iscontig(fd->filetype, &contiguous);
    if (contiguous) {
        ADIO_Offset at = file_ptr_type == ADIO_INDIVIDUAL ? fd->fp_ind : fd->disp + fd->etype_size * offset;

        return stream_plain((uint64_t)at, bytes);
    }
    if (file_ptr_type == ADIO_INDIVIDUAL)
        return file_stream_at(fd, fd->fp_ind);
    MPI_Type_size_x(fd->filetype, &size);
    skip = (uint64_t)offset * (uint64_t)fd->etype_size;
    stream = stream_typed(fd->filetype, fd->disp, (int64_t)(skip / (uint64_t)size));
    stream_skip(&stream, skip % (uint64_t)size);
    return stream;
}

static int lists_make(ADIOI_THEMIS_List *access)
{
    access->iov_capacity = access->run_capacity = FIRST_ENTRIES;
    access->iov = malloc(FIRST_ENTRIES * sizeof *access->iov);
    access->runs = malloc(FIRST_ENTRIES * sizeof *access->runs);
    return access->iov && access->runs ? 0 : -1;
}

int ADIOI_THEMIS_List_begin(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                            int file_ptr_type, ADIO_Offset offset, ADIOI_THEMIS_List *access)
{
    MPI_Count size, file_size;

    memset(access, 0, sizeof *access);
    MPI_Type_size_x(datatype, &size);
    MPI_Type_size_x(fd->filetype, &file_size);
    access->left = (uint64_t)size * (uint64_t)count;
    if (access->left == 0 || file_size == 0) {
        access->left = 0;
        access->file = stream_plain((uint64_t)fd->fp_ind, 0);
        return 0;
    }
    access->memory = memory_stream(buf, datatype, access->left);
    access->file = file_stream(fd, file_ptr_type, offset, access->left);
    return lists_make(access);
}

int ADIOI_THEMIS_List_plain(const void *buf, uint64_t bytes, uint64_t offset, ADIOI_THEMIS_List *access)
{
    memset(access, 0, sizeof *access);
    access->left = bytes;
    access->memory = stream_plain((uint64_t)(uintptr_t)buf, bytes);
    access->file = stream_plain(offset, bytes);
    return lists_make(access);
}

/* Makes room for one more of both; 1: the batch is full, -1: out of memory. */
static int room(ADIOI_THEMIS_List *access)
{
    void *grown;

    /* One run is kept free for the piece that is still growing. */
    if (access->iov_count >= BATCH_ENTRIES || access->run_count + 1 >= BATCH_ENTRIES)
        return 1;
    if (access->iov_count == access->iov_capacity) {
        grown = realloc(access->iov, 2 * access->iov_capacity * sizeof *access->iov);
        if (!grown)
            return -1;
        access->iov = grown;
        access->iov_capacity *= 2;
    }
    if (access->run_count + 1 >= access->run_capacity) {
        grown = realloc(access->runs, 2 * access->run_capacity * sizeof *access->runs);
        if (!grown)
            return -1;
        access->runs = grown;
        access->run_capacity *= 2;
    }
    return 0;
}

static void put_memory(ADIOI_THEMIS_List *access, uint64_t at, uint64_t bytes)
{
    struct iovec *last = access->iov_count ? &access->iov[access->iov_count - 1] : NULL;

    if (last && (uint64_t)(uintptr_t)last->iov_base + last->iov_len == at)
        last->iov_len += bytes;
    else
        access->iov[access->iov_count++] = (struct iovec){(void *)(uintptr_t)at, bytes};
}

/* The last run, if it is one whole piece, joins the run before it where length and distance fit. */
static void fold(ADIOI_THEMIS_List *access)
{
    themis_run_t *last, *before;
    uint64_t end_start, distance;

    if (access->run_count < 2)
        return;
    last = &access->runs[access->run_count - 1];
    before = last - 1;
    end_start = before->offset + (before->count - 1) * before->stride;
    if (last->count != 1 || last->length != before->length || last->offset < end_start + before->length)
        return;
    distance = last->offset - end_start;
    if (before->count > 1 && distance != before->stride)
        return;
    before->stride = distance;
    before->count++;
    access->run_count--;
}

static void put_file(ADIOI_THEMIS_List *access, uint64_t at, uint64_t bytes)
{
    themis_run_t *last = access->run_count ? &access->runs[access->run_count - 1] : NULL;

    if (last && last->count == 1 && last->offset + last->length == at) {
        last->length += bytes;
        return;
    }
    fold(access);
    access->runs[access->run_count++] = (themis_run_t){.offset = at, .length = bytes, .stride = bytes, .count = 1};
}

int ADIOI_THEMIS_List_next(ADIOI_THEMIS_List *access)
{
    int full = 0;

    access->iov_count = access->run_count = 0;
    access->batch = 0;
    while (access->left > 0 && (full = room(access)) == 0) {
        uint64_t step = access->memory.left < access->file.left ? access->memory.left : access->file.left;

        if (step > access->left)
            step = access->left;
        put_memory(access, access->memory.at, step);
        put_file(access, access->file.at, step);
        stream_take(&access->memory, step);
        stream_take(&access->file, step);
        access->left -= step;
        access->batch += step;
    }
    fold(access);
    return full < 0 ? -1 : 0;
}

themis_list_t ADIOI_THEMIS_List_batch(const ADIOI_THEMIS_List *access)
{
    return (themis_list_t){access->iov, access->iov_count, access->runs, access->run_count};
}

ADIO_Offset ADIOI_THEMIS_List_target(const ADIOI_THEMIS_List *access)
{
    ADIOI_THEMIS_Stream file = access->file;

    stream_skip(&file, access->left);
    return (ADIO_Offset)file.at;
}

/* Widens a range by what the access has in repetition `repetition` of its type, from `from` up to `last`. */
static void range_add(const ADIOI_THEMIS_Stream *from, const ADIOI_THEMIS_Stream *last, int64_t repetition,
                      uint64_t *first, uint64_t *behind)
{
    const ADIOI_Flatlist_node *flat = from->flat;
    MPI_Count begin = repetition == from->repetition ? from->block : 0;
    MPI_Count end = repetition == last->repetition ? last->block : flat->count - 1;

    for (MPI_Count i = begin; i <= end; i++) {
        uint64_t at = (uint64_t)(from->base + repetition * from->extent + flat->indices[i]), stop = at;

        if (flat->blocklens[i] == 0)
            continue;
        stop += (uint64_t)flat->blocklens[i];
        if (repetition == from->repetition && i == from->block)
            at = from->at;
        if (repetition == last->repetition && i == last->block)
            stop = last->at;
        *first = at < *first ? at : *first;
        *behind = stop > *behind ? stop : *behind;
    }
}

void ADIOI_THEMIS_List_range(const ADIOI_THEMIS_List *access, uint64_t *first, uint64_t *behind)
{
    const ADIOI_THEMIS_Stream *from = &access->file;
    ADIOI_THEMIS_Stream last = *from;

    *first = from->at;
    *behind = from->at + access->left;
    if (!from->flat)
        return;
    stream_skip(&last, access->left - 1);
    last.at++;
    *behind = last.at;
    /* Repetitions may overlap; those in the middle lie between these. */
    range_add(from, &last, from->repetition, first, behind);
    if (from->repetition == last.repetition)
        return;
    range_add(from, &last, from->repetition + 1, first, behind);
    range_add(from, &last, last.repetition - 1, first, behind);
    range_add(from, &last, last.repetition, first, behind);
}

void ADIOI_THEMIS_List_end(ADIOI_THEMIS_List *access)
{
    free(access->iov);
    free(access->runs);
    access->iov = NULL;
    access->runs = NULL;
}
