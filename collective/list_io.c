/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/list_io.h"
#include <stdlib.h>

/* Memory in pieces below this size on average is packed first: a piece costs the server more than a copy here. */
enum { SMALL_PIECE = 512, FEW = 16 };

/* A list with what its memory needs. */
typedef struct request_list {
    themis_list_t list;
    struct iovec few[FEW], *many; /* many: NULL, or allocated */
    char *packed;                 /* NULL, or allocated */
} request_list_t;

/* An entry for each piece of memory, in order. */
static void fill_iovec(const themis_collective_access_t *access, struct iovec *memory)
{
    for (size_t i = 0; i < access->memory->count; i++) {
        const themis_run_t *run = &access->memory->run[i];
        for (uint64_t p = 0; p < run->count; p++)
            *memory++ = (struct iovec){(char *)access->base + (run->offset + p * run->stride), run->length};
    }
}

static themis_status_t describe_memory(const themis_collective_access_t *access, request_list_t *made)
{
    uint64_t bytes = access->memory->bytes, pieces = themis_util_runs_pieces(access->memory);
    made->list = (themis_list_t){made->few, pieces, access->file->run, access->file->count};
    made->many = NULL;
    made->packed = NULL;
    if (pieces <= FEW) {
        fill_iovec(access, made->few);
        return THEMIS_OK;
    }
    if (bytes / pieces >= SMALL_PIECE) {
        made->list.memory = made->many = malloc(pieces * sizeof *made->many);
        if (!made->many)
            return THEMIS_NO_MEMORY;
        fill_iovec(access, made->many);
        return THEMIS_OK;
    }
    if (!(made->packed = malloc(bytes)))
        return THEMIS_NO_MEMORY;
    if (access->direction == THEMIS_WRITE)
        themis_util_runs_copy(access->memory, access->base, 0, made->packed, bytes, THEMIS_WRITE);
    made->few[0] = (struct iovec){made->packed, bytes};
    made->list.memory_count = 1;
    return THEMIS_OK;
}

/* After the I/O: takes what was read out of packed memory, and frees that. */
static void finish_packed(const themis_collective_access_t *access, char *packed, themis_status_t status, size_t done)
{
    if (packed && status == THEMIS_OK && access->direction == THEMIS_READ)
        themis_util_runs_copy(access->memory, access->base, 0, packed, done, THEMIS_READ);
    free(packed);
}

themis_status_t themis_collective_list_io_start(const themis_collective_file_ops_t *ops,
                                                const themis_collective_access_t *access,
                                                themis_collective_list_io_t *io)
{
    *io = (themis_collective_list_io_t){.ops = ops, .access = *access};
    if (!access->file->bytes)
        return THEMIS_OK;
    request_list_t made;
    themis_status_t status = describe_memory(access, &made);
    if (status == THEMIS_OK)
        status = ops->start(ops->arg, access->direction, &made.list, &io->request);
    free(made.many);
    if (status == THEMIS_OK)
        io->packed = made.packed;
    else
        free(made.packed);
    return status;
}

static themis_status_t request_advance(themis_collective_list_io_t *io,
                                       themis_status_t (*step)(void *arg, void *request, size_t *done), uint64_t *done)
{
    size_t moved = 0;
    themis_status_t status = io->request ? step(io->ops->arg, io->request, &moved) : THEMIS_OK;
    if (status == THEMIS_IN_PROGRESS)
        return status;
    finish_packed(&io->access, io->packed, status, moved);
    io->request = NULL;
    io->packed = NULL;
    if (status == THEMIS_OK)
        *done = moved;
    return status;
}

themis_status_t themis_collective_list_io_test(themis_collective_list_io_t *io, uint64_t *done)
{
    return request_advance(io, io->ops->test, done);
}

themis_status_t themis_collective_list_io_wait(themis_collective_list_io_t *io, uint64_t *done)
{
    return request_advance(io, io->ops->wait, done);
}
