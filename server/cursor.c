/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/cursor.h"

/* Moves to a piece with bytes left; returns 0 at the end of all runs. */
static int cursor_seek(themis_server_cursor_t *cursor)
{
    while (cursor->run.count == 0 || cursor->run.length == 0) {
        if (cursor->next_run == cursor->io->runs)
            return 0;
        themis_proto_run_get(cursor->io, cursor->next_run++, &cursor->run);
        cursor->inside = 0;
    }
    return 1;
}

/* Moves on within the piece. */
static void cursor_step(themis_server_cursor_t *cursor, uint64_t bytes)
{
    cursor->done += bytes;
    cursor->inside += bytes;
    if (cursor->inside < cursor->run.length)
        return;
    cursor->inside = 0;
    cursor->run.offset += cursor->run.stride;
    cursor->run.count--;
}

void themis_server_cursor_init(themis_server_cursor_t *cursor, const themis_proto_io_t *io)
{
    *cursor = (themis_server_cursor_t){.io = io};
}

uint64_t themis_server_cursor_total(const themis_proto_io_t *io)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < io->runs; i++) {
        themis_proto_run_t run;
        themis_proto_run_get(io, i, &run);
        total += run.length * run.count;
    }
    return total;
}

/* Skips pieces past `end`; the later ones of their run lie past it, too. Returns 0 at the end of all runs. */
static int cursor_skip_past(themis_server_cursor_t *cursor, uint64_t end)
{
    while (cursor_seek(cursor)) {
        if (cursor->run.offset + cursor->inside < end)
            return 1;
        cursor->done += cursor->run.length * cursor->run.count - cursor->inside;
        cursor->run.count = 0;
    }
    return 0;
}

size_t themis_server_cursor_fill(themis_server_cursor_t *cursor, uint64_t limit, uint64_t end,
                                 themis_store_extent_t *extents, size_t capacity)
{
    size_t count = 0;

    if (!cursor_skip_past(cursor, end))
        return 0;
    themis_server_cursor_t ahead = *cursor;
    while (limit && cursor_seek(&ahead)) {
        uint64_t offset = ahead.run.offset + ahead.inside, length = ahead.run.length - ahead.inside;
        uint64_t before_end = offset < end ? end - offset : 0;
        uint64_t take = length < limit ? length : limit;
        int cut = take > before_end;
        if (cut)
            take = before_end;
        if (take && count && extents[count - 1].offset + extents[count - 1].length == offset)
            extents[count - 1].length += take;
        else if (take && count < capacity)
            extents[count++] = (themis_store_extent_t){offset, take};
        else
            break;
        if (cut)
            break;
        limit -= take;
        cursor_step(&ahead, take);
    }
    return count;
}

void themis_server_cursor_advance(themis_server_cursor_t *cursor, uint64_t bytes)
{
    while (bytes && cursor_seek(cursor)) {
        uint64_t left = cursor->run.length - cursor->inside;
        uint64_t take = bytes < left ? bytes : left;
        cursor_step(cursor, take);
        bytes -= take;
    }
}
