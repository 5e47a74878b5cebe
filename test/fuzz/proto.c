/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes are either refused or decoded. What was decoded can be walked, and encodes to the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "proto/proto.h"

static void require(int good)
{
    if (!good)
        abort();
}

/* The encoder takes lists as arrays of structs; the decoder gives them as they came. */
static void encode_runs(const themis_proto_io_t *io, themis_proto_io_t *out)
{
    themis_proto_run_t *runs = calloc(io->runs + 1, sizeof *runs);

    for (uint32_t i = 0; i < io->runs; i++) {
        themis_proto_run_get(io, i, &runs[i]);
        require(runs[i].length > 0 && runs[i].count > 0);
        require(runs[i].offset + (runs[i].count - 1) * (runs[i].count > 1 ? runs[i].stride : 0) + runs[i].length <=
                INT64_MAX);
    }
    *out = *io;
    out->run_bytes = (const uint8_t *)runs;
}

static void encode_rows(const themis_proto_table_t *table, themis_proto_table_t *out)
{
    themis_proto_table_row_t *rows = calloc(table->rows + 1, sizeof *rows);
    uint32_t cursor = 0, count = 0;

    while (count < table->rows && themis_proto_table_next(table, &cursor, &rows[count]))
        count++;
    require(count == table->rows);
    *out = *table;
    out->bytes = (const uint8_t *)rows;
}

static void encode_steps(const themis_proto_settle_t *settle, themis_proto_settle_t *out)
{
    themis_proto_settle_step_t *steps = calloc(settle->count + 1, sizeof *steps);
    uint32_t cursor = 0, count = 0;

    while (count < settle->count && themis_proto_settle_next(settle, &cursor, &steps[count]))
        count++;
    require(count == settle->count && count > 0);
    *out = *settle;
    out->bytes = (const uint8_t *)steps;
}

static void encode_ends(const themis_proto_settled_t *settled, themis_proto_settled_t *out)
{
    themis_status_t *ends = calloc(settled->count + 1, sizeof *ends);

    for (uint32_t i = 0; i < settled->count; i++)
        ends[i] = themis_proto_settled_get(settled, i);
    *out = *settled;
    out->bytes = (const uint8_t *)ends;
}

/* Owned by the caller. */
static const uint8_t *encode_list(const uint8_t *bytes, uint32_t count)
{
    themis_proto_listed_t *list = calloc(count + 1, sizeof *list);

    for (uint32_t i = 0; i < count; i++)
        list[i] = themis_proto_listed_get(bytes, i);
    return (const uint8_t *)list;
}

static void walk_entries(const themis_proto_entries_t *entries)
{
    themis_proto_text_t name;
    themis_proto_type_t type;
    uint32_t cursor = 0, count = 0;

    while (themis_proto_entries_next(entries, &cursor, &name, &type)) {
        require(name.length > 0 && memchr(name.bytes, '/', name.length) == NULL);
        count++;
    }
    require(count == entries->count);
}

static void walk_xattrs(const themis_proto_xattrs_t *xattrs)
{
    themis_proto_text_t name, value;
    uint32_t cursor = 0, count = 0;

    while (themis_proto_xattrs_next(xattrs, &cursor, &name, &value)) {
        require(name.length > 0 && name.length <= THEMIS_PROTO_MAX_NAME && value.length <= THEMIS_PROTO_MAX_XATTR);
        /* true: both ends are read for ASan */
        require(value.length == 0 || value.bytes[0] + value.bytes[value.length - 1] < 512);
        count++;
    }
    require(count == xattrs->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t again[THEMIS_PROTO_MAX_MESSAGE];
    themis_proto_header_t header;
    themis_proto_body_t body, given;
    const void *list = NULL;
    size_t length;

    if (themis_proto_decode(bytes, size, &header, &body) != THEMIS_OK)
        return 0;
    given = body;
    int request = header.kind == THEMIS_PROTO_REQUEST, good = request || header.status == THEMIS_OK;
    if (request && (header.opcode == THEMIS_OP_READ || header.opcode == THEMIS_OP_WRITE)) {
        encode_runs(&body.io, &given.io);
        list = given.io.run_bytes;
    } else if (request && header.opcode == THEMIS_OP_TABLE) {
        encode_rows(&body.table, &given.table);
        list = given.table.bytes;
    } else if (request && header.opcode == THEMIS_OP_ENLIST) {
        list = given.enlist.list = encode_list(body.enlist.list, body.enlist.count);
    } else if (!request && good && header.opcode == THEMIS_OP_SIZE) {
        list = given.size.list = encode_list(body.size.list, body.size.listed);
    } else if (request && header.opcode == THEMIS_OP_SETTLE) {
        encode_steps(&body.settle, &given.settle);
        list = given.settle.bytes;
    } else if (!request && good && header.opcode == THEMIS_OP_SETTLE) {
        encode_ends(&body.settled, &given.settled);
        list = given.settled.bytes;
    } else if (!request && good && header.opcode == THEMIS_OP_READDIR) {
        walk_entries(&body.entries);
    } else if (!request && good && header.opcode == THEMIS_OP_EXTRA) {
        walk_xattrs(&body.extra.xattrs);
    } else if (request && header.opcode == THEMIS_OP_CREATE) {
        walk_xattrs(&body.create.extra.xattrs);
    }
    require(themis_proto_encode(&header, &given, again, sizeof again, &length) == THEMIS_OK);
    require(length == size && memcmp(again, bytes, size) == 0);
    free((void *)(uintptr_t)list);
    return 0;
}
