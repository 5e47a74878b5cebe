/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may aggregate, and how many should. */
#include <stdlib.h>
#include <string.h>

#include "themis/aggregation.h"
#include "util/config.h"
#include "util/log.h"

typedef struct candidate {
    uint32_t node, preference, rank;
} candidate_t;

static int candidate_compare(const void *a, const void *b)
{
    const candidate_t *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->preference != y->preference)
        return x->preference < y->preference ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static themis_aggregation_slots_t *slots_allocate(uint32_t ranks)
{
    themis_aggregation_slots_t *slots = calloc(1, sizeof *slots);

    if (!slots)
        return NULL;
    slots->node = malloc((size_t)ranks * sizeof *slots->node + 1);
    slots->rank = malloc((size_t)ranks * sizeof *slots->rank + 1);
    if (slots->node && slots->rank)
        return slots;
    themis_aggregation_slots_destroy(slots);
    return NULL;
}

/* Keeps the first limit[node] candidates of every node. */
static void slots_fill(themis_aggregation_slots_t *slots, const candidate_t *candidate, uint32_t ranks,
                       const uint32_t *limit)
{
    uint32_t taken = 0;

    for (uint32_t i = 0; i < ranks; i++) {
        taken = i > 0 && candidate[i].node == candidate[i - 1].node ? taken : 0;
        if (taken >= (limit ? limit[candidate[i].node] : 1))
            continue;
        slots->node[slots->count] = candidate[i].node;
        slots->rank[slots->count++] = candidate[i].rank;
        taken++;
    }
}

themis_status_t themis_aggregation_slots_create(const uint32_t *node_of_rank, uint32_t ranks, uint32_t nodes,
                                                const uint32_t *limit, const uint32_t *preference,
                                                themis_aggregation_slots_t **slots)
{
    candidate_t *candidate = malloc((size_t)ranks * sizeof *candidate + 1);
    themis_aggregation_slots_t *s = slots_allocate(ranks);

    if (!candidate || !s) {
        free(candidate);
        themis_aggregation_slots_destroy(s);
        return THEMIS_NO_MEMORY;
    }
    for (uint32_t r = 0; r < ranks; r++)
        candidate[r] = (candidate_t){node_of_rank[r], preference ? preference[r] : r, r};
    qsort(candidate, ranks, sizeof *candidate, candidate_compare);
    s->nodes = nodes;
    slots_fill(s, candidate, ranks, limit);
    free(candidate);
    *slots = s;
    return THEMIS_OK;
}

void themis_aggregation_slots_destroy(themis_aggregation_slots_t *slots)
{
    if (!slots)
        return;
    free(slots->node);
    free(slots->rank);
    free(slots);
}

/* Splits "NAME:NUMBER"; the number is 1 when missing and UINT32_MAX for '*'. Writes into item. */
static themis_status_t config_item(char *item, uint32_t *number)
{
    char *colon = strrchr(item, ':');
    int64_t value = 1;

    if (colon) {
        *colon++ = '\0';
        if (strcmp(colon, "*") == 0)
            value = UINT32_MAX;
        else if (themis_util_config_integer(colon, 0, UINT32_MAX, &value) != THEMIS_OK)
            return THEMIS_PARSE;
    }
    *number = (uint32_t)value;
    return *item ? THEMIS_OK : THEMIS_PARSE;
}

static bool name_matches(const char *pattern, const char *name)
{
    size_t length = strlen(pattern);

    if (strcmp(pattern, "*") == 0 || strcmp(pattern, name) == 0)
        return true;
    return !strchr(pattern, '.') && strncmp(pattern, name, length) == 0 && name[length] == '.';
}

themis_status_t themis_aggregation_config_list(const char *text, const char *const *name, uint32_t nodes,
                                               uint32_t *limit)
{
    char *copy = strdup(text), *rest = copy, *item;
    uint32_t *found = malloc((size_t)nodes * sizeof *found + 1);
    unsigned char *set = calloc((size_t)nodes + 1, 1);
    themis_status_t status = copy && found && set ? THEMIS_OK : THEMIS_NO_MEMORY;

    while (status == THEMIS_OK && (item = strsep(&rest, ","))) {
        uint32_t number;

        item += strspn(item, " ");
        status = config_item(item, &number);
        for (uint32_t n = 0; status == THEMIS_OK && n < nodes; n++) {
            if (!set[n] && name_matches(item, name[n])) {
                found[n] = number;
                set[n] = 1;
            }
        }
    }
    for (uint32_t n = 0; status == THEMIS_OK && n < nodes; n++)
        limit[n] = set[n] ? found[n] : 0;
    free(copy);
    free(found);
    free(set);
    return status;
}

/* Predicted time of a call with `count` aggregators, in bytes that one port moves in that time. */
static double predicted(uint64_t count, const themis_aggregation_load_t *load)
{
    const double request = 16384; /* what a round trip costs, at some GB/s and some microseconds */
    double bytes = (double)load->bytes, per = bytes / (double)count;
    double ports = (double)(count < load->nodes ? count : load->nodes);
    double buffer = load->buffer_size ? (double)load->buffer_size : per;
    double rounds = per > buffer ? per / buffer : 1;
    double stripes = (per < buffer ? per : buffer) / (double)(load->stripe_size ? load->stripe_size : 1);
    double reached = stripes < 1 ? 1 : stripes > load->servers ? load->servers : stripes;
    double to_servers = (double)count < load->servers ? (double)count * reached : load->servers;

    to_servers = to_servers < load->servers ? to_servers : load->servers;
    return bytes / ports + bytes / to_servers +
           request * rounds * reached * (1 + (double)count / (double)(load->servers ? load->servers : 1)) +
           request * (double)load->nodes / ports;
}

uint32_t themis_aggregation_count_choose(int64_t wanted, const themis_aggregation_load_t *load)
{
    uint64_t limit = load->most > 0 && load->most < load->slots ? load->most : load->slots, best = 1;

    if (wanted == THEMIS_AGGREGATION_PER_SERVER)
        wanted = load->servers;
    if (wanted > 0)
        best = (uint64_t)wanted;
    for (uint64_t count = 2; wanted <= 0 && count <= limit; count++)
        if (predicted(count, load) < predicted(best, load))
            best = count;
    best = best < limit ? best : limit;
    return best > 0 ? (uint32_t)best : 1;
}
