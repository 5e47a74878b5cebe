/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * discover FILE HOST: discovers the fabric that this process is on and compares it with the one in FILE: the same
 * hosts, the same distances between all of them; and this process has the adapter of HOST. Exit status 0 when all
 * agree. For test/topology.sh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "themis/topology.h"

typedef themis_aggregation_fabric_t fabric_t;

/* Hosts of one fabric by their numbers in the other; UINT32_MAX for switches. */
static uint32_t *match(const fabric_t *from, const fabric_t *to)
{
    uint32_t *found = malloc(from->vertices * sizeof *found);

    for (uint32_t v = 0; found && v < from->vertices; v++) {
        found[v] = UINT32_MAX;
        if (!from->vertex[v].is_switch &&
            themis_aggregation_fabric_find(to, 0, from->vertex[v].name, &found[v]) != THEMIS_OK) {
            fprintf(stderr, "host %s is missing\n", from->vertex[v].name);
            exit(EXIT_FAILURE);
        }
    }
    return found;
}

static int compare(const fabric_t *want, const fabric_t *got)
{
    uint32_t *twin = match(want, got), pairs = 0;
    uint16_t *a = malloc(want->vertices * sizeof *a), *b = malloc(got->vertices * sizeof *b);
    int wrong = 0;

    for (uint32_t v = 0; twin && a && b && v < want->vertices; v++) {
        if (twin[v] == UINT32_MAX || themis_aggregation_fabric_hops(want, v, a) != THEMIS_OK ||
            themis_aggregation_fabric_hops(got, twin[v], b) != THEMIS_OK)
            continue;
        for (uint32_t w = 0; w < want->vertices; w++) {
            if (twin[w] == UINT32_MAX)
                continue;
            pairs++;
            wrong += a[w] != b[twin[w]];
        }
    }
    free(twin);
    free(a);
    free(b);
    printf("%u vertices, %u links, %u pairs of hosts, %d distances differ\n", got->vertices, got->links, pairs, wrong);
    return wrong || pairs == 0 || want->vertices != got->vertices || want->links != got->links;
}

int main(int argc, char **argv)
{
    fabric_t *want, *got;
    uint64_t guid;
    uint32_t own;

    if (argc != 3 || themis_aggregation_fabric_load(argv[1], &want) != THEMIS_OK)
        return EXIT_FAILURE;
    if (themis_aggregation_fabric_discover(&got) != THEMIS_OK || themis_aggregation_adapter_guid(&guid) != THEMIS_OK) {
        fprintf(stderr, "no fabric was discovered\n");
        return EXIT_FAILURE;
    }
    if (themis_aggregation_fabric_find(got, guid, NULL, &own) != THEMIS_OK ||
        strcmp(got->vertex[own].name, argv[2]) != 0) {
        fprintf(stderr, "the adapter %llx is not that of %s\n", (unsigned long long)guid, argv[2]);
        return EXIT_FAILURE;
    }
    if (compare(want, got))
        return EXIT_FAILURE;
    themis_aggregation_fabric_destroy(want);
    themis_aggregation_fabric_destroy(got);
    return EXIT_SUCCESS;
}
