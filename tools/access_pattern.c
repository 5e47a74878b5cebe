/* SPDX-License-Identifier: BSD-3-Clause */
/* Access patterns of whole jobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/access_pattern.h"
#include "util/log.h"

typedef themis_tools_pattern_t pattern_t;
typedef themis_tools_block_t block_t;

void themis_tools_pattern_destroy(pattern_t *pattern)
{
    if (pattern)
        free(pattern->block);
    free(pattern);
}

/* `blocks` is the number of blocks that can be added. */
static pattern_t *pattern_allocate(uint32_t ranks, size_t blocks)
{
    pattern_t *p = calloc(1, sizeof *p);

    if (p && (p->block = calloc(blocks + 1, sizeof *p->block))) {
        p->ranks = ranks;
        return p;
    }
    free(p);
    return NULL;
}

static void block_add(pattern_t *p, const block_t *b)
{
    uint64_t last = b->offset + (b->rows - 1) * b->stride + b->length - 1;

    p->first = p->bytes == 0 || b->offset < p->first ? b->offset : p->first;
    p->last = p->bytes == 0 || last > p->last ? last : p->last;
    p->bytes += b->rows * b->length;
    p->block[p->blocks++] = *b;
}

/* The parts of an array along its edge: part i of n is [cut(i), cut(i + 1)). */
typedef struct array {
    uint64_t edge, element, parts;
} array_t;

static uint64_t cut(const array_t *a, uint64_t part)
{
    return a->edge * part / a->parts;
}

/* Adds the planes of block (z, y, x), each of them a block of rows. */
static void array_block(pattern_t *p, const array_t *a, uint32_t rank, uint64_t z, uint64_t y, uint64_t x)
{
    uint64_t row = a->edge * a->element, left = cut(a, x) * a->element, length = cut(a, x + 1) * a->element - left;

    for (uint64_t plane = cut(a, z); plane < cut(a, z + 1); plane++) {
        block_t b = {.offset = (plane * a->edge + cut(a, y)) * row + left,
                     .length = length,
                     .stride = row,
                     .rows = cut(a, y + 1) - cut(a, y),
                     .rank = rank};

        block_add(p, &b);
    }
}

/* The root of ranks, or 0 if it is not a whole number. */
static uint64_t root(uint64_t ranks, int power)
{
    uint64_t r = 0, product;

    do {
        r++;
        product = power == 3 ? r * r * r : r * r;
    } while (product < ranks);
    return product == ranks ? r : 0;
}

static themis_status_t array_check(const array_t *a, uint32_t ranks)
{
    if (ranks > 0 && a->parts > 0 && a->parts <= a->edge && a->element > 0 && a->edge < (1 << 20))
        return THEMIS_OK;
    themis_error("pattern: %u ranks do not fit an array of %llu elements along an edge", ranks,
                 (unsigned long long)a->edge);
    return THEMIS_INVALID;
}

themis_status_t themis_tools_pattern_cube(uint32_t ranks, uint64_t edge, uint64_t element, pattern_t **pattern)
{
    array_t a = {edge, element, ranks > 0 ? root(ranks, 3) : 0};
    themis_status_t status = array_check(&a, ranks);

    if (status != THEMIS_OK)
        return status;
    *pattern = pattern_allocate(ranks, edge * a.parts * a.parts);
    for (uint32_t r = 0; *pattern && r < ranks; r++)
        array_block(*pattern, &a, r, r / (a.parts * a.parts), r / a.parts % a.parts, r % a.parts);
    return *pattern ? THEMIS_OK : THEMIS_NO_MEMORY;
}

themis_status_t themis_tools_pattern_btio(uint32_t ranks, uint64_t edge, uint64_t element, pattern_t **pattern)
{
    array_t a = {edge, element, ranks > 0 ? root(ranks, 2) : 0};
    themis_status_t status = array_check(&a, ranks);

    if (status != THEMIS_OK)
        return status;
    *pattern = pattern_allocate(ranks, edge * ranks);
    for (uint32_t r = 0; *pattern && r < ranks; r++)
        for (uint64_t s = 0; s < a.parts; s++)
            array_block(*pattern, &a, r, s, (r / a.parts + a.parts - s) % a.parts, (r % a.parts + s) % a.parts);
    return *pattern ? THEMIS_OK : THEMIS_NO_MEMORY;
}

/* ---- from a file ---- */

/* 1: a block, 0: nothing on the line, -1: not a block. */
static int line_parse(const char *text, uint32_t ranks, block_t *block)
{
    unsigned long long v[5] = {0, 0, 0, 1, 0};
    int fields;
    char first[2];

    if (sscanf(text, "%1s", first) < 1 || first[0] == '#')
        return 0;
    fields = sscanf(text, "%llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4]);
    if ((fields != 3 && fields != 5) || v[0] >= ranks || v[2] == 0 || v[3] == 0 || strchr(text, '-') ||
        v[1] > INT64_MAX / 4 || v[2] > INT64_MAX / 4 || (v[3] > 1 && v[4] > INT64_MAX / 4 / v[3]))
        return -1;
    *block = (block_t){.rank = (uint32_t)v[0], .offset = v[1], .length = v[2], .rows = v[3], .stride = v[4]};
    return 1;
}

static themis_status_t file_read(FILE *file, const char *path, pattern_t *p)
{
    char text[512];
    size_t capacity = 0;

    for (int number = 1; fgets(text, sizeof text, file); number++) {
        block_t block;
        int kind = line_parse(text, p->ranks, &block);

        if (kind < 0) {
            themis_error("%s:%d: expected RANK OFFSET LENGTH [ROWS STRIDE], with ranks below %u", path, number,
                         p->ranks);
            return THEMIS_PARSE;
        }
        if (kind > 0 && p->blocks == capacity) {
            block_t *larger = realloc(p->block, (capacity = capacity ? 2 * capacity : 64) * sizeof block);

            if (!larger)
                return THEMIS_NO_MEMORY;
            p->block = larger;
        }
        if (kind > 0)
            block_add(p, &block);
    }
    return p->blocks > 0 ? THEMIS_OK : THEMIS_PARSE;
}

static int rank_compare(const void *a, const void *b)
{
    const block_t *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

themis_status_t themis_tools_pattern_load(const char *path, uint32_t ranks, pattern_t **pattern)
{
    FILE *file = fopen(path, "r");
    pattern_t *p = pattern_allocate(ranks, 0);
    themis_status_t status;

    if (!file) {
        themis_error("%s: no such file for a pattern", path);
        status = THEMIS_NO_ENTRY;
    } else {
        status = p ? file_read(file, path, p) : THEMIS_NO_MEMORY;
        fclose(file);
    }
    if (status != THEMIS_OK) {
        themis_tools_pattern_destroy(p);
        return status;
    }
    qsort(p->block, p->blocks, sizeof *p->block, rank_compare);
    *pattern = p;
    return THEMIS_OK;
}

/* ---- counting ---- */

void themis_tools_pattern_count(const themis_aggregation_domains_t *domains, const block_t *b, uint64_t *bytes)
{
    uint64_t last = b->offset + (b->rows - 1) * b->stride + b->length - 1, end = 0;
    uint32_t domain = 0;

    if (b->offset >= domains->first && last <= domains->last)
        domain = themis_aggregation_domains_locate(domains, b->offset, &end);
    if (last < end) {
        bytes[domain] += b->rows * b->length;
        return;
    }
    for (uint64_t r = 0; r < b->rows; r++) {
        themis_aggregation_extent_t extent = {b->offset + r * b->stride, b->length};

        themis_aggregation_count(domains, &extent, 1, bytes);
    }
}

typedef struct cells {
    themis_aggregation_cell_t *cell;
    size_t count, capacity;
} cells_t;

/* Adds the bytes of one rank, by domain, and zeroes them. */
static themis_status_t cells_add(cells_t *c, uint32_t node, uint64_t *bytes, uint32_t domains)
{
    if (c->count + domains > c->capacity) {
        size_t capacity = 2 * (c->capacity + domains);
        themis_aggregation_cell_t *larger = realloc(c->cell, capacity * sizeof *larger);

        if (!larger)
            return THEMIS_NO_MEMORY;
        c->cell = larger;
        c->capacity = capacity;
    }
    for (uint32_t k = 0; k < domains; k++)
        if (bytes[k] > 0)
            c->cell[c->count++] = (themis_aggregation_cell_t){node, k, bytes[k]};
    memset(bytes, 0, domains * sizeof *bytes);
    return THEMIS_OK;
}

themis_status_t themis_tools_pattern_matrix(const pattern_t *pattern, const themis_aggregation_domains_t *domains,
                                            const uint32_t *node_of_rank, uint32_t nodes,
                                            themis_aggregation_matrix_t **matrix)
{
    cells_t c = {0};
    uint64_t *bytes = calloc((size_t)domains->count + 1, sizeof *bytes);
    themis_status_t status = bytes ? THEMIS_OK : THEMIS_NO_MEMORY;

    for (size_t b = 0; status == THEMIS_OK && b < pattern->blocks; b++) {
        uint32_t rank = pattern->block[b].rank;

        themis_tools_pattern_count(domains, &pattern->block[b], bytes);
        if (b + 1 == pattern->blocks || pattern->block[b + 1].rank != rank)
            status = cells_add(&c, node_of_rank[rank], bytes, domains->count);
    }
    if (status == THEMIS_OK)
        status = themis_aggregation_matrix_create(nodes, domains->count, c.cell, c.count, matrix);
    free(bytes);
    free(c.cell);
    return status;
}
