/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A place in the runs of a READ or WRITE, and the extents that follow it. The bytes of all runs, in order, are the
 * bytes of the client's buffer; `done` counts them. Pure computation.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "proto/proto.h"
#include "store/store.h"

typedef struct themis_server_cursor {
    const themis_proto_io_t *io; /* borrowed */
    uint32_t next_run;
    themis_proto_run_t run; /* what is left: `run.count` pieces from `run.offset`, the first cut by `inside` bytes */
    uint64_t inside;
    uint64_t done; /* bytes of the client's buffer before this place */
} themis_server_cursor_t;

void themis_server_cursor_init(themis_server_cursor_t *cursor, const themis_proto_io_t *io);

/* Sum of the lengths of all runs. */
uint64_t themis_server_cursor_total(const themis_proto_io_t *io);

/*
 * Extents from the cursor's place on that are contiguous in the client's buffer: at most `limit` bytes in at most
 * `capacity` extents, none past `end` of the object. Pieces past `end` at the cursor's place are skipped. Adjacent
 * extents are merged. Returns their number, 0 when nothing is left.
 */
size_t themis_server_cursor_fill(themis_server_cursor_t *cursor, uint64_t limit, uint64_t end,
                                 themis_store_extent_t *extents, size_t capacity);

/* Moves on by `bytes`. */
void themis_server_cursor_advance(themis_server_cursor_t *cursor, uint64_t bytes);
