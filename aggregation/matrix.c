/* SPDX-License-Identifier: BSD-3-Clause */
/* The communication matrix: which node holds how many bytes of which domain. */
#include <stdlib.h>
#include <string.h>

#include "aggregation/methods.h"
#include "util/log.h"

void themis_aggregation_count(const themis_aggregation_domains_t *domains, const themis_aggregation_extent_t *extent,
                              size_t extents, uint64_t *bytes)
{
    for (size_t i = 0; i < extents; i++) {
        uint64_t at = extent[i].offset, end = at + extent[i].length;

        at = at < domains->first ? domains->first : at;
        end = end > domains->last + 1 ? domains->last + 1 : end;
        while (at < end) {
            uint64_t stop;
            uint32_t domain = themis_aggregation_domains_locate(domains, at, &stop);

            stop = stop < end ? stop : end;
            bytes[domain] += stop - at;
            at = stop;
        }
    }
}

static int cell_compare(const void *a, const void *b)
{
    const themis_aggregation_cell_t *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->domain > y->domain) - (x->domain < y->domain);
}

static themis_status_t cells_check(const themis_aggregation_cell_t *cell, size_t cells, uint32_t nodes,
                                   uint32_t domains)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < cells; i++) {
        if (cell[i].node >= nodes || cell[i].domain >= domains || __builtin_add_overflow(sum, cell[i].bytes, &sum) ||
            sum > INT64_MAX) {
            themis_error("communication matrix: node %u, domain %u, %llu bytes do not fit into %u x %u", cell[i].node,
                         cell[i].domain, (unsigned long long)cell[i].bytes, nodes, domains);
            return THEMIS_RANGE;
        }
    }
    return THEMIS_OK;
}

/* Merges equal neighbours and drops empty cells; returns how many remain. */
static size_t cells_merge(themis_aggregation_cell_t *cell, size_t cells)
{
    size_t kept = 0;

    for (size_t i = 0; i < cells; i++) {
        if (cell[i].bytes == 0)
            continue;
        if (kept > 0 && cell_compare(&cell[kept - 1], &cell[i]) == 0)
            cell[kept - 1].bytes += cell[i].bytes;
        else
            cell[kept++] = cell[i];
    }
    return kept;
}

static bool cells_sorted(const themis_aggregation_cell_t *cell, size_t cells)
{
    for (size_t i = 1; i < cells; i++)
        if (cell_compare(&cell[i - 1], &cell[i]) > 0)
            return false;
    return true;
}

themis_status_t themis_aggregation_matrix_create(uint32_t nodes, uint32_t domains,
                                                 const themis_aggregation_cell_t *cell, size_t cells,
                                                 themis_aggregation_matrix_t **matrix)
{
    themis_aggregation_matrix_t *m;
    themis_status_t status = cells_check(cell, cells, nodes, domains);

    if (status != THEMIS_OK)
        return status;
    m = calloc(1, sizeof *m);
    if (!m || !(m->cell = malloc((cells + 1) * sizeof *m->cell))) {
        free(m);
        return THEMIS_NO_MEMORY;
    }
    m->nodes = nodes;
    m->domains = domains;
    if (cells > 0)
        memcpy(m->cell, cell, cells * sizeof *cell);
    if (!cells_sorted(m->cell, cells))
        qsort(m->cell, cells, sizeof *m->cell, cell_compare);
    m->cells = cells_merge(m->cell, cells);
    *matrix = m;
    return THEMIS_OK;
}

void themis_aggregation_matrix_destroy(themis_aggregation_matrix_t *matrix)
{
    if (matrix)
        free(matrix->cell);
    free(matrix);
}

themis_status_t themis_aggregation_matrix_server_bytes(const themis_aggregation_matrix_t *matrix,
                                                       const themis_aggregation_domains_t *domains, uint64_t *bytes)
{
    uint32_t servers = domains->layout.servers;
    uint64_t *total = calloc((size_t)domains->count + 1, sizeof *total);
    uint64_t *share = calloc(servers, sizeof *share);

    for (size_t c = 0; total && c < matrix->cells; c++)
        total[matrix->cell[c].domain] += matrix->cell[c].bytes;
    for (uint32_t k = 0; total && share && k < domains->count; k++) {
        unsigned __int128 sum = 0;

        memset(share, 0, servers * sizeof *share);
        domains->ops->shares(domains, k, share);
        for (uint32_t s = 0; s < servers; s++)
            sum += share[s];
        for (uint32_t s = 0; s < servers; s++)
            bytes[(size_t)k * servers + s] = sum ? (uint64_t)((unsigned __int128)total[k] * share[s] / sum) : 0;
    }
    free(total);
    free(share);
    return total && share ? THEMIS_OK : THEMIS_NO_MEMORY;
}
