/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all file-domain methods share: from bytes to units and back, on the operations of aggregation/methods.c.
 * themis_aggregation_domains_init is in method_choice.c, since it may have to choose the method first.
 */
#include "aggregation/domains.h"
#include "aggregation/methods.h"

typedef themis_aggregation_domains_t domains_t;

/* The file offset at which a unit begins; the first unit may begin before the range does. */
static uint64_t unit_start(const domains_t *d, uint64_t unit)
{
    return d->origin + (d->first_unit + unit) * d->unit;
}

static uint64_t unit_of(const domains_t *d, uint64_t offset)
{
    return (offset - d->origin) / d->unit - d->first_unit;
}

static uint64_t unit_end(const domains_t *d, uint64_t unit)
{
    uint64_t end = unit_start(d, unit);

    return end <= d->last ? end : d->last + 1;
}

/* Bytes of the first unit that lie before the range. */
static uint64_t bytes_before_range(const domains_t *d)
{
    return d->first - unit_start(d, 0);
}

void themis_aggregation_domains_cut(themis_aggregation_method_t method, const themis_aggregation_layout_t *layout,
                                    uint64_t first, uint64_t last, uint32_t aggregators, domains_t *domains)
{
    domains_t d = {.method = method, .layout = *layout, .first = first, .last = last, .requested = aggregators};

    d.ops = themis_aggregation_method_ops(method);
    d.count = d.ops->adjust(layout, aggregators);
    if (method == THEMIS_AGGREGATION_EVEN) {
        d.unit = (last - first) / d.count + 1;
        d.origin = first;
    } else {
        d.unit = layout->stripe_size;
    }
    d.first_unit = (first - d.origin) / d.unit;
    d.units = (last - d.origin) / d.unit - d.first_unit + 1;
    *domains = d;
}

uint32_t themis_aggregation_domains_locate(const domains_t *d, uint64_t offset, uint64_t *end)
{
    uint64_t unit = unit_of(d, offset);

    *end = unit_end(d, unit + d->ops->run(d, unit));
    return d->ops->owner(d, unit);
}

uint64_t themis_aggregation_domains_position(const domains_t *d, uint32_t domain, uint64_t offset)
{
    uint64_t unit, bytes;

    if (offset <= d->first)
        return 0;
    if (offset > d->last)
        offset = d->last + 1;
    unit = unit_of(d, offset);
    bytes = d->ops->before(d, domain, unit) * d->unit;
    if (unit < d->units && d->ops->owner(d, unit) == domain)
        bytes += offset - unit_start(d, unit);
    if (d->ops->owner(d, 0) == domain)
        bytes -= bytes_before_range(d);
    return bytes;
}

uint64_t themis_aggregation_domains_size(const domains_t *d, uint32_t domain)
{
    return themis_aggregation_domains_position(d, domain, d->last + 1);
}

uint64_t themis_aggregation_domains_seek(const domains_t *d, uint32_t domain, uint64_t position)
{
    if (d->ops->owner(d, 0) == domain)
        position += bytes_before_range(d);
    return unit_start(d, d->ops->at(d, domain, position / d->unit)) + position % d->unit;
}

void themis_aggregation_iterator_init(const domains_t *domains, uint32_t domain, uint64_t from,
                                      themis_aggregation_iterator_t *iterator)
{
    *iterator = (themis_aggregation_iterator_t){domains, domain, from > domains->first ? from : domains->first};
}

/* The end of the longest run of units of one domain that begins at `unit`. */
static uint64_t run_end(const domains_t *d, uint32_t domain, uint64_t unit)
{
    if (d->method == THEMIS_AGGREGATION_STRIPE_SIZE)
        return unit + 1;
    do
        unit += d->ops->run(d, unit);
    while (unit < d->units && d->ops->owner(d, unit) == domain);
    return unit;
}

bool themis_aggregation_iterator_next(themis_aggregation_iterator_t *it, themis_aggregation_extent_t *extent)
{
    const domains_t *d = it->domains;
    uint64_t unit, end;

    if (it->next > d->last)
        return false;
    unit = unit_of(d, it->next);
    if (d->ops->owner(d, unit) != it->domain) {
        uint64_t before = d->ops->before(d, it->domain, unit);

        if (before == d->ops->before(d, it->domain, d->units)) {
            it->next = d->last + 1;
            return false;
        }
        unit = d->ops->at(d, it->domain, before);
        it->next = unit_start(d, unit);
    }
    end = unit_end(d, run_end(d, it->domain, unit));
    *extent = (themis_aggregation_extent_t){it->next, end - it->next};
    it->next = end;
    return true;
}
