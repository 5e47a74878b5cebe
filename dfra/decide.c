/* SPDX-License-Identifier: BSD-3-Clause */
/* The decision: more servers, servers of its own, or the default ones. */
#include <stdio.h>
#include <stdlib.h>
#include "dfra/check.h"
#include "dfra/dfra.h"

/* What is under way for one decision. */
typedef struct choice {
    const themis_dfra_site_t *site;
    const themis_dfra_pool_t *pool;
    const themis_dfra_job_t *job;
    themis_dfra_decision_t *decision;
    uint32_t *jobs;    /* [servers]: how many use it */
    uint8_t *alone;    /* [servers]: it is one job's own */
    uint8_t *standard; /* [servers]: it is a default server of the job */
} choice_t;

static int is_available(const choice_t *c, uint32_t server)
{
    return !(c->pool->anomalous && c->pool->anomalous[server]) && !c->alone[server];
}

static int is_idle(const choice_t *c, uint32_t server)
{
    return is_available(c, server) && c->jobs[server] == 0;
}

static void defaults_find(choice_t *c)
{
    for (uint32_t i = 0; i < c->job->ranges; i++) {
        const themis_dfra_range_t *range = &c->job->range[i];
        uint32_t first = range->first / c->site->nodes_per_server, last = range->last / c->site->nodes_per_server;

        c->decision->nodes += range->last - range->first + 1;
        for (uint32_t k = 0; k <= last - first && k < c->site->defaults; k++)
            c->standard[((uint64_t)first + k) % c->site->defaults] = 1;
    }
    for (uint32_t i = 0; i < c->site->defaults; i++)
        c->decision->defaults += c->standard[i];
}

static void pool_count(choice_t *c)
{
    for (uint32_t i = 0; i < c->pool->jobs; i++)
        for (uint32_t k = 0; k < c->pool->running[i].servers; k++) {
            c->jobs[c->pool->running[i].server[k]]++;
            c->alone[c->pool->running[i].server[k]] |= c->pool->running[i].alone != 0;
        }
    for (uint32_t i = 0; i < c->site->servers; i++)
        c->decision->idle += is_idle(c, i) ? 1 : 0;
}

static int is_neighbour(const choice_t *c, const themis_dfra_running_t *r)
{
    for (uint32_t k = 0; k < r->servers; k++)
        if (c->standard[r->server[k]])
            return !r->alone;
    return 0;
}

/* The paper's check by pairs: either of the two has a class that disturbs. A job that has none itself is disturbed,
 * too. */
static void interference_check(choice_t *c)
{
    themis_dfra_decision_t *d = c->decision;

    d->classes = themis_dfra_classes(c->site, c->job->known, NULL);
    for (uint32_t i = 0; i < c->pool->jobs; i++) {
        const themis_dfra_running_t *r = &c->pool->running[i];

        if (!is_neighbour(c, r))
            continue;
        unsigned classes = themis_dfra_classes(c->site, r->known, &r->now);
        d->neighbours++;
        if (!classes && themis_dfra_is_quiet(c->site, r->known, &r->now))
            continue;
        if (d->disturbing == UINT32_MAX && (classes | d->classes)) {
            d->disturbing = i;
            d->other_classes = classes;
        }
    }
}

/* The first of `count` neighbours that are idle, looked for from the first spare server on, among the next `among`; or
 * else the first spare server. */
static uint32_t neighbours_find(const choice_t *c, uint32_t count, uint32_t among)
{
    uint32_t length = 0;

    for (uint32_t k = 0; k < among; k++) {
        length = is_idle(c, (uint32_t)(((uint64_t)c->site->defaults + k) % c->site->servers)) ? length + 1 : 0;
        if (length == count)
            return (uint32_t)(((uint64_t)c->site->defaults + k + 1 - count) % c->site->servers);
    }
    return c->site->defaults;
}

static uint32_t spare_count(const choice_t *c)
{
    uint32_t count = 0;

    for (uint32_t i = c->site->defaults; i < c->site->servers; i++)
        count += is_idle(c, i) ? 1 : 0;
    return count;
}

/* Takes up to `count` idle servers, spare ones first, and neighbours where there are so many of them; those that are
 * chosen are marked as used. */
static void idle_take(choice_t *c, uint32_t count)
{
    themis_dfra_decision_t *d = c->decision;
    int are_spare = spare_count(c) >= count;
    uint32_t first = neighbours_find(c, count, c->site->servers - (are_spare ? c->site->defaults : 0));

    for (uint32_t k = 0; k < c->site->servers && count > 0; k++) {
        uint32_t server = (uint32_t)(((uint64_t)first + k) % c->site->servers);

        if (!is_idle(c, server))
            continue;
        d->server[d->servers++] = server;
        c->jobs[server]++;
        count--;
    }
}

static void defaults_take(choice_t *c)
{
    themis_dfra_decision_t *d = c->decision;

    for (uint32_t i = 0; i < c->site->defaults; i++) {
        if (!c->standard[i])
            continue;
        d->replaced += is_available(c, i) ? 0 : 1;
        if (is_available(c, i)) {
            d->server[d->servers++] = i;
            c->jobs[i]++;
        }
    }
    idle_take(c, d->replaced);
    for (uint32_t i = 0; d->servers == 0 && i < c->site->servers; i++)
        if (is_available(c, i))
            d->server[d->servers++] = i;
}

static themis_status_t choice_make(choice_t *c)
{
    themis_dfra_decision_t *d = c->decision;
    const themis_dfra_application_t *known = c->job->known;

    defaults_find(c);
    pool_count(c);
    d->eligibility = themis_dfra_eligible(c->site, known);
    d->wanted = d->eligibility == THEMIS_DFRA_ELIGIBLE ? themis_dfra_wanted(c->site, known) : 0;
    if (d->wanted > d->defaults && d->idle >= d->defaults) {
        d->kind = THEMIS_DFRA_SCALED;
        idle_take(c, d->wanted);
        return THEMIS_OK;
    }
    if (d->eligibility != THEMIS_DFRA_NEW)
        interference_check(c);
    if (d->disturbing != UINT32_MAX && d->idle >= d->defaults) {
        d->kind = THEMIS_DFRA_DEDICATED;
        idle_take(c, d->defaults);
        return THEMIS_OK;
    }
    defaults_take(c);
    return d->servers > 0 ? THEMIS_OK : THEMIS_RANGE;
}

themis_status_t themis_dfra_decide(const themis_dfra_site_t *site, const themis_dfra_pool_t *pool,
                                   const themis_dfra_job_t *job, themis_dfra_decision_t *decision, char *error,
                                   size_t size)
{
    choice_t c = {.site = site, .pool = pool, .job = job, .decision = decision};
    themis_status_t status = themis_dfra_site_check(site, error, size);

    *decision = (themis_dfra_decision_t){.disturbing = UINT32_MAX};
    if (status == THEMIS_OK)
        status = themis_dfra_pool_check(site, pool, error, size);
    if (status == THEMIS_OK)
        status = themis_dfra_job_check(job, error, size);
    if (status != THEMIS_OK)
        return status;
    decision->server = calloc(site->servers, sizeof *decision->server);
    c.jobs = calloc(site->servers, sizeof *c.jobs);
    c.alone = calloc(2 * (size_t)site->servers, sizeof *c.alone);
    c.standard = c.alone ? c.alone + site->servers : NULL;
    status = decision->server && c.jobs && c.alone ? choice_make(&c) : THEMIS_NO_MEMORY;
    free(c.jobs);
    free(c.alone);
    if (status == THEMIS_OK)
        return status;
    themis_dfra_release(decision);
    snprintf(error, size, "%s",
             status == THEMIS_RANGE ? "every server is anomalous or another job's own" : themis_status_string(status));
    return status;
}

void themis_dfra_release(themis_dfra_decision_t *decision)
{
    free(decision->server);
    decision->server = NULL;
    decision->servers = 0;
}
