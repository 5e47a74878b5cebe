/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/read_ahead.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_READS = 8, GROWTH = 4, NEEDED_REPEATS = 2 };

void themis_client_read_ahead_init(themis_client_read_ahead_t *ra, themis_file_t *file,
                                   const themis_client_write_behind_t *wb, size_t capacity)
{
    *ra = (themis_client_read_ahead_t){.file = file, .wb = wb, .capacity = capacity};
}

static void batch_drop(themis_client_read_batch_t *batch)
{
    if (batch->request)
        themis_request_wait(batch->request, NULL); /* a failure occurs again if these bytes are read */
    batch->request = NULL;
    batch->count = 0;
}

void themis_client_read_ahead_invalidate(themis_client_read_ahead_t *ra, const themis_client_extent_t *extent)
{
    for (int i = 0; i < 2; i++)
        if (!extent || (ra->batches[i].count > 0 && themis_client_extent_overlaps(&ra->batches[i].extent, extent)))
            batch_drop(&ra->batches[i]);
}

void themis_client_read_ahead_free(themis_client_read_ahead_t *ra)
{
    themis_client_read_ahead_invalidate(ra, NULL);
    themis_util_runs_free(&ra->runs);
    free(ra->batches[0].bytes);
    free(ra->batches[1].bytes);
}

/* --- the pattern -------------------------------------------------------------------------------------------------- */

static int same_shape(const themis_run_t *a, const themis_run_t *b)
{
    return a->length == b->length && a->count == b->count && (a->count == 1 || a->stride == b->stride);
}

/* Records a read; returns 1 if it continues a pattern. */
static int pattern_continues(themis_client_read_ahead_t *ra, const themis_run_t *run, uint64_t bytes)
{
    uint64_t distance = run->offset - ra->offset;

    if (!same_shape(&ra->shape, run)) {
        ra->repeated = 0;
    } else if (run->offset <= ra->offset || distance != ra->distance) {
        ra->repeated = run->offset > ra->offset;
    } else {
        ra->repeated += ra->repeated < NEEDED_REPEATS;
    }
    if (ra->repeated < NEEDED_REPEATS) {
        themis_client_read_ahead_invalidate(ra, NULL);
        ra->reads = FIRST_READS;
    }
    ra->shape = *run;
    ra->offset = run->offset;
    ra->distance = distance;
    ra->bytes = bytes;
    return ra->repeated >= NEEDED_REPEATS;
}

/* --- batches ------------------------------------------------------------------------------------------------------ */

/* Each read is a run, so pieces of one may lie between those of another. */
static themis_status_t batch_runs_build(themis_client_read_ahead_t *ra, uint64_t first, uint64_t count)
{
    themis_status_t status = THEMIS_OK;

    themis_util_runs_clear(&ra->runs);
    for (uint64_t i = 0; i < count && status == THEMIS_OK; i++) {
        themis_run_t run = {first + i * ra->distance, ra->shape.length, ra->shape.stride, ra->shape.count};
        status = themis_util_runs_add_run(&ra->runs, &run);
    }
    return status;
}

/* Starts to fetch a batch that begins with the read at `first`. After a failure the batch is empty. */
static void batch_fetch(themis_client_read_ahead_t *ra, themis_client_read_batch_t *batch, uint64_t first)
{
    uint64_t count = ra->capacity / ra->bytes;
    themis_run_t shape = ra->shape;

    batch_drop(batch);
    count = count < ra->reads ? count : ra->reads;
    themis_client_extent_t one = themis_client_extent_of_run(&shape);
    if (count < 2 || first > INT64_MAX / 2 || ra->distance > INT64_MAX / 4 / count)
        return;
    themis_client_extent_t extent = {first, first + (count - 1) * ra->distance + (one.end - one.first)};
    if (themis_client_write_behind_overlaps(ra->wb, &extent))
        return;
    if (!batch->bytes && !(batch->bytes = malloc(ra->capacity)))
        return;
    if (batch_runs_build(ra, first, count) != THEMIS_OK)
        return;
    struct iovec memory = {batch->bytes, count * ra->bytes};
    themis_list_t list = {&memory, 1, ra->runs.run, ra->runs.count};
    if (themis_iread_list(ra->file, &list, &batch->request) != THEMIS_OK)
        return;
    batch->first = first;
    batch->count = count;
    batch->extent = extent;
    if (ra->reads < ra->capacity / ra->bytes)
        ra->reads *= GROWTH;
}

/* 1 if the read at `offset` is in the batch. */
static int batch_has(const themis_client_read_ahead_t *ra, const themis_client_read_batch_t *batch, uint64_t offset,
                     uint64_t *index)
{
    if (batch->count == 0 || offset < batch->first || (offset - batch->first) % ra->distance != 0)
        return 0;
    *index = (offset - batch->first) / ra->distance;
    return *index < batch->count;
}

/* Waits for the batch, and copies read number `index` if all of it was there. */
static int batch_read(themis_client_read_ahead_t *ra, themis_client_read_batch_t *batch, uint64_t index,
                      const themis_list_t *list)
{
    const char *from = batch->bytes + index * ra->bytes;
    size_t done = 0;

    if (batch->request) {
        themis_request_t *request = batch->request;
        batch->request = NULL;
        batch->valid = themis_request_wait(request, &done) == THEMIS_OK ? done : 0;
    }
    if ((index + 1) * ra->bytes > batch->valid) { /* the end of the file may have moved since */
        batch_drop(batch);
        ra->repeated = 0;
        return 0;
    }
    for (size_t i = 0; i < list->memory_count; i++) {
        memcpy(list->memory[i].iov_base, from, list->memory[i].iov_len);
        from += list->memory[i].iov_len;
    }
    return 1;
}

/* The batch after the current one is fetched when the first read of the current one is served. */
static void next_batch_fetch(themis_client_read_ahead_t *ra, themis_client_read_batch_t *current)
{
    themis_client_read_batch_t *next = &ra->batches[!ra->current];
    uint64_t first = current->first + current->count * ra->distance;

    if (next->count == 0 || next->first != first)
        batch_fetch(ra, next, first);
}

int themis_client_read_ahead_read(themis_client_read_ahead_t *ra, const themis_list_t *list, uint64_t bytes,
                                  size_t *done)
{
    uint64_t index;

    if (list->run_count != 1 || bytes == 0 || bytes > ra->capacity / 2 || !pattern_continues(ra, list->runs, bytes))
        return 0;
    if (!batch_has(ra, &ra->batches[ra->current], ra->offset, &index)) {
        ra->current = !ra->current;
        if (!batch_has(ra, &ra->batches[ra->current], ra->offset, &index)) {
            batch_fetch(ra, &ra->batches[ra->current], ra->offset);
            index = 0;
        }
    }
    themis_client_read_batch_t *batch = &ra->batches[ra->current];
    if (batch->count == 0 || !batch_read(ra, batch, index, list))
        return 0;
    next_batch_fetch(ra, batch);
    *done = (size_t)bytes;
    return 1;
}
