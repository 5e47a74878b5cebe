/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of blocks: each is read, then written, in order of the file. Requests to servers are started ahead, as many as
 * there are blocks; a local descriptor is read or written in its block's turn.
 */
#define _GNU_SOURCE
#include "tools/pipelined_copy.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "util/status.h"

enum { AHEAD = 2, BLOCKS = 2 * AHEAD, BLOCK_BYTES = 4 << 20 };

typedef struct block {
    char *bytes;
    size_t length; /* read */
    uint64_t offset;
    themis_request_t *request; /* reading or writing; NULL: none */
} block_t;

typedef struct copy {
    themis_tools_endpoint_t from, to;
    block_t blocks[BLOCKS];
    uint64_t offset; /* of the next block to be read */
    int skipped;     /* the last block was zeros and is not written */
    const char *cause;
    const themis_tools_pipelined_t *options;
    uint64_t checksum;
} copy_t;

static themis_status_t error_note(copy_t *copy, themis_status_t status)
{
    if (status != THEMIS_OK)
        copy->cause = themis_last_error();
    return status;
}

static themis_status_t errno_note(copy_t *copy)
{
    int error = errno;

    copy->cause = strerror(error);
    return themis_util_status_from_errno(error);
}

static themis_status_t block_start(themis_file_t *file, block_t *block, size_t bytes, int write)
{
    struct iovec memory = {block->bytes, bytes};
    themis_run_t run = {block->offset, bytes, bytes, 1};
    themis_list_t list = {&memory, 1, &run, 1};

    return write ? themis_iwrite_list(file, &list, &block->request) : themis_iread_list(file, &list, &block->request);
}

/* Waits for the block's request. */
static themis_status_t block_wait(copy_t *copy, block_t *block, size_t *done)
{
    themis_request_t *request = block->request;

    if (!request)
        return THEMIS_OK;
    block->request = NULL;
    return error_note(copy, themis_request_wait(request, done));
}

/* Moves on to the next data of a local file, or to its end. */
static void skip_hole(copy_t *copy)
{
    off_t data = lseek(copy->from.fd, (off_t)copy->offset, SEEK_DATA);

    if (data < 0 && errno == ENXIO)
        data = lseek(copy->from.fd, 0, SEEK_END);
    if (data > (off_t)copy->offset)
        copy->offset = (uint64_t)data / BLOCK_BYTES * BLOCK_BYTES; /* blocks are the same in source and target */
}

/* Starts to fill a block with the next bytes of the source. */
static themis_status_t block_read_start(copy_t *copy, block_t *block)
{
    themis_status_t status = block_wait(copy, block, NULL); /* its last write */

    if (!copy->from.file && copy->from.is_regular)
        skip_hole(copy);
    block->offset = copy->offset;
    copy->offset += BLOCK_BYTES;
    block->length = 0;
    if (status != THEMIS_OK || !copy->from.file)
        return status;
    return error_note(copy, block_start(copy->from.file, block, BLOCK_BYTES, 0));
}

static themis_status_t read_local(copy_t *copy, block_t *block)
{
    while (block->length < BLOCK_BYTES) {
        char *to = block->bytes + block->length;
        size_t left = BLOCK_BYTES - block->length;
        ssize_t got = copy->from.is_regular ? pread(copy->from.fd, to, left, (off_t)(block->offset + block->length))
                                            : read(copy->from.fd, to, left);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno_note(copy);
        if (got == 0)
            break;
        block->length += (size_t)got;
    }
    return THEMIS_OK;
}

static themis_status_t block_read_finish(copy_t *copy, block_t *block)
{
    return copy->from.file ? block_wait(copy, block, &block->length) : read_local(copy, block);
}

static themis_status_t write_local(copy_t *copy, const block_t *block)
{
    for (size_t at = 0; at < block->length;) {
        const char *from = block->bytes + at;
        ssize_t put = copy->to.is_regular ? pwrite(copy->to.fd, from, block->length - at, (off_t)(block->offset + at))
                                          : write(copy->to.fd, from, block->length - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return errno_note(copy);
        at += (size_t)put;
    }
    return THEMIS_OK;
}

static int is_zero(const block_t *block)
{
    return !*block->bytes && memcmp(block->bytes, block->bytes + 1, block->length - 1) == 0;
}

static int is_nowhere(const themis_tools_endpoint_t *end)
{
    return !end->file && end->fd < 0;
}

/* The sum over all blocks that are not zeros, to which copy_run adds the length. */
static void block_checksum(copy_t *copy, const block_t *block)
{
    if (copy->options->checksum && !is_zero(block))
        copy->checksum += XXH3_64bits_withSeed(block->bytes, block->length, block->offset);
}

static themis_status_t block_write(copy_t *copy, block_t *block)
{
    if (block->length == 0)
        return THEMIS_OK;
    block_checksum(copy, block);
    copy->skipped = copy->to.is_regular && is_zero(block);
    if (copy->skipped || is_nowhere(&copy->to))
        return THEMIS_OK;
    if (!copy->to.file)
        return write_local(copy, block);
    return error_note(copy, block_start(copy->to.file, block, block->length, 1));
}

/* Makes the target as long as the source where the last bytes were not written. */
static themis_status_t target_truncate(copy_t *copy, uint64_t size)
{
    if (!copy->to.file)
        return ftruncate(copy->to.fd, (off_t)size) == 0 ? THEMIS_OK : errno_note(copy);
    return error_note(copy, themis_truncate(copy->to.file, size));
}

/* Blocks of zeros are not written to a regular target, so it must be empty. */
static themis_status_t target_empty(copy_t *copy)
{
    return copy->to.replaces ? target_truncate(copy, 0) : THEMIS_OK;
}

/* The block of turn `turn` is read AHEAD turns before it is written, and has as many turns until it is read again. */
static themis_status_t copy_run(copy_t *copy)
{
    const themis_tools_pipelined_t *options = copy->options;
    themis_status_t status = THEMIS_OK;

    for (int i = 0; i < AHEAD && status == THEMIS_OK; i++)
        status = block_read_start(copy, &copy->blocks[i]);
    for (uint64_t turn = 0; status == THEMIS_OK; turn++) {
        block_t *block = &copy->blocks[turn % BLOCKS];
        if ((status = block_read_start(copy, &copy->blocks[(turn + AHEAD) % BLOCKS])) != THEMIS_OK ||
            (status = block_read_finish(copy, block)) != THEMIS_OK ||
            (turn == 0 && (status = target_empty(copy)) != THEMIS_OK) ||
            (status = block_write(copy, block)) != THEMIS_OK)
            return status;
        if (options->progress && options->progress(options->arg, block->offset + block->length)) {
            copy->cause = "interrupted";
            return THEMIS_IO;
        }
        copy->checksum += block->length < BLOCK_BYTES ? block->offset + block->length : 0;
        if (block->length < BLOCK_BYTES)
            return copy->to.is_regular && (copy->skipped || block->length == 0)
                       ? target_truncate(copy, block->offset + block->length)
                       : THEMIS_OK;
    }
    return status;
}

themis_status_t themis_tools_pipelined_copy(themis_tools_endpoint_t from, themis_tools_endpoint_t to,
                                            const themis_tools_pipelined_t *options, const char **cause)
{
    copy_t copy = {.from = from, .to = to, .options = options};
    char *memory = malloc((size_t)BLOCKS * BLOCK_BYTES);

    *cause = "out of memory";
    if (!memory)
        return THEMIS_NO_MEMORY;
    for (int i = 0; i < BLOCKS; i++)
        copy.blocks[i].bytes = memory + (size_t)i * BLOCK_BYTES;
    themis_status_t status = copy_run(&copy);
    for (int i = 0; i < BLOCKS; i++) {
        themis_status_t unfinished = block_wait(&copy, &copy.blocks[i], NULL);
        status = status == THEMIS_OK ? unfinished : status;
    }
    free(memory);
    if (options->checksum)
        *options->checksum = copy.checksum;
    if (copy.cause)
        *cause = copy.cause;
    return status;
}
