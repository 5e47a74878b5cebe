/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank's own list to the servers. */
#include <stdlib.h>
#include "collective/op.h"

/* Memory in pieces below this size on average is packed first: a piece costs the server more than a copy here. */
enum { SMALL_PIECE = 512, FEW = 16 };

/* An entry for each piece of memory, in order. */
static struct iovec *make_iovec(const themis_collective_access_t *access, size_t pieces)
{
    struct iovec *memory = malloc((pieces + 1) * sizeof *memory);
    size_t n = 0;
    for (size_t i = 0; memory && i < access->memory->count; i++) {
        const themis_run_t *run = &access->memory->run[i];
        for (uint64_t p = 0; p < run->count; p++)
            memory[n++] = (struct iovec){(char *)access->base + (run->offset + p * run->stride), run->length};
    }
    return memory;
}

static int wants_packing(const themis_collective_access_t *access, uint64_t pieces)
{
    return pieces > FEW && access->memory->bytes / pieces < SMALL_PIECE;
}

typedef themis_status_t (*submit_fn)(void *arg, const themis_list_t *list);

/* Describes the memory of an access and hands the list to `submit`. */
static themis_status_t with_list(const themis_collective_access_t *access, char **packed, submit_fn submit, void *arg)
{
    const themis_util_runs_t *memory = access->memory;
    uint64_t pieces = themis_util_runs_pieces(memory);
    struct iovec few[FEW], *many = NULL, *used = few;
    themis_list_t list = {few, pieces, access->file->run, access->file->count};
    if (wants_packing(access, pieces)) {
        if (!(*packed = malloc(memory->bytes)))
            return THEMIS_NO_MEMORY;
        if (access->direction == THEMIS_WRITE)
            themis_util_runs_copy(memory, access->base, 0, *packed, memory->bytes, THEMIS_WRITE);
        few[0] = (struct iovec){*packed, memory->bytes};
        list.memory_count = 1;
    } else if (pieces == 1) {
        few[0] = (struct iovec){(char *)access->base + memory->run[0].offset, memory->bytes};
    } else {
        used = many = make_iovec(access, pieces);
        if (!many)
            return THEMIS_NO_MEMORY;
    }
    list.memory = used;
    themis_status_t status = submit(arg, &list);
    free(many);
    return status;
}

static void unpack(const themis_collective_access_t *access, char *packed, uint64_t done)
{
    if (packed && access->direction == THEMIS_READ)
        themis_util_runs_copy(access->memory, access->base, 0, packed, done, THEMIS_READ);
}

static themis_status_t submit_op(void *arg, const themis_list_t *list)
{
    themis_collective_op_t *op = arg;
    const themis_collective_sink_t *sink = op->coll->sink;
    return sink->start(sink->arg, op->access.direction, list, &op->request);
}

themis_status_t themis_collective_direct_start(themis_collective_op_t *op)
{
    if (!op->access.file->bytes)
        return THEMIS_OK;
    return with_list(&op->access, &op->packed, submit_op, op);
}

static themis_status_t take(themis_collective_op_t *op, themis_status_t status, size_t done)
{
    op->request = NULL;
    if (status == THEMIS_OK) {
        op->done = done;
        unpack(&op->access, op->packed, done);
    }
    return status;
}

themis_status_t themis_collective_direct_test(themis_collective_op_t *op)
{
    const themis_collective_sink_t *sink = op->coll->sink;
    size_t done = 0;
    if (!op->request)
        return THEMIS_OK;
    themis_status_t status = sink->test(sink->arg, op->request, &done);
    return status == THEMIS_IN_PROGRESS ? status : take(op, status, done);
}

themis_status_t themis_collective_direct_wait(themis_collective_op_t *op)
{
    const themis_collective_sink_t *sink = op->coll->sink;
    size_t done = 0;
    if (!op->request)
        return THEMIS_OK;
    themis_status_t status = sink->wait(sink->arg, op->request, &done);
    return take(op, status, done);
}

typedef struct quick {
    const themis_collective_sink_t *sink;
    themis_direction_t direction;
    size_t done;
} quick_t;

static themis_status_t submit_quick(void *arg, const themis_list_t *list)
{
    quick_t *quick = arg;
    return quick->sink->quick(quick->sink->arg, quick->direction, list, &quick->done);
}

themis_status_t themis_collective_direct_quick(themis_collective_t *coll, const themis_collective_access_t *access,
                                               uint64_t *done)
{
    quick_t quick = {coll->sink, access->direction, 0};
    char *packed = NULL;
    themis_status_t status = THEMIS_OK;
    if (access->file->bytes)
        status = with_list(access, &packed, submit_quick, &quick);
    if (status == THEMIS_OK)
        unpack(access, packed, quick.done);
    free(packed);
    *done = quick.done;
    return status;
}
