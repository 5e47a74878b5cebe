/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes that may become aggregators, and the hint cb_config_list that limits them. */
#include <stdlib.h>
#include <string.h>

#include "themis/aggregation.h"
#include "util/config.h"
#include "util/log.h"

typedef struct process {
    uint32_t node, preference, rank;
} process_t;

static int process_compare(const void *a, const void *b)
{
    const process_t *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->preference != y->preference)
        return x->preference < y->preference ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Keeps the first limit[node] processes of every node. */
static void candidates_fill(themis_aggregation_candidates_t *candidates, const process_t *process, uint32_t ranks,
                            const uint32_t *limit)
{
    uint32_t taken = 0;

    for (uint32_t i = 0; i < ranks; i++) {
        taken = i > 0 && process[i].node == process[i - 1].node ? taken : 0;
        if (taken >= (limit ? limit[process[i].node] : 1))
            continue;
        candidates->node[candidates->count] = process[i].node;
        candidates->rank[candidates->count++] = process[i].rank;
        taken++;
    }
}

themis_status_t themis_aggregation_candidates_create(const uint32_t *node_of_rank, uint32_t ranks, uint32_t nodes,
                                                     const uint32_t *limit, const uint32_t *preference,
                                                     themis_aggregation_candidates_t **candidates)
{
    process_t *process = malloc((size_t)ranks * sizeof *process + 1);
    themis_aggregation_candidates_t *made = calloc(1, sizeof *made);

    if (made) {
        made->nodes = nodes;
        made->node = malloc((size_t)ranks * sizeof *made->node + 1);
        made->rank = malloc((size_t)ranks * sizeof *made->rank + 1);
    }
    if (!process || !made || !made->node || !made->rank) {
        free(process);
        themis_aggregation_candidates_destroy(made);
        return THEMIS_NO_MEMORY;
    }
    for (uint32_t r = 0; r < ranks; r++)
        process[r] = (process_t){node_of_rank[r], preference ? preference[r] : r, r};
    qsort(process, ranks, sizeof *process, process_compare);
    candidates_fill(made, process, ranks, limit);
    free(process);
    *candidates = made;
    return THEMIS_OK;
}

void themis_aggregation_candidates_destroy(themis_aggregation_candidates_t *candidates)
{
    if (!candidates)
        return;
    free(candidates->node);
    free(candidates->rank);
    free(candidates);
}

/* Splits "NAME:NUMBER"; the number is 1 if missing and UINT32_MAX for '*'. Modifies item. */
static themis_status_t limit_parse(char *item, uint32_t *number)
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
        status = limit_parse(item, &number);
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
