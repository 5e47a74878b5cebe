/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cost of a round of the lambda exchange at one server, by the real code: receiving the tables of all servers and
 * computing the allocation. Usage: lambda SERVERS JOBS REPEATS; prints JSON rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include "proto/proto.h"
#include "sched/lambda.h"
#include "util/clock.h"

typedef struct bed {
    themis_sched_lambda_t *lambda;
    themis_sched_policy_t policy;
    uint32_t servers;
    int jobs;
    uint64_t rows, bytes; /* of all tables */
} bed_t;

/* A job has files on `width` consecutive servers, from a random one on. */
static int is_on(const bed_t *bed, uint32_t server, int job, uint32_t width)
{
    uint32_t first = (uint32_t)((uint64_t)job * UINT64_C(2654435761) >> 7) % bed->servers;

    return (server + bed->servers - first) % bed->servers < width;
}

/* A table as it comes from another server: encoded, decoded, added. Returns ns, or -1. */
static int take_table(bed_t *bed, uint32_t server, uint32_t width, uint64_t now)
{
    static themis_proto_table_row_t rows[65536];
    static char ids[65536][16], message[THEMIS_PROTO_MAX_MESSAGE];
    themis_proto_header_t header = {.version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST};
    themis_proto_table_t table = {.index = server, .capacity = 1000000000, .bytes = (const uint8_t *)rows};
    themis_proto_body_t body;
    size_t length;

    for (int j = 0; j < bed->jobs; j++) {
        if (!is_on(bed, server, j, width))
            continue;
        themis_proto_table_row_t *row = &rows[table.rows];
        int bytes = snprintf(ids[table.rows], sizeof ids[0], "%d", 7000000 + j);
        *row = (themis_proto_table_row_t){.job = {ids[table.rows], (uint32_t)bytes},
                                          .uid = (uint32_t)(j / 7),
                                          .gid = (uint32_t)(j / 70),
                                          .nodes = 1 + (uint32_t)j % 64,
                                          .priority = 1,
                                          .demand = UINT64_MAX};
        table.rows++;
    }
    header.opcode = THEMIS_OP_TABLE;
    if (themis_proto_encode(&header, &table, message, sizeof message, &length) != THEMIS_OK)
        return -1;
    bed->bytes += length;
    bed->rows += table.rows;
    uint64_t start = themis_util_clock_now();
    if (themis_proto_decode(message, length, &header, &body) != THEMIS_OK)
        return -1;
    themis_proto_table_row_t row;
    uint32_t cursor = 0;
    themis_sched_lambda_begin(bed->lambda, server, body.table.capacity, now);
    while (themis_proto_table_next(&body.table, &cursor, &row))
        if (themis_sched_lambda_add(bed->lambda, server, &row) != THEMIS_OK)
            return -1;
    return (int)(themis_util_clock_now() - start);
}

static int run(bed_t *bed, uint32_t width, int repeats, int last)
{
    double take_ms = 0, allocate_ms = 1e30;

    for (int k = 0; k <= repeats; k++) { /* the first time everything is new */
        double take = 0;
        bed->rows = bed->bytes = 0;
        for (uint32_t s = 0; s < bed->servers; s++) {
            int ns = take_table(bed, s, width, (uint64_t)k + 1);
            if (ns < 0)
                return -1;
            take += ns / 1e6;
        }
        uint64_t start = themis_util_clock_now();
        if (themis_sched_lambda_allocate(bed->lambda, &bed->policy) != THEMIS_OK)
            return -1;
        double ms = (double)(themis_util_clock_now() - start) / 1e6;
        take_ms = k == 0 || k == 1 || take < take_ms ? take : take_ms;
        allocate_ms = ms < allocate_ms ? ms : allocate_ms;
    }
    printf("{\"servers\": %u, \"jobs\": %d, \"servers_per_job\": %u, \"rows\": %llu, \"bytes_per_table\": %llu, "
           "\"take_ms\": %.1f, \"allocate_ms\": %.1f, \"rounds\": %u}%s",
           bed->servers, bed->jobs, width, (unsigned long long)bed->rows,
           (unsigned long long)(bed->bytes / bed->servers), take_ms, allocate_ms,
           themis_sched_lambda_rounds(bed->lambda), last ? "" : ",\n ");
    return 0;
}

int main(int argc, char **argv)
{
    bed_t bed = {.servers = argc > 1 ? (uint32_t)atoi(argv[1]) : 128, .jobs = argc > 2 ? atoi(argv[2]) : 10000};
    int repeats = argc > 3 ? atoi(argv[3]) : 5;
    char error[200];

    if (bed.servers < 1 || bed.jobs < 1 || bed.jobs > 65536 || repeats < 1) {
        fprintf(stderr, "usage: lambda SERVERS JOBS REPEATS\n");
        return 2;
    }
    uint32_t widths[] = {1, 4, 16, bed.servers};
    if (themis_sched_policy_parse("group-then-user-then-size-fair", &bed.policy, error, sizeof error) != THEMIS_OK)
        return 1;
    printf("[");
    for (int i = 0; i < 4; i++) {
        if (widths[i] > bed.servers)
            continue;
        if (themis_sched_lambda_create(bed.servers, &bed.lambda) != THEMIS_OK ||
            run(&bed, widths[i], repeats, i == 3) != 0)
            return 1;
        themis_sched_lambda_destroy(bed.lambda);
    }
    printf("]\n");
    return 0;
}
