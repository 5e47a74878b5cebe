/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows from an application's history: whether more servers help it, and what in its I/O disturbs others. */
#include <math.h>
#include "dfra/dfra.h"

/* Vmin, and Wmetadata and Nmin through `threads` and F, are the paper's (section 4); the thresholds of "high" are
 * not in it, and those of "quiet" are ours. */
const themis_dfra_site_t themis_dfra_defaults = {.nodes_per_server = 512,
                                                 .threads = 16,
                                                 .min_volume = 20e9,
                                                 .high_iops = 10000,
                                                 .quiet_time = 600,
                                                 .quiet_part = 0.05,
                                                 .min_records = 1};

double themis_dfra_factor(const themis_dfra_site_t *site)
{
    return site->server_bandwidth / site->node_bandwidth;
}

static double metadata_limit(const themis_dfra_site_t *site)
{
    return site->max_metadata > 0 ? site->max_metadata : 2.0 * site->threads;
}

themis_dfra_eligibility_t themis_dfra_eligible(const themis_dfra_site_t *site, const themis_dfra_application_t *known)
{
    if (!known || known->records < site->min_records)
        return THEMIS_DFRA_NEW;
    if (!(known->volume > site->min_volume))
        return THEMIS_DFRA_LITTLE_VOLUME;
    if (known->io_nodes < (site->min_nodes > 0 ? site->min_nodes : themis_dfra_factor(site)))
        return THEMIS_DFRA_FEW_NODES;
    return known->metadata_waiting < metadata_limit(site) ? THEMIS_DFRA_ELIGIBLE : THEMIS_DFRA_METADATA_BOUND;
}

uint32_t themis_dfra_wanted(const themis_dfra_site_t *site, const themis_dfra_application_t *known)
{
    /* The quotient of two measured bandwidths may be a hair below a whole number. */
    double wanted = ceil(known->io_nodes / themis_dfra_factor(site) * (1 - 1e-9));

    return wanted < 1 ? 1 : (uint32_t)wanted;
}

static unsigned classes_of(const themis_dfra_site_t *site, double bandwidth, double iops, double metadata)
{
    double high = site->high_bandwidth > 0 ? site->high_bandwidth : site->server_bandwidth / 2;
    unsigned classes = 0;

    if (metadata > metadata_limit(site))
        classes |= THEMIS_DFRA_METADATA_HEAVY;
    if (bandwidth >= high)
        classes |= THEMIS_DFRA_HIGH_BANDWIDTH;
    if (iops >= site->high_iops)
        classes |= THEMIS_DFRA_HIGH_IOPS;
    return classes;
}

int themis_dfra_is_quiet(const themis_dfra_site_t *site, const themis_dfra_application_t *known,
                         const themis_dfra_observation_t *now)
{
    if (!known || !(now->duration > 0) || now->duration < site->quiet_time || !(known->duration > 0))
        return 0;
    /* A job that outlives the run before does not have more to do for it. */
    double due = fmin(now->duration / known->duration, 1) * site->quiet_part;

    return now->volume <= due * known->volume && now->operations <= due * known->operations;
}

unsigned themis_dfra_classes(const themis_dfra_site_t *site, const themis_dfra_application_t *known,
                             const themis_dfra_observation_t *now)
{
    unsigned classes = 0;

    if (known && known->records >= site->min_records && !(now && themis_dfra_is_quiet(site, known, now)))
        classes = classes_of(site, known->peak_bandwidth, known->peak_iops, known->metadata_waiting) |
                  (known->sharing == THEMIS_DFRA_N_1 ? THEMIS_DFRA_SHARED_FILE : 0);
    if (now && now->duration > 0)
        classes |= classes_of(site, now->peak_bandwidth, now->peak_iops, now->metadata_waiting) |
                   (now->shared_file ? THEMIS_DFRA_SHARED_FILE : 0);
    return classes;
}
