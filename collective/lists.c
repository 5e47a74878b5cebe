/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/lists.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "collective/span.h"
#include "collective/tags.h"

/* The head of a message; `runs` runs follow. */
typedef struct head {
    int64_t leader;
    uint64_t local, ranks, runs;
} head_t;

struct themis_collective_lists {
    themis_collective_group_t *group;
    const themis_util_runs_t *runs;
    themis_collective_plan_t *plan;
    themis_status_t status;
    int stage;
    uint32_t domains;
    themis_util_runs_t *of; /* [domains] this rank's runs, from the call's first byte */
    char **message;         /* [domains] */
    MPI_Request *sends;     /* [domains] */
    int pending;            /* sends in use */
    MPI_Request barrier;
};

typedef void (*visit_fn)(void *arg, uint32_t domain, const themis_util_runs_row_t *row);

/* Calls `visit` for the pieces of the list, cut at the borders of domains. */
static void walk(const themis_util_runs_t *runs, const themis_aggregation_domains_t *domains, visit_fn visit, void *arg)
{
    themis_util_runs_clip_t clip;
    themis_util_runs_row_t row;
    uint64_t at = themis_util_runs_first(runs), stop;
    while (at < runs->end) {
        uint32_t domain = themis_aggregation_domains_locate(domains, at, &stop);
        themis_util_runs_clip_begin(&clip, runs, at, stop);
        while (themis_util_runs_clip_next(&clip, &row))
            visit(arg, domain, &row);
        themis_util_runs_clip_begin(&clip, runs, stop, UINT64_MAX);
        if (!themis_util_runs_clip_next(&clip, &row))
            return;
        at = row.offset;
    }
}

static void add_bytes(void *arg, uint32_t domain, const themis_util_runs_row_t *row)
{
    ((uint64_t *)arg)[domain] += row->length * row->count;
}

void themis_collective_lists_count(const themis_util_runs_t *runs, const themis_aggregation_domains_t *domains,
                                   uint64_t *count)
{
    walk(runs, domains, add_bytes, count);
}

uint64_t themis_collective_lists_table(const themis_collective_group_t *group, uint32_t domains)
{
    return ((uint64_t)group->local_size * domains * sizeof(uint64_t) + 4095) & ~UINT64_C(4095);
}

uint64_t themis_collective_lists_room(const themis_collective_group_t *group, uint32_t domains)
{
    uint64_t tables = 2 * themis_collective_lists_table(group, domains);
    return group->staging_bytes > tables ? (group->staging_bytes - tables) / 2 & ~UINT64_C(4095) : 0;
}

themis_status_t themis_collective_lists_create(themis_collective_group_t *group, const themis_util_runs_t *runs,
                                               themis_collective_plan_t *plan, themis_collective_lists_t **result)
{
    themis_collective_lists_t *lists = calloc(1, sizeof *lists);
    if (!lists)
        return THEMIS_NO_MEMORY;
    uint32_t domains = plan->domains.count;
    *lists = (themis_collective_lists_t){
        .group = group, .runs = runs, .plan = plan, .domains = domains, .barrier = MPI_REQUEST_NULL};
    lists->of = calloc(domains, sizeof *lists->of);
    lists->message = calloc(domains, sizeof *lists->message);
    lists->sends = malloc(domains * sizeof *lists->sends);
    if (!lists->of || !lists->message || !lists->sends) {
        themis_collective_lists_destroy(lists);
        return THEMIS_NO_MEMORY;
    }
    *result = lists;
    return THEMIS_OK;
}

static void fail(themis_collective_lists_t *lists, themis_status_t status)
{
    if (lists->status == THEMIS_OK)
        lists->status = status;
}

static void add_row(void *arg, uint32_t domain, const themis_util_runs_row_t *row)
{
    themis_collective_lists_t *lists = arg;
    themis_run_t run = {row->offset - lists->plan->domains.first, row->length, row->stride, row->count};
    themis_status_t status = themis_util_runs_add_run(&lists->of[domain], &run);
    if (status != THEMIS_OK)
        fail(lists, status);
}

static int leader_rank(const themis_collective_group_t *group)
{
    MPI_Group node, all;
    int zero = 0, rank;
    MPI_Comm_group(group->node, &node);
    MPI_Comm_group(group->comm, &all);
    MPI_Group_translate_ranks(node, 1, &zero, all, &rank);
    MPI_Group_free(&node);
    MPI_Group_free(&all);
    return rank;
}

static void send_list(themis_collective_lists_t *lists, uint32_t domain, int leader)
{
    const themis_util_runs_t *runs = &lists->of[domain];
    size_t bytes = sizeof(head_t) + runs->count * sizeof(themis_run_t);
    char *message = bytes <= INT_MAX ? malloc(bytes) : NULL;
    if (!message) {
        fail(lists, THEMIS_NO_MEMORY);
        return;
    }
    head_t head = {leader, (uint64_t)lists->group->local, (uint64_t)lists->group->local_size, runs->count};
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, runs->run, runs->count * sizeof(themis_run_t));
    lists->message[domain] = message;
    MPI_Issend(message, (int)bytes, MPI_BYTE, (int)lists->plan->aggregator[domain], THEMIS_COLLECTIVE_TAG_LISTS,
               lists->group->comm, &lists->sends[lists->pending++]);
}

static void send_all(themis_collective_lists_t *lists)
{
    int leader = leader_rank(lists->group);
    walk(lists->runs, &lists->plan->domains, add_row, lists);
    for (uint32_t d = 0; d < lists->plan->domains.count && lists->status == THEMIS_OK; d++)
        if (lists->of[d].count)
            send_list(lists, d, leader);
}

/* The part of the node that `head` comes from; made if it is new. */
static themis_collective_part_t *find_part(themis_collective_plan_t *plan, const head_t *head)
{
    for (uint32_t i = plan->parts; i-- > 0;)
        if (plan->part[i].leader == head->leader)
            return &plan->part[i];
    themis_collective_part_t *grown = realloc(plan->part, (plan->parts + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    plan->part = grown;
    themis_collective_part_t *part = &grown[plan->parts];
    *part = (themis_collective_part_t){.leader = (int)head->leader, .ranks = (uint32_t)head->ranks};
    part->runs = calloc(head->ranks, sizeof *part->runs);
    if (!part->runs)
        return NULL;
    plan->parts++;
    return part;
}

static void take_list(themis_collective_lists_t *lists, const char *message)
{
    head_t head;
    themis_run_t run;
    memcpy(&head, message, sizeof head);
    themis_collective_part_t *part = find_part(lists->plan, &head);
    themis_status_t status = part ? THEMIS_OK : THEMIS_NO_MEMORY;
    for (uint64_t i = 0; i < head.runs && status == THEMIS_OK; i++) {
        memcpy(&run, message + sizeof head + i * sizeof run, sizeof run);
        status = themis_util_runs_add_run(&part->runs[head.local], &run);
    }
    lists->plan->bytes += head.runs * (sizeof run + sizeof(uint64_t));
    fail(lists, status);
}

/* Receives one list if one has come. Without memory for it, it is received all the same, cut off, so that its sender
 * can go on. */
static int receive(themis_collective_lists_t *lists)
{
    MPI_Status found;
    int flag = 0, bytes;
    MPI_Iprobe(MPI_ANY_SOURCE, THEMIS_COLLECTIVE_TAG_LISTS, lists->group->comm, &flag, &found);
    if (!flag)
        return 0;
    MPI_Get_count(&found, MPI_BYTE, &bytes);
    char *message = malloc((size_t)bytes);
    MPI_Recv(message, message ? bytes : 0, MPI_BYTE, found.MPI_SOURCE, THEMIS_COLLECTIVE_TAG_LISTS, lists->group->comm,
             MPI_STATUS_IGNORE);
    if (message)
        take_list(lists, message);
    else
        fail(lists, THEMIS_NO_MEMORY);
    free(message);
    return 1;
}

/* The fullest round of this aggregator, for its buffers. */
static void find_most(themis_collective_plan_t *plan)
{
    themis_collective_span_t span;
    themis_collective_extent_t extent;
    for (uint64_t k = 0; k < plan->rounds; k++) {
        uint64_t bytes = 0;
        themis_collective_span_begin(&span, &plan->domains, plan->mine, k * plan->window, plan->window);
        while (themis_collective_span_next(&span, &extent)) {
            uint64_t low = extent.offset - plan->domains.first;
            for (uint32_t p = 0; p < plan->parts; p++)
                for (uint32_t r = 0; r < plan->part[p].ranks; r++)
                    bytes += themis_util_runs_bytes_in(&plan->part[p].runs[r], low, low + extent.length);
        }
        plan->most = bytes > plan->most ? bytes : plan->most;
    }
}

enum { SEND, SENDING, BARRIER };

themis_status_t themis_collective_lists_step(themis_collective_lists_t *lists)
{
    int done = 0;
    if (lists->stage == SEND) {
        send_all(lists);
        lists->stage = SENDING;
    }
    while (receive(lists))
        ;
    if (lists->stage == SENDING) {
        if (!themis_collective_all_done(lists->sends, lists->pending))
            return THEMIS_IN_PROGRESS;
        MPI_Ibarrier(lists->group->comm, &lists->barrier);
        lists->stage = BARRIER;
    }
    MPI_Test(&lists->barrier, &done, MPI_STATUS_IGNORE);
    if (!done)
        return THEMIS_IN_PROGRESS;
    if (lists->plan->mine != THEMIS_COLLECTIVE_NO_DOMAIN && lists->status == THEMIS_OK)
        find_most(lists->plan);
    return lists->status;
}

void themis_collective_lists_destroy(themis_collective_lists_t *lists)
{
    if (!lists)
        return;
    for (uint32_t d = 0; lists->of && lists->message && d < lists->domains; d++) {
        themis_util_runs_free(&lists->of[d]);
        free(lists->message[d]);
    }
    free(lists->of);
    free(lists->message);
    free(lists->sends);
    free(lists);
}

void themis_collective_lists_free_parts(themis_collective_part_t *part, uint32_t parts)
{
    for (uint32_t p = 0; p < parts; p++) {
        for (uint32_t r = 0; r < part[p].ranks; r++)
            themis_util_runs_free(&part[p].runs[r]);
        free(part[p].runs);
    }
    free(part);
}
