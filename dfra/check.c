/* SPDX-License-Identifier: BSD-3-Clause */
#include "dfra/check.h"
#include <math.h>
#include <stdio.h>

themis_status_t themis_dfra_values_check(const themis_dfra_value_t *value, size_t count, char *error, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(value[i].value) || value[i].value < value[i].low || value[i].value > value[i].high) {
            snprintf(error, size, "%s is %g, wanted: from %g to %g", value[i].name, value[i].value, value[i].low,
                     value[i].high);
            return THEMIS_INVALID;
        }
    return THEMIS_OK;
}

themis_status_t themis_dfra_site_check(const themis_dfra_site_t *s, char *error, size_t size)
{
    const themis_dfra_value_t values[] = {
        {"servers", s->servers, 1, THEMIS_DFRA_MOST_SERVERS},
        {"default_servers", s->defaults, 1, s->servers},
        {"nodes_per_server", s->nodes_per_server, 1, UINT32_MAX},
        {"threads", s->threads, 1, 1 << 20},
        {"server_bandwidth", s->server_bandwidth, 1, THEMIS_DFRA_MOST},
        {"node_bandwidth", s->node_bandwidth, 1, s->server_bandwidth},
        {"min_volume", s->min_volume, 0, THEMIS_DFRA_MOST},
        {"min_nodes", s->min_nodes, 0, UINT32_MAX},
        {"max_metadata", s->max_metadata, 0, THEMIS_DFRA_MOST},
        {"high_bandwidth", s->high_bandwidth, 0, THEMIS_DFRA_MOST},
        {"high_iops", s->high_iops, 1, THEMIS_DFRA_MOST},
        {"quiet_time", s->quiet_time, 0, THEMIS_DFRA_MOST},
        {"quiet_part", s->quiet_part, 0, 1},
        {"min_records", s->min_records, 1, UINT32_MAX},
    };

    return themis_dfra_values_check(values, sizeof values / sizeof *values, error, size);
}

themis_status_t themis_dfra_application_check(const themis_dfra_application_t *a, char *error, size_t size)
{
    const themis_dfra_value_t values[] = {
        {"volume", a->volume, 0, THEMIS_DFRA_MOST},
        {"duration", a->duration, 0, THEMIS_DFRA_MOST},
        {"operations", a->operations, 0, THEMIS_DFRA_MOST},
        {"peak_bandwidth", a->peak_bandwidth, 0, THEMIS_DFRA_MOST},
        {"peak_iops", a->peak_iops, 0, THEMIS_DFRA_MOST},
        {"metadata_waiting", a->metadata_waiting, 0, THEMIS_DFRA_MOST},
        {"nodes", a->nodes, 1, UINT32_MAX},
        {"io_nodes", a->io_nodes, 0, a->nodes},
        {"sharing", a->sharing, 0, THEMIS_DFRA_SHARINGS - 1},
    };

    return themis_dfra_values_check(values, sizeof values / sizeof *values, error, size);
}

static themis_status_t observation_check(const themis_dfra_observation_t *o, char *error, size_t size)
{
    const themis_dfra_value_t values[] = {
        {"duration", o->duration, 0, THEMIS_DFRA_MOST},
        {"volume", o->volume, 0, THEMIS_DFRA_MOST},
        {"operations", o->operations, 0, THEMIS_DFRA_MOST},
        {"peak_bandwidth", o->peak_bandwidth, 0, THEMIS_DFRA_MOST},
        {"peak_iops", o->peak_iops, 0, THEMIS_DFRA_MOST},
        {"metadata_waiting", o->metadata_waiting, 0, THEMIS_DFRA_MOST},
    };

    return themis_dfra_values_check(values, sizeof values / sizeof *values, error, size);
}

static themis_status_t running_check(const themis_dfra_site_t *site, const themis_dfra_running_t *r, char *error,
                                     size_t size)
{
    themis_status_t status = r->known ? themis_dfra_application_check(r->known, error, size) : THEMIS_OK;

    if (status == THEMIS_OK)
        status = observation_check(&r->now, error, size);
    for (uint32_t i = 0; status == THEMIS_OK && i < r->servers; i++)
        if (r->server[i] >= site->servers) {
            snprintf(error, size, "server %u of a running job, the site has %u", r->server[i], site->servers);
            status = THEMIS_INVALID;
        }
    return status;
}

themis_status_t themis_dfra_pool_check(const themis_dfra_site_t *site, const themis_dfra_pool_t *pool, char *error,
                                       size_t size)
{
    const themis_dfra_value_t jobs = {"running jobs", pool->jobs, 0, THEMIS_DFRA_MOST_JOBS};
    themis_status_t status = themis_dfra_values_check(&jobs, 1, error, size);

    for (uint32_t i = 0; status == THEMIS_OK && i < pool->jobs; i++)
        status = running_check(site, &pool->running[i], error, size);
    return status;
}

themis_status_t themis_dfra_job_check(const themis_dfra_job_t *job, char *error, size_t size)
{
    const themis_dfra_value_t ranges = {"ranges of nodes", job->ranges, 1, THEMIS_DFRA_MOST_JOBS};
    themis_status_t status = themis_dfra_values_check(&ranges, 1, error, size);
    uint64_t nodes = 0;

    for (uint32_t i = 0; status == THEMIS_OK && i < job->ranges; i++) {
        nodes += (uint64_t)job->range[i].last - job->range[i].first + 1;
        if (job->range[i].first > job->range[i].last || nodes > UINT32_MAX) {
            snprintf(error, size, "nodes %u-%u end before they begin, or are too many", job->range[i].first,
                     job->range[i].last);
            status = THEMIS_INVALID;
        }
    }
    return status == THEMIS_OK && job->known ? themis_dfra_application_check(job->known, error, size) : status;
}
