/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of blocks: each is read, then written, in order of the file. Requests to servers are started ahead, as many as
 * there are blocks; a local descriptor is read or written when its block's turn comes.
 */
#define _GNU_SOURCE
#include "tools/pipelined_copy.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/status.h"

enum { AHEAD = 2, BLOCKS = 2 * AHEAD, BLOCK_BYTES = 4 << 20 };

typedef struct block {
    char *bytes;
    size_t length; /* read */
    uint64_t offset;
    themis_request_t *request; /* reading or writing; NULL: none */
} block_t;

typedef struct transfer {
    themis_tools_end_t from, to;
    block_t blocks[BLOCKS];
    uint64_t offset; /* of the next block to be read */
    int skipped;     /* the last block was zeros and is not written */
    const char *cause;
} transfer_t;

static themis_status_t note(transfer_t *transfer, themis_status_t status)
{
    if (status != THEMIS_OK)
        transfer->cause = themis_last_error();
    return status;
}

static themis_status_t note_errno(transfer_t *transfer)
{
    int error = errno;

    transfer->cause = strerror(error);
    return themis_util_status_from_errno(error);
}

static themis_status_t start(themis_file_t *file, block_t *block, size_t bytes, int write)
{
    struct iovec memory = {block->bytes, bytes};
    themis_run_t run = {block->offset, bytes, bytes, 1};
    themis_list_t list = {&memory, 1, &run, 1};

    return write ? themis_iwrite_list(file, &list, &block->request) : themis_iread_list(file, &list, &block->request);
}

/* Waits for what a block is doing. */
static themis_status_t settle(transfer_t *transfer, block_t *block, size_t *done)
{
    themis_request_t *request = block->request;

    if (!request)
        return THEMIS_OK;
    block->request = NULL;
    return note(transfer, themis_request_wait(request, done));
}

/* Moves on to where a local file holds bytes again, or to its end. */
static void skip_hole(transfer_t *transfer)
{
    off_t data = lseek(transfer->from.fd, (off_t)transfer->offset, SEEK_DATA);

    if (data < 0 && errno == ENXIO)
        data = lseek(transfer->from.fd, 0, SEEK_END);
    if (data > (off_t)transfer->offset)
        transfer->offset = (uint64_t)data;
}

/* Starts to fill a block with the next bytes of the source. */
static themis_status_t begin_read(transfer_t *transfer, block_t *block)
{
    themis_status_t status = settle(transfer, block, NULL); /* its last write */

    if (!transfer->from.file && transfer->from.is_regular)
        skip_hole(transfer);
    block->offset = transfer->offset;
    transfer->offset += BLOCK_BYTES;
    block->length = 0;
    if (status != THEMIS_OK || !transfer->from.file)
        return status;
    return note(transfer, start(transfer->from.file, block, BLOCK_BYTES, 0));
}

static themis_status_t read_local(transfer_t *transfer, block_t *block)
{
    while (block->length < BLOCK_BYTES) {
        char *to = block->bytes + block->length;
        size_t left = BLOCK_BYTES - block->length;
        ssize_t got = transfer->from.is_regular
                          ? pread(transfer->from.fd, to, left, (off_t)(block->offset + block->length))
                          : read(transfer->from.fd, to, left);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return note_errno(transfer);
        if (got == 0)
            break;
        block->length += (size_t)got;
    }
    return THEMIS_OK;
}

static themis_status_t end_read(transfer_t *transfer, block_t *block)
{
    return transfer->from.file ? settle(transfer, block, &block->length) : read_local(transfer, block);
}

static themis_status_t write_local(transfer_t *transfer, const block_t *block)
{
    for (size_t at = 0; at < block->length;) {
        const char *from = block->bytes + at;
        ssize_t put = transfer->to.is_regular
                          ? pwrite(transfer->to.fd, from, block->length - at, (off_t)(block->offset + at))
                          : write(transfer->to.fd, from, block->length - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return note_errno(transfer);
        at += (size_t)put;
    }
    return THEMIS_OK;
}

static int is_zero(const block_t *block)
{
    return !*block->bytes && memcmp(block->bytes, block->bytes + 1, block->length - 1) == 0;
}

static themis_status_t begin_write(transfer_t *transfer, block_t *block)
{
    if (block->length == 0)
        return THEMIS_OK;
    transfer->skipped = transfer->to.is_regular && is_zero(block);
    if (transfer->skipped)
        return THEMIS_OK;
    if (!transfer->to.file)
        return write_local(transfer, block);
    return note(transfer, start(transfer->to.file, block, block->length, 1));
}

/* Makes the target as long as the source if the last bytes were not written. */
static themis_status_t end_at(transfer_t *transfer, uint64_t size)
{
    if (!transfer->to.file)
        return ftruncate(transfer->to.fd, (off_t)size) == 0 ? THEMIS_OK : note_errno(transfer);
    return note(transfer, themis_truncate(transfer->to.file, size));
}

/* Zeros are left out of a regular target, so nothing may be there. */
static themis_status_t empty_target(transfer_t *transfer)
{
    return transfer->to.replaces ? end_at(transfer, 0) : THEMIS_OK;
}

/* The block of turn `turn` is read AHEAD turns before it is written, and has as many turns until it is read again. */
static themis_status_t run(transfer_t *transfer, themis_tools_moved_fn moved, void *arg)
{
    themis_status_t status = THEMIS_OK;

    for (int i = 0; i < AHEAD && status == THEMIS_OK; i++)
        status = begin_read(transfer, &transfer->blocks[i]);
    for (uint64_t turn = 0; status == THEMIS_OK; turn++) {
        block_t *block = &transfer->blocks[turn % BLOCKS];
        if ((status = begin_read(transfer, &transfer->blocks[(turn + AHEAD) % BLOCKS])) != THEMIS_OK ||
            (status = end_read(transfer, block)) != THEMIS_OK ||
            (turn == 0 && (status = empty_target(transfer)) != THEMIS_OK) ||
            (status = begin_write(transfer, block)) != THEMIS_OK)
            return status;
        if (moved)
            moved(arg, block->offset + block->length);
        if (block->length < BLOCK_BYTES)
            return transfer->to.is_regular && (transfer->skipped || block->length == 0)
                       ? end_at(transfer, block->offset + block->length)
                       : THEMIS_OK;
    }
    return status;
}

themis_status_t themis_tools_transfer(themis_tools_end_t from, themis_tools_end_t to, themis_tools_moved_fn moved,
                                      void *arg, const char **cause)
{
    transfer_t transfer = {.from = from, .to = to};
    char *memory = malloc((size_t)BLOCKS * BLOCK_BYTES);

    *cause = "out of memory";
    if (!memory)
        return THEMIS_NO_MEMORY;
    for (int i = 0; i < BLOCKS; i++)
        transfer.blocks[i].bytes = memory + (size_t)i * BLOCK_BYTES;
    themis_status_t status = run(&transfer, moved, arg);
    for (int i = 0; i < BLOCKS; i++) {
        themis_status_t late = settle(&transfer, &transfer.blocks[i], NULL);
        status = status == THEMIS_OK ? late : status;
    }
    free(memory);
    if (transfer.cause)
        *cause = transfer.cause;
    return status;
}
