/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/list.h"

enum { RUN_BYTES = 32, MAPPED_BYTES = 48, NAME_LENGTH_BYTES = 2, TYPE_BYTES = 1, LISTED_BYTES = 12 };

/* Bytes of all pieces of a run; 0 if an offset or the sum exceeds 63 bits, or a piece overlaps the next. */
static uint64_t run_total(const themis_proto_run_t *run)
{
    uint64_t last = 0, end, total;

    if (run->count == 0 || run->length == 0 || (run->count > 1 && run->stride < run->length))
        return 0;
    if (run->count > 1 && __builtin_mul_overflow(run->count - 1, run->stride, &last))
        return 0;
    if (__builtin_add_overflow(last, run->offset, &end) || __builtin_add_overflow(end, run->length, &end) ||
        end > INT64_MAX || __builtin_mul_overflow(run->count, run->length, &total) || total > INT64_MAX)
        return 0;
    return total;
}

static void code_run(themis_proto_coder_t *coder, themis_proto_run_t *run)
{
    themis_proto_code_u64(coder, &run->offset);
    themis_proto_code_u64(coder, &run->length);
    themis_proto_code_u64(coder, &run->stride);
    themis_proto_code_u64(coder, &run->count);
}

void themis_proto_code_runs(themis_proto_coder_t *coder, themis_proto_io_t *io)
{
    uint64_t sum = 0;
    size_t start = coder->used;

    themis_proto_check(coder, io->runs > 0 && io->runs <= THEMIS_PROTO_MAX_RUNS);
    for (uint32_t i = 0; !coder->bad && i < io->runs; i++) {
        themis_proto_run_t run;
        if (coder->out != NULL)
            memcpy(&run, io->run_bytes + i * sizeof run, sizeof run);
        code_run(coder, &run);
        if (coder->bad)
            return;
        uint64_t total = run_total(&run);
        themis_proto_check(coder, total > 0 && !__builtin_add_overflow(sum, total, &sum) && sum <= INT64_MAX);
    }
    if (!coder->bad && coder->out == NULL)
        io->run_bytes = coder->in + start;
}

void themis_proto_run_get(const themis_proto_io_t *io, uint32_t index, themis_proto_run_t *run)
{
    themis_proto_coder_t coder = {.in = io->run_bytes + (size_t)index * RUN_BYTES, .length = RUN_BYTES};

    code_run(&coder, run);
}

void themis_proto_code_location(themis_proto_coder_t *coder, themis_proto_location_t *location)
{
    themis_proto_code_u64(coder, &location->segment);
    themis_proto_code_u64(coder, &location->at);
}

static void code_mapped_extent(themis_proto_coder_t *coder, themis_proto_mapped_extent_t *extent)
{
    themis_proto_code_u64(coder, &extent->offset);
    themis_proto_code_u64(coder, &extent->length);
    themis_proto_code_location(coder, &extent->location);
    themis_proto_code_location(coder, &extent->pages);
}

void themis_proto_code_mapped_extents(themis_proto_coder_t *coder, themis_proto_mapped_t *mapped)
{
    size_t start = coder->used;
    uint64_t end = 0;

    themis_proto_check(coder, mapped->count <= THEMIS_PROTO_MAX_MAPPED && (mapped->grant > 0 || mapped->count == 0));
    for (uint32_t i = 0; !coder->bad && i < mapped->count; i++) {
        themis_proto_mapped_extent_t extent = {.length = 0};
        if (coder->out != NULL)
            memcpy(&extent, mapped->bytes + i * sizeof extent, sizeof extent);
        code_mapped_extent(coder, &extent);
        if (coder->bad)
            return;
        themis_proto_check(coder, extent.offset >= end && extent.offset <= INT64_MAX && extent.length > 0 &&
                                      extent.length <= INT64_MAX - extent.offset &&
                                      extent.location.at <= INT64_MAX - extent.length &&
                                      extent.pages.at <= INT64_MAX - extent.length);
        end = extent.offset + extent.length;
    }
    if (!coder->bad && coder->out == NULL)
        mapped->bytes = coder->in + start;
}

void themis_proto_mapped_get(const themis_proto_mapped_t *mapped, uint32_t index, themis_proto_mapped_extent_t *extent)
{
    themis_proto_coder_t coder = {.in = mapped->bytes + (size_t)index * MAPPED_BYTES, .length = MAPPED_BYTES};

    code_mapped_extent(&coder, extent);
}

void themis_proto_code_entry(themis_proto_coder_t *coder, themis_proto_text_t *name, themis_proto_type_t *type)
{
    themis_proto_code_type(coder, type);
    themis_proto_code_text(coder, name, 1, THEMIS_PROTO_MAX_NAME);
    themis_proto_check(coder, !coder->bad && themis_proto_is_name(name));
}

themis_status_t themis_proto_entries_add(void *buffer, size_t capacity, size_t *used, const char *name,
                                         size_t name_length, themis_proto_type_t type)
{
    themis_proto_coder_t coder = {.out = buffer, .length = capacity, .used = *used};
    themis_proto_text_t text = {name, (uint32_t)name_length};

    if (name_length > THEMIS_PROTO_MAX_NAME ||
        capacity - *used < TYPE_BYTES + NAME_LENGTH_BYTES + name_length) /* before anything is written */
        return THEMIS_RANGE;
    themis_proto_code_entry(&coder, &text, &type);
    if (coder.bad)
        return THEMIS_RANGE;
    *used = coder.used;
    return THEMIS_OK;
}

int themis_proto_entries_next(const themis_proto_entries_t *entries, uint32_t *cursor, themis_proto_text_t *name,
                              themis_proto_type_t *type)
{
    themis_proto_coder_t coder = {.in = entries->bytes, .length = entries->length, .used = *cursor};
    themis_proto_text_t found = {NULL, 0};
    themis_proto_type_t kind = THEMIS_PROTO_FILE;

    if (*cursor >= entries->length)
        return 0;
    themis_proto_code_entry(&coder, &found, &kind);
    if (coder.bad)
        return 0;
    *cursor = (uint32_t)coder.used;
    *name = found;
    *type = kind;
    return 1;
}

/* Reads the entries to see that they are sound, and that their number is as said. */
static int entries_are_sound(const themis_proto_entries_t *entries)
{
    themis_proto_text_t name;
    themis_proto_type_t type;
    uint32_t cursor = 0, seen = 0;

    while (themis_proto_entries_next(entries, &cursor, &name, &type))
        seen++;
    return seen == entries->count && cursor == entries->length;
}

void themis_proto_code_entries(themis_proto_coder_t *coder, themis_proto_entries_t *entries)
{
    const void *bytes = entries->bytes;
    size_t rest = coder->out != NULL ? entries->length : coder->length - coder->used;

    themis_proto_code_borrowed(coder, &bytes, rest);
    if (coder->bad)
        return;
    if (coder->out == NULL) {
        entries->bytes = bytes;
        entries->length = (uint32_t)rest;
    }
    themis_proto_check(coder, entries_are_sound(entries));
}

static void code_row(themis_proto_coder_t *coder, themis_proto_table_row_t *row)
{
    themis_proto_code_text(coder, &row->job, 0, THEMIS_PROTO_MAX_TEXT);
    themis_proto_code_u32(coder, &row->uid);
    themis_proto_code_u32(coder, &row->gid);
    themis_proto_code_u32(coder, &row->nodes);
    themis_proto_code_u32(coder, &row->priority);
    themis_proto_code_u64(coder, &row->demand);
    themis_proto_code_u64(coder, &row->served);
    if (coder->bad)
        return;
    themis_proto_check(coder, themis_proto_is_printable(&row->job) && row->nodes > 0 && row->priority > 0);
}

int themis_proto_table_next(const themis_proto_table_t *table, uint32_t *cursor, themis_proto_table_row_t *row)
{
    themis_proto_coder_t coder = {.in = table->bytes, .length = table->length, .used = *cursor};
    themis_proto_table_row_t found = {.nodes = 0};

    if (*cursor >= table->length)
        return 0;
    code_row(&coder, &found);
    if (coder.bad)
        return 0;
    *cursor = (uint32_t)coder.used;
    *row = found;
    return 1;
}

void themis_proto_code_rows(themis_proto_coder_t *coder, themis_proto_table_t *table)
{
    size_t start = coder->used;

    for (uint32_t i = 0; !coder->bad && i < table->rows; i++) {
        themis_proto_table_row_t row = {.nodes = 0};
        if (coder->out != NULL)
            memcpy(&row, table->bytes + i * sizeof row, sizeof row);
        code_row(coder, &row);
    }
    if (coder->bad || coder->out != NULL)
        return;
    table->bytes = coder->in + start;
    table->length = (uint32_t)(coder->used - start);
}

static void code_entry_of_list(themis_proto_coder_t *coder, themis_proto_listed_t *listed)
{
    themis_proto_code_u32(coder, &listed->index);
    themis_proto_code_u64(coder, &listed->store);
    themis_proto_check(coder, !coder->bad && listed->index < THEMIS_PROTO_MAX_SERVERS);
}

void themis_proto_code_listed(themis_proto_coder_t *coder, uint32_t count, const uint8_t **list)
{
    size_t start = coder->used;

    themis_proto_check(coder, count <= THEMIS_PROTO_MAX_SERVERS);
    for (uint32_t i = 0; !coder->bad && i < count; i++) {
        themis_proto_listed_t listed = {0};
        if (coder->out != NULL)
            memcpy(&listed, *list + i * sizeof listed, sizeof listed);
        code_entry_of_list(coder, &listed);
    }
    if (!coder->bad && coder->out == NULL)
        *list = coder->in + start;
}

themis_proto_listed_t themis_proto_listed_get(const uint8_t *list, uint32_t i)
{
    themis_proto_coder_t coder = {.in = list + (size_t)i * LISTED_BYTES, .length = LISTED_BYTES};
    themis_proto_listed_t listed = {0};

    code_entry_of_list(&coder, &listed);
    return listed;
}

static void code_step(themis_proto_coder_t *coder, themis_proto_settle_step_t *step)
{
    themis_proto_code_u8(coder, &step->action);
    themis_proto_code_u64(coder, &step->object);
    themis_proto_code_u64(coder, &step->generation);
    themis_proto_code_u64(coder, &step->rename);
    themis_proto_code_u32(coder, &step->uid);
    themis_proto_code_u32(coder, &step->gid);
    themis_proto_code_path(coder, &step->renamed, 1);
    themis_proto_code_path(coder, &step->path, 0);
    themis_proto_check(coder, !coder->bad && step->action >= THEMIS_PROTO_SETTLE_DESTROY &&
                                  step->action <= THEMIS_PROTO_SETTLE_RENAME);
}

int themis_proto_settle_next(const themis_proto_settle_t *settle, uint32_t *cursor, themis_proto_settle_step_t *step)
{
    themis_proto_coder_t coder = {.in = settle->bytes, .length = settle->length, .used = *cursor};
    themis_proto_settle_step_t found = {.action = 0};

    if (*cursor >= settle->length)
        return 0;
    code_step(&coder, &found);
    if (coder.bad)
        return 0;
    *cursor = (uint32_t)coder.used;
    *step = found;
    return 1;
}

void themis_proto_code_steps(themis_proto_coder_t *coder, themis_proto_settle_t *settle)
{
    size_t start = coder->used;

    themis_proto_check(coder, settle->count > 0 && settle->count <= THEMIS_PROTO_MAX_SETTLE);
    for (uint32_t i = 0; !coder->bad && i < settle->count; i++) {
        themis_proto_settle_step_t step = {.action = 0};
        if (coder->out != NULL)
            memcpy(&step, settle->bytes + i * sizeof step, sizeof step);
        code_step(coder, &step);
    }
    if (coder->bad || coder->out != NULL)
        return;
    settle->bytes = coder->in + start;
    settle->length = (uint32_t)(coder->used - start);
}

void themis_proto_code_statuses(themis_proto_coder_t *coder, themis_proto_settled_t *settled)
{
    size_t start = coder->used;

    themis_proto_check(coder, settled->count <= THEMIS_PROTO_MAX_SETTLE);
    for (uint32_t i = 0; !coder->bad && i < settled->count; i++) {
        uint32_t bits = 0;
        if (coder->out != NULL)
            memcpy(&bits, settled->bytes + i * sizeof bits, sizeof bits);
        themis_proto_code_u32(coder, &bits);
    }
    if (!coder->bad && coder->out == NULL)
        settled->bytes = coder->in + start;
}

themis_status_t themis_proto_settled_get(const themis_proto_settled_t *settled, uint32_t index)
{
    themis_proto_coder_t coder = {.in = settled->bytes + (size_t)index * sizeof(uint32_t), .length = sizeof(uint32_t)};
    uint32_t bits = 0;

    themis_proto_code_u32(&coder, &bits);
    return (themis_status_t)(int32_t)bits;
}
