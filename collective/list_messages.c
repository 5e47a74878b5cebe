/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/list_messages.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "collective/domain_extents.h"

/* The header of a message; `runs` runs follow. */
typedef struct header {
    int64_t leader;
    uint64_t local, ranks, runs;
} header_t;

enum { SEND, SENDING, BARRIER };

struct themis_collective_list_messages {
    themis_collective_group_t *group;
    const themis_util_runs_t *runs;
    themis_collective_call_plan_t *plan;
    themis_status_t status;
    int stage;
    uint32_t domains;
    themis_util_runs_t *part; /* [domains] this rank's runs, from the call's first byte */
    char **message;           /* [domains] */
    MPI_Request *sends;       /* [domains] */
    int pending;              /* sends in use */
    MPI_Request barrier;
};

themis_status_t themis_collective_list_messages_create(themis_collective_group_t *group, const themis_util_runs_t *runs,
                                                       themis_collective_call_plan_t *plan,
                                                       themis_collective_list_messages_t **result)
{
    themis_collective_list_messages_t *messages = calloc(1, sizeof *messages);
    if (!messages)
        return THEMIS_NO_MEMORY;
    uint32_t domains = plan->domains.count;
    *messages = (themis_collective_list_messages_t){
        .group = group, .runs = runs, .plan = plan, .domains = domains, .barrier = MPI_REQUEST_NULL};
    messages->part = calloc(domains, sizeof *messages->part);
    messages->message = calloc(domains, sizeof *messages->message);
    messages->sends = malloc(domains * sizeof *messages->sends);
    if (!messages->part || !messages->message || !messages->sends) {
        themis_collective_list_messages_destroy(messages);
        return THEMIS_NO_MEMORY;
    }
    *result = messages;
    return THEMIS_OK;
}

void themis_collective_list_messages_destroy(themis_collective_list_messages_t *messages)
{
    if (!messages)
        return;
    for (uint32_t d = 0; messages->part && messages->message && d < messages->domains; d++) {
        themis_util_runs_free(&messages->part[d]);
        free(messages->message[d]);
    }
    free(messages->part);
    free(messages->message);
    free(messages->sends);
    free(messages);
}

static void set_failed(themis_collective_list_messages_t *messages, themis_status_t status)
{
    if (messages->status == THEMIS_OK)
        messages->status = status;
}

/* --- sending --- */

static void add_row(void *arg, uint32_t domain, const themis_util_runs_row_t *row)
{
    themis_collective_list_messages_t *messages = arg;
    const themis_run_t run = {row->offset - messages->plan->domains.first, row->length, row->stride, row->count};
    set_failed(messages, themis_util_runs_add_run(&messages->part[domain], &run));
}

static void send_list(themis_collective_list_messages_t *messages, uint32_t domain)
{
    const themis_collective_group_t *group = messages->group;
    const themis_util_runs_t *runs = &messages->part[domain];
    size_t bytes = sizeof(header_t) + runs->count * sizeof(themis_run_t);
    char *message = bytes <= INT_MAX ? malloc(bytes) : NULL;
    if (!message) {
        set_failed(messages, THEMIS_NO_MEMORY);
        return;
    }
    header_t header = {group->leader, (uint64_t)group->local, (uint64_t)group->local_size, runs->count};
    memcpy(message, &header, sizeof header);
    memcpy(message + sizeof header, runs->run, runs->count * sizeof(themis_run_t));
    messages->message[domain] = message;
    MPI_Issend(message, (int)bytes, MPI_BYTE, (int)messages->plan->aggregator[domain], THEMIS_COLLECTIVE_TAG_LISTS,
               group->comm, &messages->sends[messages->pending++]);
}

static void send_lists(themis_collective_list_messages_t *messages)
{
    themis_collective_domain_split(messages->runs, &messages->plan->domains, add_row, messages);
    for (uint32_t d = 0; d < messages->domains && messages->status == THEMIS_OK; d++)
        if (messages->part[d].count)
            send_list(messages, d);
}

/* --- receiving --- */

/* The part of the node that `header` comes from, made if it is new; NULL: no memory. */
static themis_collective_part_t *get_part(themis_collective_call_plan_t *plan, const header_t *header)
{
    for (uint32_t i = plan->parts; i-- > 0;)
        if (plan->part[i].leader == header->leader)
            return &plan->part[i];
    themis_collective_part_t *grown = realloc(plan->part, (plan->parts + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    plan->part = grown;
    themis_collective_part_t *part = &grown[plan->parts];
    *part = (themis_collective_part_t){.leader = (int)header->leader, .ranks = (uint32_t)header->ranks};
    part->runs = calloc(header->ranks, sizeof *part->runs);
    if (!part->runs)
        return NULL;
    plan->parts++;
    return part;
}

static void take_list(themis_collective_list_messages_t *messages, const char *message)
{
    header_t header;
    themis_run_t run;
    memcpy(&header, message, sizeof header);
    themis_collective_part_t *part = get_part(messages->plan, &header);
    themis_status_t status = part ? THEMIS_OK : THEMIS_NO_MEMORY;
    for (uint64_t i = 0; i < header.runs && status == THEMIS_OK; i++) {
        memcpy(&run, message + sizeof header + i * sizeof run, sizeof run);
        status = themis_util_runs_add_run(&part->runs[header.local], &run);
    }
    messages->plan->bytes += header.runs * (sizeof run + sizeof(uint64_t));
    set_failed(messages, status);
}

/* Receives one list if one has come; 0 if not. Without memory for it, it is received all the same, truncated, so that
 * its sender can go on. */
static int receive_list(themis_collective_list_messages_t *messages)
{
    MPI_Comm comm = messages->group->comm;
    MPI_Status found;
    int flag = 0, bytes;
    MPI_Iprobe(MPI_ANY_SOURCE, THEMIS_COLLECTIVE_TAG_LISTS, comm, &flag, &found);
    if (!flag)
        return 0;
    MPI_Get_count(&found, MPI_BYTE, &bytes);
    char *message = malloc((size_t)bytes);
    MPI_Recv(message, message ? bytes : 0, MPI_BYTE, found.MPI_SOURCE, THEMIS_COLLECTIVE_TAG_LISTS, comm,
             MPI_STATUS_IGNORE);
    if (message)
        take_list(messages, message);
    else
        set_failed(messages, THEMIS_NO_MEMORY);
    free(message);
    return 1;
}

/* The fullest round of this aggregator, for its buffers. */
static uint64_t find_max_round(const themis_collective_call_plan_t *plan)
{
    uint64_t max = 0;
    for (uint64_t round = 0; round < plan->rounds; round++) {
        uint64_t bytes = 0;
        for (uint32_t p = 0; p < plan->parts; p++)
            bytes += themis_collective_call_plan_part_bytes(plan, &plan->domains, round, &plan->part[p]);
        max = bytes > max ? bytes : max;
    }
    return max;
}

themis_status_t themis_collective_list_messages_step(themis_collective_list_messages_t *messages)
{
    if (messages->stage == SEND) {
        send_lists(messages);
        messages->stage = SENDING;
    }
    while (receive_list(messages))
        ;
    if (messages->stage == SENDING) {
        if (!themis_collective_group_requests_done(messages->sends, messages->pending))
            return THEMIS_IN_PROGRESS;
        MPI_Ibarrier(messages->group->comm, &messages->barrier);
        messages->stage = BARRIER;
    }
    if (!themis_collective_group_requests_done(&messages->barrier, 1))
        return THEMIS_IN_PROGRESS;
    if (messages->plan->mine != THEMIS_COLLECTIVE_NO_DOMAIN && messages->status == THEMIS_OK)
        messages->plan->max_round_bytes = find_max_round(messages->plan);
    return messages->status;
}
