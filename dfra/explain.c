/* SPDX-License-Identifier: BSD-3-Clause */
/* Decisions as text. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "dfra/dfra.h"

const char *themis_dfra_sharing_name(themis_dfra_sharing_t sharing)
{
    static const char *const names[] = {"N-N", "N-1", "1-1", "N-M"};

    return sharing < THEMIS_DFRA_SHARINGS ? names[sharing] : NULL;
}

const char *themis_dfra_kind_name(themis_dfra_kind_t kind)
{
    static const char *const names[] = {"default", "scaled", "dedicated"};

    return kind <= THEMIS_DFRA_DEDICATED ? names[kind] : NULL;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strnlen(text, size);
    va_list list;

    if (used >= size)
        return;
    va_start(list, format);
    vsnprintf(text + used, size - used, format, list);
    va_end(list);
}

void themis_dfra_classes_text(unsigned classes, char *text, size_t size)
{
    static const char *const names[] = {"N-1 file", "metadata-heavy", "high bandwidth", "high IOPS"};

    if (size > 0)
        text[0] = 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (classes & 1u << i)
            append(text, size, "%s%s", *text ? ", " : "", names[i]);
    if (size > 0 && !*text)
        append(text, size, "none");
}

static void eligibility_explain(const themis_dfra_site_t *site, const themis_dfra_application_t *known,
                                const themis_dfra_decision_t *d, char *text, size_t size)
{
    double nodes = site->min_nodes > 0 ? site->min_nodes : themis_dfra_factor(site);
    double metadata = site->max_metadata > 0 ? site->max_metadata : 2.0 * site->threads;

    switch (known ? d->eligibility : THEMIS_DFRA_NEW) {
    case THEMIS_DFRA_NEW:
        append(text, size, "The application is new: %u of %u records needed.", known ? known->records : 0,
               site->min_records);
        break;
    case THEMIS_DFRA_LITTLE_VOLUME:
        append(text, size, "Not scaled: it moved %.3g GB, not more than %.3g GB.", known->volume / 1e9,
               site->min_volume / 1e9);
        break;
    case THEMIS_DFRA_FEW_NODES:
        append(text, size, "Not scaled: %u nodes did I/O, fewer than %.4g.", known->io_nodes, nodes);
        break;
    case THEMIS_DFRA_METADATA_BOUND:
        append(text, size, "Not scaled: bound by metadata, %.3g operations waited on average, not fewer than %.3g.",
               known->metadata_waiting, metadata);
        break;
    case THEMIS_DFRA_ELIGIBLE:
        append(text, size,
               "It moved %.3g GB from %u nodes (metadata operations waiting: %.3g): %u / %.4g gives %u servers; the "
               "default is %u, %u are idle.",
               known->volume / 1e9, known->io_nodes, known->metadata_waiting, known->io_nodes, themis_dfra_factor(site),
               d->wanted, d->defaults, d->idle);
        break;
    }
}

static void interference_explain(const themis_dfra_decision_t *d, char *text, size_t size)
{
    char own[96], other[96];

    themis_dfra_classes_text(d->classes, own, sizeof own);
    themis_dfra_classes_text(d->other_classes, other, sizeof other);
    if (d->disturbing == UINT32_MAX)
        append(text, size, " No interference is expected (default servers: %u; jobs on them: %u).", d->defaults,
               d->neighbours);
    else
        append(text, size, " Interference is likely with running job %u (it: %s; the job: %s)", d->disturbing + 1,
               other, own);
    if (d->disturbing != UINT32_MAX && d->kind == THEMIS_DFRA_DEDICATED)
        append(text, size, "; servers of its own: %u.", d->servers);
    else if (d->disturbing != UINT32_MAX)
        append(text, size, ", but of %u servers needed only %u are idle.", d->defaults, d->idle);
}

void themis_dfra_explain(const themis_dfra_site_t *site, const themis_dfra_application_t *known,
                         const themis_dfra_decision_t *d, char *text, size_t size)
{
    if (size > 0)
        text[0] = 0;
    eligibility_explain(site, known, d, text, size);
    if (d->kind != THEMIS_DFRA_SCALED && d->eligibility != THEMIS_DFRA_NEW)
        interference_explain(d, text, size);
    if (d->replaced > 0)
        append(text, size,
               " %u of its default servers were replaced or left out: they are anomalous, or another job's own.",
               d->replaced);
}
