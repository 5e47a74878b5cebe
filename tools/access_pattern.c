/* SPDX-License-Identifier: BSD-3-Clause */
/* Access patterns of whole jobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/access_pattern.h"
#include "util/log.h"

typedef themis_tools_pattern_t pattern_t;
typedef themis_tools_block_t block_t;

static pattern_t *pattern_allocate(uint32_t ranks, size_t blocks)
{
    pattern_t *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->ranks = ranks;
    p->start = calloc((size_t)ranks + 2, sizeof *p->start);
    p->block = calloc(blocks + 1, sizeof *p->block);
    if (p->start && p->block)
        return p;
    themis_tools_pattern_destroy(p);
    return NULL;
}

void themis_tools_pattern_destroy(pattern_t *pattern)
{
    if (!pattern)
        return;
    free(pattern->start);
    free(pattern->block);
    free(pattern);
}

static void pattern_extend(pattern_t *p, const block_t *b)
{
    uint64_t last = b->offset + (b->rows - 1) * b->stride + b->length - 1;

    p->first = p->bytes == 0 || b->offset < p->first ? b->offset : p->first;
    p->last = p->bytes == 0 || last > p->last ? last : p->last;
    p->bytes += b->rows * b->length;
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
static void array_block(pattern_t *p, const array_t *a, uint64_t z, uint64_t y, uint64_t x)
{
    uint64_t row = a->edge * a->element, left = cut(a, x) * a->element, length = cut(a, x + 1) * a->element - left;

    for (uint64_t plane = cut(a, z); plane < cut(a, z + 1); plane++) {
        block_t b = {.offset = (plane * a->edge + cut(a, y)) * row + left,
                     .length = length,
                     .stride = row,
                     .rows = cut(a, y + 1) - cut(a, y)};

        pattern_extend(p, &b);
        p->block[p->start[p->ranks]++] = b;
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

/* While ranks are added, start[ranks] is the number of blocks so far. */
themis_status_t themis_tools_pattern_cube(uint32_t ranks, uint64_t edge, uint64_t element, pattern_t **pattern)
{
    array_t a = {edge, element, ranks > 0 ? root(ranks, 3) : 0};
    themis_status_t status = array_check(&a, ranks);
    pattern_t *p;

    if (status != THEMIS_OK)
        return status;
    p = pattern_allocate(ranks, edge * a.parts * a.parts);
    if (!p)
        return THEMIS_NO_MEMORY;
    for (uint32_t r = 0; r < ranks; r++) {
        p->start[r] = p->start[ranks];
        array_block(p, &a, r / (a.parts * a.parts), r / a.parts % a.parts, r % a.parts);
    }
    *pattern = p;
    return THEMIS_OK;
}

themis_status_t themis_tools_pattern_btio(uint32_t ranks, uint64_t edge, uint64_t element, pattern_t **pattern)
{
    array_t a = {edge, element, ranks > 0 ? root(ranks, 2) : 0};
    themis_status_t status = array_check(&a, ranks);
    pattern_t *p;

    if (status != THEMIS_OK)
        return status;
    p = pattern_allocate(ranks, edge * ranks);
    if (!p)
        return THEMIS_NO_MEMORY;
    for (uint32_t r = 0; r < ranks; r++) {
        p->start[r] = p->start[ranks];
        for (uint64_t s = 0; s < a.parts; s++)
            array_block(p, &a, s, (r / a.parts + a.parts - s) % a.parts, (r % a.parts + s) % a.parts);
    }
    *pattern = p;
    return THEMIS_OK;
}

/* ---- from a file ---- */

typedef struct line {
    uint32_t rank;
    block_t block;
} line_t;

/* 1: a block, 0: nothing on the line, -1: not a block. */
static int line_parse(const char *text, uint32_t ranks, line_t *line)
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
    *line = (line_t){(uint32_t)v[0], {v[1], v[2], v[4], v[3]}};
    return 1;
}

static themis_status_t lines_read(FILE *file, const char *path, uint32_t ranks, line_t **lines, size_t *count)
{
    char text[512];
    size_t room = 0;

    *count = 0;
    for (int number = 1; fgets(text, sizeof text, file); number++) {
        line_t line;
        int kind = line_parse(text, ranks, &line);

        if (kind < 0) {
            themis_error("%s:%d: expected RANK OFFSET LENGTH [ROWS STRIDE], with ranks below %u", path, number, ranks);
            return THEMIS_PARSE;
        }
        if (kind == 0)
            continue;
        if (*count == room) {
            line_t *larger = realloc(*lines, (room = room ? 2 * room : 64) * sizeof line);

            if (!larger)
                return THEMIS_NO_MEMORY;
            *lines = larger;
        }
        (*lines)[(*count)++] = line;
    }
    return *count > 0 ? THEMIS_OK : THEMIS_PARSE;
}

/* Counting sort by rank. */
static void lines_sort(pattern_t *p, const line_t *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        p->start[lines[i].rank + 1]++;
    for (uint32_t r = 0; r < p->ranks; r++)
        p->start[r + 1] += p->start[r];
    for (size_t i = 0; i < count; i++) {
        p->block[p->start[lines[i].rank]++] = lines[i].block;
        pattern_extend(p, &lines[i].block);
    }
    for (uint32_t r = p->ranks; r > 0; r--)
        p->start[r] = p->start[r - 1];
    p->start[0] = 0;
}

themis_status_t themis_tools_pattern_load(const char *path, uint32_t ranks, pattern_t **pattern)
{
    FILE *file = fopen(path, "r");
    line_t *lines = NULL;
    size_t count;
    pattern_t *p = NULL;
    themis_status_t status;

    if (!file) {
        themis_error("%s: no such pattern", path);
        return THEMIS_NO_ENTRY;
    }
    status = lines_read(file, path, ranks, &lines, &count);
    fclose(file);
    if (status == THEMIS_OK && !(p = pattern_allocate(ranks, count)))
        status = THEMIS_NO_MEMORY;
    if (status == THEMIS_OK) {
        lines_sort(p, lines, count);
        *pattern = p;
    }
    free(lines);
    return status;
}

/* ---- counting ---- */

void themis_tools_pattern_count(const themis_aggregation_domains_t *domains, const block_t *block, size_t blocks,
                                uint64_t *bytes)
{
    for (size_t i = 0; i < blocks; i++) {
        const block_t *b = &block[i];
        uint64_t last = b->offset + (b->rows - 1) * b->stride + b->length - 1, end = 0;
        uint32_t domain = 0;

        if (b->offset >= domains->first && last <= domains->last)
            domain = themis_aggregation_domains_locate(domains, b->offset, &end);
        if (last < end) {
            bytes[domain] += b->rows * b->length;
            continue;
        }
        for (uint64_t r = 0; r < b->rows; r++) {
            themis_aggregation_extent_t extent = {b->offset + r * b->stride, b->length};

            themis_aggregation_count(domains, &extent, 1, bytes);
        }
    }
}

/* Cells are collected node by node; ranks of a node need not be neighbours. */
typedef struct collector {
    themis_aggregation_cell_t *cell;
    size_t cells, room;
} collector_t;

static themis_status_t collect(collector_t *c, uint32_t node, const uint64_t *bytes, uint32_t domains)
{
    if (c->cells + domains > c->room) {
        size_t room = 2 * (c->room + domains);
        themis_aggregation_cell_t *larger = realloc(c->cell, room * sizeof *larger);

        if (!larger)
            return THEMIS_NO_MEMORY;
        c->cell = larger;
        c->room = room;
    }
    for (uint32_t k = 0; k < domains; k++)
        if (bytes[k] > 0)
            c->cell[c->cells++] = (themis_aggregation_cell_t){node, k, bytes[k]};
    return THEMIS_OK;
}

themis_status_t themis_tools_pattern_matrix(const pattern_t *pattern, const themis_aggregation_domains_t *domains,
                                            const uint32_t *node_of_rank, uint32_t nodes,
                                            themis_aggregation_matrix_t **matrix)
{
    collector_t c = {0};
    uint64_t *bytes = malloc(((size_t)domains->count + 1) * sizeof *bytes);
    themis_status_t status = bytes ? THEMIS_OK : THEMIS_NO_MEMORY;

    for (uint32_t r = 0; status == THEMIS_OK && r < pattern->ranks; r++) {
        memset(bytes, 0, domains->count * sizeof *bytes);
        themis_tools_pattern_count(domains, pattern->block + pattern->start[r],
                                   pattern->start[r + 1] - pattern->start[r], bytes);
        status = collect(&c, node_of_rank[r], bytes, domains->count);
    }
    if (status == THEMIS_OK)
        status = themis_aggregation_matrix_create(nodes, domains->count, c.cell, c.cells, matrix);
    free(bytes);
    free(c.cell);
    return status;
}
