/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The remote table of pieces is read by parts as the copy goes on. What it says is used as addresses in that same
 * process and as lengths that never exceed what is left of the local memory, so a table that lies, or changes
 * meanwhile, harms its owner only.
 */
#define _GNU_SOURCE
#include "net/local/process_vm.h"
#include <errno.h>
#include "util/log.h"
#include "util/status.h"

enum { BATCH = 512 };

/* A place in the remote range, and the part of the table that is here. */
typedef struct cursor {
    const themis_net_copy_t *copy;
    themis_net_piece_t pieces[BATCH];
    uint64_t first; /* index of pieces[0] in the table */
    size_t held;
    size_t index;   /* in pieces */
    uint64_t at;    /* place in the range; pieces[index] holds it */
    uint64_t start; /* where pieces[index] begins */
} cursor_t;

static themis_status_t status_from_errno(int error)
{
    switch (error) {
    case EPERM:
    case ENOSYS:
        return THEMIS_UNSUPPORTED;
    case ESRCH:
        return THEMIS_DISCONNECTED;
    default:
        return themis_util_status_from_errno(error);
    }
}

static themis_status_t fetch(const themis_net_copy_t *copy, uint64_t first, themis_net_piece_t *pieces, size_t count)
{
    struct iovec here = {pieces, count * sizeof *pieces};
    struct iovec there = {(void *)(uintptr_t)(copy->remote->address + first * sizeof *pieces), here.iov_len};

    ssize_t got = process_vm_readv(copy->pid, &here, 1, &there, 1, 0);
    if (got == (ssize_t)here.iov_len)
        return THEMIS_OK;
    return got < 0 ? status_from_errno(errno) : THEMIS_PROTOCOL;
}

/* Brings the part of the table that begins with piece `first`, which begins at `start` in the range. */
static themis_status_t load(cursor_t *cursor, uint64_t first, uint64_t start)
{
    uint64_t left = cursor->copy->remote->count - first;

    cursor->first = first;
    cursor->held = left < BATCH ? (size_t)left : BATCH;
    cursor->index = 0;
    cursor->start = start;
    return cursor->held == 0 ? THEMIS_PROTOCOL : fetch(cursor->copy, first, cursor->pieces, cursor->held);
}

/* Finds the piece that holds the offset: by single entries until it is within one batch. */
static themis_status_t seek(cursor_t *cursor)
{
    const themis_net_copy_t *copy = cursor->copy;
    uint64_t low = 0, high = copy->remote->count, start = 0;
    themis_net_piece_t piece;

    while (high - low > BATCH) {
        uint64_t middle = low + (high - low) / 2;
        themis_status_t status = fetch(copy, middle, &piece, 1);
        if (status != THEMIS_OK)
            return status;
        if (piece.end > copy->offset) {
            high = middle + 1;
        } else {
            low = middle + 1;
            start = piece.end;
        }
    }
    return load(cursor, low, start);
}

static themis_status_t begin(cursor_t *cursor)
{
    const themis_net_descriptor_t *remote = cursor->copy->remote;

    cursor->at = cursor->copy->offset;
    if ((remote->flags & THEMIS_NET_PLAIN) == 0)
        return seek(cursor);
    cursor->pieces[0] = (themis_net_piece_t){remote->address, remote->total};
    cursor->held = 1;
    cursor->first = cursor->index = 0;
    cursor->start = 0;
    return THEMIS_OK;
}

/* Moves to the piece that holds cursor->at. */
static themis_status_t settle(cursor_t *cursor)
{
    while (cursor->pieces[cursor->index].end <= cursor->at) {
        uint64_t end = cursor->pieces[cursor->index].end;
        if (end < cursor->start)
            return THEMIS_PROTOCOL; /* ends have to grow */
        cursor->start = end;
        if (++cursor->index < cursor->held)
            continue;
        if (cursor->copy->remote->flags & THEMIS_NET_PLAIN)
            return THEMIS_PROTOCOL;
        themis_status_t status = load(cursor, cursor->first + cursor->held, end);
        if (status != THEMIS_OK)
            return status;
    }
    return cursor->at < cursor->start ? THEMIS_PROTOCOL : THEMIS_OK;
}

/* Remote pieces from the cursor on, as far as the table is here, at most `most` bytes; returns how many there are. */
static size_t gather(const cursor_t *cursor, uint64_t most, struct iovec *out, uint64_t *bytes)
{
    uint64_t start = cursor->start, at = cursor->at, sum = 0;
    size_t count = 0;

    for (size_t i = cursor->index; i < cursor->held && count < BATCH && sum < most; i++) {
        const themis_net_piece_t *piece = &cursor->pieces[i];
        if (piece->end < start)
            break; /* settle() refuses it when it comes to it */
        uint64_t length = piece->end - at < most - sum ? piece->end - at : most - sum;
        if (length > 0)
            out[count++] = (struct iovec){(void *)(uintptr_t)(piece->address + (at - start)), length};
        sum += length;
        at += length;
        start = piece->end;
    }
    *bytes = sum;
    return count;
}

/* Local pieces behind the first `done` bytes of piece `first`; at most BATCH. */
static size_t local_part(const themis_net_copy_t *copy, size_t first, uint64_t done, struct iovec *out, uint64_t *bytes)
{
    size_t count = 0;

    *bytes = 0;
    for (size_t i = first; i < copy->count && count < BATCH; i++) {
        uint64_t skip = i == first ? done : 0;
        out[count] = (struct iovec){(char *)copy->local[i].iov_base + skip, copy->local[i].iov_len - skip};
        *bytes += out[count++].iov_len;
    }
    return count;
}

/* One call of the kernel, with as much as fits into a batch of pieces on both sides. Returns the bytes moved. */
static themis_status_t step(cursor_t *cursor, size_t first, uint64_t done, uint64_t *moved)
{
    const themis_net_copy_t *copy = cursor->copy;
    struct iovec here[BATCH], there[BATCH];
    uint64_t here_bytes, there_bytes;

    size_t local = local_part(copy, first, done, here, &here_bytes);
    size_t remote = gather(cursor, here_bytes, there, &there_bytes);
    if (remote == 0)
        return THEMIS_PROTOCOL;
    ssize_t got = copy->push ? process_vm_writev(copy->pid, here, local, there, remote, 0)
                             : process_vm_readv(copy->pid, here, local, there, remote, 0);
    if (got <= 0)
        return got < 0 ? status_from_errno(errno) : THEMIS_PROTOCOL;
    *moved = (uint64_t)got;
    return THEMIS_OK;
}

themis_status_t themis_net_copy(const themis_net_copy_t *copy)
{
    cursor_t cursor = {.copy = copy};
    size_t first = 0;
    uint64_t done = 0, moved = 0, left = copy->total;

    themis_status_t status = begin(&cursor);
    while (status == THEMIS_OK && left > 0) {
        while (done == copy->local[first].iov_len) {
            first++;
            done = 0;
        }
        status = settle(&cursor);
        if (status == THEMIS_OK)
            status = step(&cursor, first, done, &moved);
        if (status != THEMIS_OK)
            break;
        left -= moved;
        cursor.at += moved;
        for (done += moved; first < copy->count && done > copy->local[first].iov_len; first++)
            done -= copy->local[first].iov_len;
    }
    /* refused in the middle of a copy: it cannot be started again by other means */
    return status == THEMIS_UNSUPPORTED && left < copy->total ? THEMIS_IO : status;
}
