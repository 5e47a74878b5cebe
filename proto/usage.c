/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of USAGE. */
#include <string.h>
#include "proto/list.h"

enum { ROW_BYTES = 20 }; /* of both */

static void code_row(themis_proto_coder_t *coder, uint32_t *uid, uint64_t *bytes, uint64_t *names)
{
    themis_proto_code_u32(coder, uid);
    themis_proto_code_u64(coder, bytes);
    themis_proto_code_u64(coder, names);
}

static void code_limits(themis_proto_coder_t *coder, themis_proto_usage_t *usage)
{
    size_t start = coder->used;
    uint32_t last = 0;

    themis_proto_check(coder, usage->limits <= THEMIS_PROTO_MAX_LIMITS);
    for (uint32_t i = 0; !coder->bad && i < usage->limits; i++) {
        themis_proto_limit_t limit = {0};
        if (coder->out != NULL)
            memcpy(&limit, usage->limit_bytes + i * sizeof limit, sizeof limit);
        code_row(coder, &limit.uid, &limit.bytes, &limit.names);
        themis_proto_check(coder, !coder->bad && (i == 0 || limit.uid > last));
        last = limit.uid;
    }
    if (!coder->bad && coder->out == NULL)
        usage->limit_bytes = coder->in + start;
}

static void code_rows(themis_proto_coder_t *coder, themis_proto_usage_t *usage)
{
    size_t start = coder->used;
    uint32_t last = 0;

    themis_proto_check(coder, usage->rows <= THEMIS_PROTO_MAX_USAGE);
    for (uint32_t i = 0; !coder->bad && i < usage->rows; i++) {
        themis_proto_usage_row_t row = {0};
        if (coder->out != NULL)
            memcpy(&row, usage->row_bytes + i * sizeof row, sizeof row);
        code_row(coder, &row.uid, &row.bytes, &row.names);
        themis_proto_check(coder, !coder->bad && (i == 0 || row.uid > last) && row.uid >= usage->first &&
                                      row.uid <= usage->last);
        last = row.uid;
    }
    if (!coder->bad && coder->out == NULL)
        usage->row_bytes = coder->in + start;
}

void themis_proto_code_usage_lists(themis_proto_coder_t *coder, themis_proto_usage_t *usage)
{
    code_limits(coder, usage);
    if (!coder->bad)
        code_rows(coder, usage);
}

themis_proto_usage_row_t themis_proto_usage_row_get(const themis_proto_usage_t *usage, uint32_t index)
{
    themis_proto_coder_t coder = {.in = usage->row_bytes + (size_t)index * ROW_BYTES, .length = ROW_BYTES};
    themis_proto_usage_row_t row = {0};

    code_row(&coder, &row.uid, &row.bytes, &row.names);
    return row;
}

themis_proto_limit_t themis_proto_usage_limit_get(const themis_proto_usage_t *usage, uint32_t index)
{
    themis_proto_coder_t coder = {.in = usage->limit_bytes + (size_t)index * ROW_BYTES, .length = ROW_BYTES};
    themis_proto_limit_t limit = {0};

    code_row(&coder, &limit.uid, &limit.bytes, &limit.names);
    return limit;
}
