/* SPDX-License-Identifier: BSD-3-Clause */
/* How themis plan shows its plans: as text, as JSON, as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "tools/fabric_svg.h"
#include "tools/json.h"
#include "tools/plan_report.h"

enum { PLACEMENTS = THEMIS_AGGREGATION_PLACEMENTS, SHOWN = 6 };
typedef themis_tools_plan_job_t job_t;

/* ---- text ---- */

/* A unit in which no value up to `max` has more than three digits before the point. */
typedef struct unit {
    const char *name;
    double bytes;
} unit_t;

static unit_t unit_for(double max)
{
    static const char *const names[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    unit_t unit = {names[0], 1};

    for (int i = 1; i < 7 && max / unit.bytes >= 999.9995; i++)
        unit = (unit_t){names[i], unit.bytes * 1e3};
    return unit;
}

static double bytes_at(const job_t *job, uint32_t node, uint32_t domain)
{
    for (size_t c = 0; c < job->matrix->cells; c++)
        if (job->matrix->cell[c].node == node && job->matrix->cell[c].domain == domain)
            return (double)job->matrix->cell[c].bytes;
    return 0;
}

static double hops(const job_t *job, uint32_t m, uint32_t n)
{
    return (double)themis_aggregation_distance(job->distances, m, n) / THEMIS_AGGREGATION_HOP;
}

static double workload(const job_t *job, uint32_t node, uint32_t domain)
{
    double sum = 0;

    for (size_t c = 0; c < job->matrix->cells; c++)
        if (job->matrix->cell[c].domain == domain)
            sum += (double)job->matrix->cell[c].bytes * hops(job, job->matrix->cell[c].node, node);
    for (uint32_t s = 0; job->server_bytes && s < job->servers; s++)
        sum += (double)job->server_bytes[(size_t)domain * job->servers + s] *
               job->server_distance[(size_t)node * job->servers + s] / THEMIS_AGGREGATION_HOP;
    return sum;
}

typedef double (*value_fn)(const job_t *job, uint32_t row, uint32_t column);

static double corner_max(const job_t *job, uint32_t rows, uint32_t columns, value_fn value)
{
    double max = 0;

    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < columns; c++)
            max = value(job, r, c) > max ? value(job, r, c) : max;
    return max;
}

/* The corner of a matrix whose rows are nodes; `title` has a %s for the unit of bytes. */
__attribute__((format(printf, 2, 0))) static void print_corner(const job_t *job, const char *title, uint32_t columns,
                                                               value_fn value)
{
    uint32_t rows = job->nodes < SHOWN ? job->nodes : SHOWN, shown = columns < SHOWN ? columns : SHOWN;
    unit_t unit = unit_for(value == hops ? 0 : corner_max(job, rows, shown, value));

    putchar('\n');
    printf(title, unit.name);
    if (rows < job->nodes || shown < columns)
        printf(", the first of %u x %u", job->nodes, columns);
    putchar('\n');
    for (uint32_t r = 0; r < rows; r++) {
        printf("  %-12.12s", job->fabric->vertex[job->vertex[r]].name);
        for (uint32_t c = 0; c < shown; c++)
            printf(" %9.3f", value(job, r, c) / unit.bytes);
        puts(shown < columns ? "  ..." : "");
    }
}

static const char *aggregator_host(const job_t *job, int placement, uint32_t domain)
{
    return job->fabric->vertex[job->vertex[job->candidates->node[job->plan[placement]->chosen.candidate[domain]]]].name;
}

static void print_assignment(const job_t *job)
{
    uint32_t shown = job->domains.count < 4 * SHOWN ? job->domains.count : 4 * SHOWN;

    printf("\nassignment (rank on host)\n  %6s %24s %24s %24s\n", "domain", "default", "locality", "topology");
    for (uint32_t k = 0; k < shown; k++) {
        printf("  %6u", k);
        for (int p = 0; p < PLACEMENTS; p++)
            printf(p < PLACEMENTS - 1 ? " %9u on %-11.11s" : " %9u on %.11s", job->plan[p]->aggregator[k],
                   aggregator_host(job, p, k));
        putchar('\n');
    }
    if (shown < job->domains.count)
        printf("  ... %u domains in all (--json has them)\n", job->domains.count);
}

static void print_summary(const job_t *job)
{
    double max = 0;

    for (int p = 0; p < PLACEMENTS; p++) {
        const themis_aggregation_choice_t *c = &job->plan[p]->chosen;

        max = c->hop_bytes > max ? c->hop_bytes : max;
        max = c->server_hop_bytes > max ? c->server_hop_bytes : max;
    }
    unit_t unit = unit_for(max);

    printf("\n%-10s %*s-%s %*s-%s %*s %s %*s %s\n", "placement", 15 - (int)strlen(unit.name), "shuffle hop", unit.name,
           15 - (int)strlen(unit.name), "servers hop", unit.name, 14 - (int)strlen(unit.name), "moved", unit.name,
           15 - (int)strlen(unit.name), "busiest link", unit.name);
    for (int p = 0; p < PLACEMENTS; p++) {
        const themis_aggregation_choice_t *c = &job->plan[p]->chosen;

        char servers[32] = "unknown";

        if (job->server_distance)
            snprintf(servers, sizeof servers, "%.3f", c->server_hop_bytes / unit.bytes);
        printf("%-10s %16.3f %16s %15.3f %16.3f\n",
               themis_aggregation_placement_name((themis_aggregation_placement_t)p), c->hop_bytes / unit.bytes, servers,
               (double)c->moved_bytes / unit.bytes, (double)c->max_link_load / unit.bytes);
    }
    printf("\nauto takes %s; topology is %sproved optimal\n",
           themis_aggregation_placement_name(job->plan[PLACEMENTS]->placement),
           job->plan[THEMIS_AGGREGATION_TOPOLOGY]->certified ? "" : "not ");
}

void themis_tools_plan_print(const job_t *job)
{
    const themis_aggregation_domains_t *d = &job->domains;

    unit_t unit = unit_for((double)job->pattern->bytes);

    printf("%lld ranks on %u nodes, %.3f %s in bytes %llu to %llu\n", (long long)job->ranks, job->nodes,
           (double)job->pattern->bytes / unit.bytes, unit.name, (unsigned long long)d->first,
           (unsigned long long)d->last);
    printf("file domains: %s, %u aggregators", themis_aggregation_method_name(d->method), d->count);
    if (d->count != d->requested)
        printf(" (%u asked for, which the method cannot use with %u servers)", d->requested, job->servers);
    printf(", stripes of %llu bytes on %u servers\n", (unsigned long long)job->stripe, job->servers);
    print_corner(job, "C: %s of each domain on each node", d->count, bytes_at);
    print_corner(job, "D: hops between nodes%.0s", job->nodes, hops);
    print_corner(job,
                 job->server_bytes ? "W: hop-%s of each domain at each node, and from there to the servers"
                                   : "W: hop-%s of each domain at each node",
                 d->count, workload);
    print_assignment(job);
    print_summary(job);
}

/* ---- JSON ---- */

static json_t *placement_json(const job_t *job, int p)
{
    const themis_aggregation_choice_t *c = &job->plan[p]->chosen;
    json_t *rank = json_array(), *host = json_array();

    for (uint32_t k = 0; k < job->domains.count; k++) {
        json_array_append_new(rank, json_integer(job->plan[p]->aggregator[k]));
        json_array_append_new(host, json_string(aggregator_host(job, p, k)));
    }
    return json_pack("{s:f, s:o, s:I, s:I, s:b, s:o, s:o}", "hop_bytes", c->hop_bytes, "server_hop_bytes",
                     job->server_distance ? json_real(c->server_hop_bytes) : json_null(), "moved_bytes",
                     (json_int_t)c->moved_bytes, "max_link_load_bytes", (json_int_t)c->max_link_load, "certified",
                     job->plan[p]->certified, "aggregators", rank, "hosts", host);
}

void themis_tools_plan_print_json(const job_t *job)
{
    json_t *placements = json_object();
    json_t *all = json_pack("{s:I, s:I, s:s, s:I, s:I, s:I, s:s}", "ranks", (json_int_t)job->ranks, "nodes",
                            (json_int_t)job->nodes, "method", themis_aggregation_method_name(job->domains.method),
                            "domains", (json_int_t)job->domains.count, "domains_requested",
                            (json_int_t)job->domains.requested, "bytes", (json_int_t)job->pattern->bytes, "auto",
                            themis_aggregation_placement_name(job->plan[PLACEMENTS]->placement));

    for (int p = 0; p < PLACEMENTS; p++)
        json_object_set_new(placements, themis_aggregation_placement_name((themis_aggregation_placement_t)p),
                            placement_json(job, p));
    json_object_set_new(all, "placements", placements);
    themis_tools_json_print(all);
}

/* ---- picture ---- */

static int fill_panel(const job_t *job, int placement, themis_tools_fabric_panel_t *panel, char *title, size_t size)
{
    const themis_aggregation_plan_t *plan = job->plan[placement];
    double *load = malloc((2 * (size_t)job->fabric->links + 1) * sizeof *load);
    uint32_t *aggregator = malloc(((size_t)plan->domains + 1) * sizeof *aggregator);

    *panel = (themis_tools_fabric_panel_t){title, load, aggregator, plan->domains};
    if (!load || !aggregator)
        return themis_tools_plan_check(THEMIS_NO_MEMORY);
    for (uint32_t k = 0; k < plan->domains; k++)
        aggregator[k] = job->vertex[job->candidates->node[plan->chosen.candidate[k]]];
    snprintf(title, size, "%s: placement %s, %.4g hop-GB, busiest link %.3g GB", placement == 0 ? "Before" : "After",
             themis_aggregation_placement_name((themis_aggregation_placement_t)placement),
             (plan->chosen.hop_bytes + plan->chosen.server_hop_bytes) / 1e9, (double)plan->chosen.max_link_load / 1e9);
    return themis_tools_plan_check(themis_aggregation_link_loads(&job->problem, plan->chosen.candidate, load));
}

int themis_tools_plan_draw(const job_t *job, const char *path)
{
    char title[2][160];
    themis_tools_fabric_svg_t svg = {.fabric = job->fabric,
                                     .node = job->vertex,
                                     .nodes = job->nodes,
                                     .server = job->server_vertex,
                                     .servers = job->server_vertex ? job->servers : 0};
    int result = fill_panel(job, THEMIS_AGGREGATION_DEFAULT, &svg.panel[0], title[0], sizeof title[0]);

    if (result == THEMIS_TOOLS_OK)
        result = fill_panel(job, THEMIS_AGGREGATION_TOPOLOGY, &svg.panel[1], title[1], sizeof title[1]);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_fabric_svg_write(&svg, path);
    for (int p = 0; p < 2; p++) {
        free((void *)svg.panel[p].load);
        free((void *)svg.panel[p].aggregator);
    }
    return result;
}
