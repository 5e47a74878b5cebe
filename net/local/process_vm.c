/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "net/local/process_vm.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "net/segments.h"
#include "util/status.h"

enum { BATCH = 512 };

/* A place in the remote range, and the part of the table that is here. */
typedef struct cursor {
    pid_t pid;
    const themis_net_copy_t *copy;
    themis_net_segment_t segments[BATCH];
    uint64_t first; /* index of segments[0] in the table */
    size_t held;
    size_t index;   /* in segments */
    uint64_t at;    /* place in the range; segments[index] holds it */
    uint64_t start; /* where segments[index] begins */
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

static themis_status_t table_read(const cursor_t *cursor, uint64_t first, themis_net_segment_t *segments, size_t count)
{
    struct iovec here = {segments, count * sizeof *segments};
    struct iovec there = {(void *)(uintptr_t)(cursor->copy->remote->address + first * sizeof *segments), here.iov_len};

    ssize_t got = process_vm_readv(cursor->pid, &here, 1, &there, 1, 0);
    if (got == (ssize_t)here.iov_len)
        return THEMIS_OK;
    return got < 0 ? status_from_errno(errno) : THEMIS_PROTOCOL;
}

/* Reads the part of the table that begins with segment `first`, which begins at `start` in the range. */
static themis_status_t cursor_load(cursor_t *cursor, uint64_t first, uint64_t start)
{
    uint64_t left = cursor->copy->remote->count - first;

    cursor->first = first;
    cursor->held = left < BATCH ? (size_t)left : BATCH;
    cursor->index = 0;
    cursor->start = start;
    return cursor->held == 0 ? THEMIS_PROTOCOL : table_read(cursor, first, cursor->segments, cursor->held);
}

/* Finds the segment that holds the offset: by single entries until it is within one batch. */
static themis_status_t cursor_seek(cursor_t *cursor)
{
    const themis_net_copy_t *copy = cursor->copy;
    uint64_t low = 0, high = copy->remote->count, start = 0;
    themis_net_segment_t segment;

    while (high - low > BATCH) {
        uint64_t middle = low + (high - low) / 2;
        themis_status_t status = table_read(cursor, middle, &segment, 1);
        if (status != THEMIS_OK)
            return status;
        if (segment.end > copy->offset) {
            high = middle + 1;
        } else {
            low = middle + 1;
            start = segment.end;
        }
    }
    return cursor_load(cursor, low, start);
}

static themis_status_t cursor_init(cursor_t *cursor)
{
    const themis_net_descriptor_t *remote = cursor->copy->remote;

    cursor->at = cursor->copy->offset;
    if ((remote->flags & THEMIS_NET_PLAIN) == 0)
        return cursor_seek(cursor);
    cursor->segments[0] = (themis_net_segment_t){remote->address, remote->total};
    cursor->held = 1;
    cursor->first = cursor->index = 0;
    cursor->start = 0;
    return THEMIS_OK;
}

/* Moves to the segment that holds cursor->at. */
static themis_status_t cursor_advance(cursor_t *cursor)
{
    while (cursor->segments[cursor->index].end <= cursor->at) {
        uint64_t end = cursor->segments[cursor->index].end;
        if (end < cursor->start)
            return THEMIS_PROTOCOL; /* ends must not decrease */
        cursor->start = end;
        if (++cursor->index < cursor->held)
            continue;
        if (cursor->copy->remote->flags & THEMIS_NET_PLAIN)
            return THEMIS_PROTOCOL;
        themis_status_t status = cursor_load(cursor, cursor->first + cursor->held, end);
        if (status != THEMIS_OK)
            return status;
    }
    return cursor->at < cursor->start ? THEMIS_PROTOCOL : THEMIS_OK;
}

/* Remote segments from the cursor on, as far as the table is here, at most `max` bytes; returns how many there are. */
static size_t remote_part(const cursor_t *cursor, uint64_t max, struct iovec *out, uint64_t *bytes)
{
    uint64_t start = cursor->start, at = cursor->at, sum = 0;
    size_t count = 0;

    for (size_t i = cursor->index; i < cursor->held && count < BATCH && sum < max; i++) {
        const themis_net_segment_t *segment = &cursor->segments[i];
        if (segment->end < start)
            break; /* cursor_advance refuses it when it gets there */
        uint64_t length = segment->end - at < max - sum ? segment->end - at : max - sum;
        if (length > 0)
            out[count++] = (struct iovec){(void *)(uintptr_t)(segment->address + (at - start)), length};
        sum += length;
        at += length;
        start = segment->end;
    }
    *bytes = sum;
    return count;
}

/* Local segments from byte `done` of segment `first` on; at most BATCH. */
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

/* One system call, with as much as fits into a batch of segments on both sides. Sets the bytes moved. */
static themis_status_t copy_batch(cursor_t *cursor, size_t first, uint64_t done, uint64_t *moved)
{
    const themis_net_copy_t *copy = cursor->copy;
    struct iovec here[BATCH], there[BATCH];
    uint64_t here_bytes, there_bytes;

    size_t local = local_part(copy, first, done, here, &here_bytes);
    size_t remote = remote_part(cursor, here_bytes, there, &there_bytes);
    if (remote == 0)
        return THEMIS_PROTOCOL;
    ssize_t got = copy->push ? process_vm_writev(cursor->pid, here, local, there, remote, 0)
                             : process_vm_readv(cursor->pid, here, local, there, remote, 0);
    if (got <= 0)
        return got < 0 ? status_from_errno(errno) : THEMIS_PROTOCOL;
    *moved = (uint64_t)got;
    return THEMIS_OK;
}

themis_status_t themis_net_process_vm_copy(pid_t pid, const themis_net_copy_t *copy)
{
    cursor_t cursor = {.pid = pid, .copy = copy};
    size_t first = 0;
    uint64_t done = 0, moved = 0, left = copy->total;

    themis_status_t status = cursor_init(&cursor);
    while (status == THEMIS_OK && left > 0) {
        while (done == copy->local[first].iov_len) {
            first++;
            done = 0;
        }
        status = cursor_advance(&cursor);
        if (status == THEMIS_OK)
            status = copy_batch(&cursor, first, done, &moved);
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

/* Yama's restriction of tracing on this host; 0: none. */
static long ptrace_scope(void)
{
    char text[16] = "0";
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");

    if (file == NULL)
        return 0;
    if (fgets(text, sizeof text, file) == NULL)
        text[0] = 0;
    fclose(file);
    return strtol(text, NULL, 10);
}

void themis_net_process_vm_cause(int error, char *text, size_t size)
{
    long scope = error == EPERM ? ptrace_scope() : 0;

    if (scope > 0)
        snprintf(text, size, "kernel.yama.ptrace_scope is %ld, or it forbids to be traced", scope);
    else
        snprintf(text, size, "%s%s", strerror(error), error == EPERM ? ": it forbids to be traced" : "");
}
