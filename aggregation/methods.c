/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file-domain methods, as tables of operations on units. Everything is computed from the range, the layout and the
 * number of domains; nothing is stored for a stripe or a domain.
 */
#include <string.h>

#include "aggregation/methods.h"

typedef themis_aggregation_domains_t domains_t;

static uint64_t min_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* `total` items are divided among `parts` in order: item t belongs to part t * parts / total. */
static uint64_t part_of(uint64_t t, uint64_t parts, uint64_t total)
{
    return (uint64_t)((unsigned __int128)t * parts / total);
}

static uint64_t part_start(uint64_t part, uint64_t parts, uint64_t total)
{
    return (uint64_t)(((unsigned __int128)part * total + parts - 1) / parts);
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint32_t adjust_none(const themis_aggregation_layout_t *layout, uint32_t wanted)
{
    return wanted;
}

/* ---- even: unit k is domain k ---- */

static uint32_t even_owner(const domains_t *d, uint64_t unit)
{
    return (uint32_t)unit;
}

static uint64_t even_run(const domains_t *d, uint64_t unit)
{
    return 1;
}

static uint64_t even_before(const domains_t *d, uint32_t domain, uint64_t unit)
{
    return unit > domain;
}

static uint64_t even_at(const domains_t *d, uint32_t domain, uint64_t i)
{
    return domain;
}

/* ---- contiguous: equal numbers of stripes, in order ---- */

static uint32_t contiguous_owner(const domains_t *d, uint64_t unit)
{
    return (uint32_t)part_of(unit, d->count, d->units);
}

static uint64_t contiguous_run(const domains_t *d, uint64_t unit)
{
    return part_start((uint64_t)contiguous_owner(d, unit) + 1, d->count, d->units) - unit;
}

static uint64_t contiguous_before(const domains_t *d, uint32_t domain, uint64_t unit)
{
    uint64_t start = part_start(domain, d->count, d->units), end = part_start((uint64_t)domain + 1, d->count, d->units);

    return unit <= start ? 0 : min_of(unit, end) - start;
}

static uint64_t contiguous_at(const domains_t *d, uint32_t domain, uint64_t i)
{
    return part_start(domain, d->count, d->units) + i;
}

/* ---- cyclic ---- */

/* How many numbers below x have the remainder r modulo m. */
static uint64_t residues_below(uint64_t x, uint64_t r, uint64_t m)
{
    return (x + m - 1 - r) / m;
}

/* Members of a group take turns; static-cyclic is one group over the whole range. Turns follow the stripe's number in
 * the file, so that they do not depend on the range. */
typedef struct turns {
    uint64_t groups, members;
} turns_t;

static turns_t turns_of(const domains_t *d)
{
    if (d->method == THEMIS_AGGREGATION_GROUP_CYCLIC && d->count > d->layout.servers)
        return (turns_t){d->count / d->layout.servers, d->layout.servers};
    return (turns_t){1, d->count};
}

static uint32_t group_adjust(const themis_aggregation_layout_t *layout, uint32_t wanted)
{
    if (wanted > layout->servers)
        return wanted - wanted % layout->servers;
    while (layout->servers % wanted)
        wanted--;
    return wanted;
}

static uint32_t cyclic_owner(const domains_t *d, uint64_t unit)
{
    turns_t turns = turns_of(d);
    uint64_t group = part_of(unit, turns.groups, d->units);

    return (uint32_t)(group * turns.members + (d->first_unit + unit) % turns.members);
}

static uint64_t cyclic_run(const domains_t *d, uint64_t unit)
{
    turns_t turns = turns_of(d);

    if (turns.members > 1)
        return 1;
    return part_start(part_of(unit, turns.groups, d->units) + 1, turns.groups, d->units) - unit;
}

static uint64_t cyclic_before(const domains_t *d, uint32_t domain, uint64_t unit)
{
    turns_t turns = turns_of(d);
    uint64_t group = domain / turns.members, member = domain % turns.members;
    uint64_t start = part_start(group, turns.groups, d->units), end = part_start(group + 1, turns.groups, d->units);

    if (unit <= start)
        return 0;
    return residues_below(d->first_unit + min_of(unit, end), member, turns.members) -
           residues_below(d->first_unit + start, member, turns.members);
}

static uint64_t cyclic_at(const domains_t *d, uint32_t domain, uint64_t i)
{
    turns_t turns = turns_of(d);
    uint64_t member = domain % turns.members;
    uint64_t start = d->first_unit + part_start(domain / turns.members, turns.groups, d->units);

    return (residues_below(start, member, turns.members) + i) * turns.members + member - d->first_unit;
}

/* ---- transpose: rows of one stripe from each server, divided column by column ---- */

typedef struct table {
    uint64_t columns, height, tall; /* the first `tall` columns have height + 1 stripes, the others height */
} table_t;

static table_t table_of(const domains_t *d)
{
    return (table_t){d->layout.servers, d->units / d->layout.servers, d->units % d->layout.servers};
}

static uint64_t table_column_start(const table_t *t, uint64_t column)
{
    return column * t->height + min_of(column, t->tall);
}

static uint64_t table_column(const table_t *t, uint64_t position)
{
    uint64_t in_tall = t->tall * (t->height + 1);

    return position < in_tall ? position / (t->height + 1) : t->tall + (position - in_tall) / t->height;
}

static uint32_t transpose_owner(const domains_t *d, uint64_t unit)
{
    table_t t = table_of(d);

    return (uint32_t)part_of(table_column_start(&t, unit % t.columns) + unit / t.columns, d->count, d->units);
}

static uint64_t transpose_run(const domains_t *d, uint64_t unit)
{
    return d->layout.servers == 1 ? contiguous_run(d, unit) : 1;
}

/* Of the first `rows` stripes of a column, how many are at positions [start, end). */
static uint64_t table_overlap(const table_t *t, uint64_t column, uint64_t rows, uint64_t start, uint64_t end)
{
    uint64_t from = table_column_start(t, column), to = from + rows;

    from = max_of(from, start);
    to = min_of(to, end);
    return from < to ? to - from : 0;
}

/* Columns between the domain's first and last belong to it as a whole. */
static uint64_t transpose_before(const domains_t *d, uint32_t domain, uint64_t unit)
{
    table_t t = table_of(d);
    uint64_t start = part_start(domain, d->count, d->units), end = part_start((uint64_t)domain + 1, d->count, d->units);
    uint64_t rows = unit / t.columns, extra = unit % t.columns, first, last, sum;

    if (start == end)
        return 0;
    first = table_column(&t, start);
    last = table_column(&t, end - 1);
    sum = table_overlap(&t, first, rows + (first < extra), start, end);
    if (last > first)
        sum += table_overlap(&t, last, rows + (last < extra), start, end);
    if (last > first + 1) {
        sum += (last - first - 1) * rows;
        sum += min_of(last, extra) - min_of(first + 1, extra);
    }
    return sum;
}

static uint64_t transpose_at(const domains_t *d, uint32_t domain, uint64_t i)
{
    uint64_t low = 0, high = d->units - 1;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (transpose_before(d, domain, middle + 1) > i)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- bytes of a domain on each server ---- */

/* A domain whose units are consecutive: whole rows of stripes, then the rest stripe by stripe. */
static void contiguous_shares(const domains_t *d, uint32_t domain, uint64_t *share)
{
    uint64_t units = d->ops->before(d, domain, d->units), size = d->layout.stripe_size;
    uint64_t start, end, rows;

    if (units == 0)
        return;
    start = d->origin + (d->first_unit + d->ops->at(d, domain, 0)) * d->unit;
    end = min_of(start + units * d->unit, d->last + 1);
    start = max_of(start, d->first);
    rows = (end - start) / (size * d->layout.servers);
    for (uint32_t j = 0; j < d->layout.servers; j++)
        share[j] += rows * size;
    for (uint64_t at = start + rows * size * d->layout.servers; at < end;) {
        uint64_t stop = min_of((at / size + 1) * size, end);

        share[themis_aggregation_layout_server(&d->layout, at)] += stop - at;
        at = stop;
    }
}

static void count_unit(const domains_t *d, uint64_t unit, uint64_t times, uint64_t *share)
{
    share[(d->layout.first_server + d->first_unit + unit) % d->layout.servers] += times * d->unit;
}

/* The servers of a domain's stripes repeat after at most as many stripes as there are servers. */
static void cyclic_shares(const domains_t *d, uint32_t domain, uint64_t *share)
{
    uint64_t units = cyclic_before(d, domain, d->units), servers = d->layout.servers;

    for (uint64_t i = 0; i < min_of(units, servers); i++)
        count_unit(d, cyclic_at(d, domain, i), (units - i + servers - 1) / servers, share);
}

static void transpose_shares(const domains_t *d, uint32_t domain, uint64_t *share)
{
    table_t t = table_of(d);
    uint64_t start = part_start(domain, d->count, d->units), end = part_start((uint64_t)domain + 1, d->count, d->units);

    for (uint64_t c = 0; c < min_of(t.columns, d->units); c++)
        count_unit(d, c, table_overlap(&t, c, t.height + (c < t.tall), start, end), share);
}

static const themis_aggregation_method_ops_t operations[THEMIS_AGGREGATION_METHODS] = {
    [THEMIS_AGGREGATION_EVEN] = {"even", adjust_none, even_owner, even_run, even_before, even_at, contiguous_shares},
    [THEMIS_AGGREGATION_ALIGNED] = {"aligned", adjust_none, contiguous_owner, contiguous_run, contiguous_before,
                                    contiguous_at, contiguous_shares},
    [THEMIS_AGGREGATION_STRIPE_SIZE] = {"stripe-size", adjust_none, contiguous_owner, contiguous_run, contiguous_before,
                                        contiguous_at, contiguous_shares},
    [THEMIS_AGGREGATION_STATIC_CYCLIC] = {"static-cyclic", adjust_none, cyclic_owner, cyclic_run, cyclic_before,
                                          cyclic_at, cyclic_shares},
    [THEMIS_AGGREGATION_GROUP_CYCLIC] = {"group-cyclic", group_adjust, cyclic_owner, cyclic_run, cyclic_before,
                                         cyclic_at, cyclic_shares},
    [THEMIS_AGGREGATION_TRANSPOSE] = {"transpose", adjust_none, transpose_owner, transpose_run, transpose_before,
                                      transpose_at, transpose_shares},
};

const themis_aggregation_method_ops_t *themis_aggregation_method_ops(themis_aggregation_method_t method)
{
    return &operations[method];
}

const char *themis_aggregation_method_name(themis_aggregation_method_t method)
{
    return method < THEMIS_AGGREGATION_METHODS ? operations[method].name : "auto";
}

themis_status_t themis_aggregation_method_parse(const char *name, themis_aggregation_method_t *method)
{
    for (int m = 0; m <= THEMIS_AGGREGATION_METHOD_AUTO; m++) {
        if (strcmp(name, themis_aggregation_method_name((themis_aggregation_method_t)m)) == 0) {
            *method = (themis_aggregation_method_t)m;
            return THEMIS_OK;
        }
    }
    return THEMIS_INVALID;
}
