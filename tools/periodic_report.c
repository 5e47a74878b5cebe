/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/periodic_report.h"
#include <stdio.h>
#include "tools/format.h"
#include "tools/json.h"

typedef themis_tools_periodic_report_t report_t;

/* Instances shown as text; JSON has all. */
enum { SHOWN = 40 };

const themis_persched_pattern_t *themis_tools_periodic_pattern(const report_t *r)
{
    return r->improved ? r->improved : r->plan;
}

static const themis_persched_application_t *lane_application(const report_t *r, const themis_persched_lane_t *lane)
{
    return &r->problem->application[lane->application];
}

static double lane_dilation(const report_t *r, const themis_persched_lane_t *lane)
{
    const themis_persched_application_t *a = lane_application(r, lane);

    return themis_tools_periodic_pattern(r)->period / lane->instances /
           (a->compute + themis_persched_io_time(&r->problem->platform, a));
}

/* ---- text ---- */

static void measures_print(const report_t *r)
{
    char bandwidth[8];

    printf("%-36s %8s %9s\n", "", "SysEff", "dilation");
    printf("%-36s %8.5f %9.5f\n", "bound: nobody waits", r->bounds.efficiency, 1.0);
    printf("bound: all I/O within %-14s %8.5f %9.5f\n",
           themis_tools_format_bytes(r->problem->platform.bandwidth, bandwidth), r->bounds.capacity_efficiency,
           r->bounds.capacity_dilation);
    printf("%-36s %8.5f %9.5f   period %.6g s%s\n", "PerSched", r->plan->efficiency, r->plan->dilation, r->plan->period,
           r->plan->complete ? "" : ", not all periods tried");
    if (r->improved)
        printf("%-36s %8.5f %9.5f   period %.6g s\n", "PerSched, improved", r->improved->efficiency,
               r->improved->dilation, r->improved->period);
    for (int i = 0; r->online && i < THEMIS_TOOLS_PERIODIC_ONLINE; i++)
        printf("online: %-14s %-13s %8.5f %9.5f\n", themis_persched_heuristic_name(i % THEMIS_PERSCHED_HEURISTICS),
               i < THEMIS_PERSCHED_HEURISTICS ? "" : "whole shares", r->online[i].efficiency, r->online[i].dilation);
}

static void lanes_print(const report_t *r)
{
    const themis_persched_pattern_t *p = themis_tools_periodic_pattern(r);

    printf("\n%-20s %5s %6s %9s %9s %9s\n", "application", "copy", "nodes", "instances", "dilation", "computing");
    for (uint32_t k = 0; k < p->lanes && k < SHOWN; k++) {
        const themis_persched_application_t *a = lane_application(r, &p->lane[k]);

        printf("%-20s %5u %6.0f %9u %9.5f %8.1f%%\n", a->name, p->lane[k].copy + 1, a->nodes, p->lane[k].instances,
               lane_dilation(r, &p->lane[k]), 100 * a->compute * p->lane[k].instances / p->period);
    }
    if (p->lanes > SHOWN)
        printf("(%u more: --json)\n", p->lanes - SHOWN);
}

static void window_print(const char *name, const themis_persched_lane_t *lane, uint32_t i, uint32_t w)
{
    const themis_persched_instance_t *instance = &lane->instance[i];
    char bandwidth[8];

    if (w == 0)
        printf("%-20s %5u %5u %11.1f %11.1f ", name, lane->copy + 1, i + 1, instance->compute_begin,
               instance->compute_end);
    else
        printf("%-56s ", "");
    printf("%11.1f %11.1f %7s/s\n", instance->window[w].begin, instance->window[w].end,
           themis_tools_format_bytes(instance->window[w].bandwidth, bandwidth));
}

static void pattern_print(const report_t *r)
{
    const themis_persched_pattern_t *p = themis_tools_periodic_pattern(r);
    uint32_t shown = 0, all = 0;

    printf("\n%-20s %5s %5s %11s %11s %11s %11s %9s\n", "application", "copy", "no.", "computes", "until, s",
           "I/O from", "until, s", "bandwidth");
    for (uint32_t k = 0; k < p->lanes; k++)
        for (uint32_t i = 0; i < p->lane[k].instances; i++, all++)
            for (uint32_t w = 0; shown < SHOWN && w < p->lane[k].instance[i].windows; w++) {
                window_print(lane_application(r, &p->lane[k])->name, &p->lane[k], i, w);
                shown += w + 1 == p->lane[k].instance[i].windows;
            }
    if (all > shown)
        printf("(%u more instances: --json)\n", all - shown);
}

void themis_tools_periodic_print(const report_t *r)
{
    measures_print(r);
    lanes_print(r);
    pattern_print(r);
}

/* ---- JSON ---- */

static json_t *measures_json(const char *name, double efficiency, double dilation)
{
    return json_pack("{s:s, s:f, s:f}", "schedule", name, "efficiency", efficiency, "dilation", dilation);
}

static json_t *comparison_json(const report_t *r)
{
    json_t *list = json_array();

    json_array_append_new(list, measures_json("persched", r->plan->efficiency, r->plan->dilation));
    if (r->improved)
        json_array_append_new(list, measures_json("persched-improved", r->improved->efficiency, r->improved->dilation));
    for (int i = 0; r->online && i < THEMIS_TOOLS_PERIODIC_ONLINE; i++) {
        json_t *row = measures_json(themis_persched_heuristic_name(i % THEMIS_PERSCHED_HEURISTICS),
                                    r->online[i].efficiency, r->online[i].dilation);

        json_object_set_new(row, "whole_shares", json_boolean(i >= THEMIS_PERSCHED_HEURISTICS));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *instance_json(const themis_persched_instance_t *instance)
{
    json_t *windows = json_array();

    for (uint32_t w = 0; w < instance->windows; w++)
        json_array_append_new(windows,
                              json_pack("{s:f, s:f, s:f}", "begin_s", instance->window[w].begin, "end_s",
                                        instance->window[w].end, "bytes_per_s", instance->window[w].bandwidth));
    return json_pack("{s:f, s:f, s:o}", "compute_begin_s", instance->compute_begin, "compute_end_s",
                     instance->compute_end, "io", windows);
}

static json_t *lane_json(const report_t *r, const themis_persched_lane_t *lane)
{
    const themis_persched_application_t *a = lane_application(r, lane);
    json_t *instances = json_array();

    for (uint32_t i = 0; i < lane->instances; i++)
        json_array_append_new(instances, instance_json(&lane->instance[i]));
    return json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:o}", "application", a->name, "copy", (int)lane->copy + 1,
                     "nodes", a->nodes, "compute_s", a->compute, "volume_bytes", a->volume, "dilation",
                     lane_dilation(r, lane), "instances", instances);
}

json_t *themis_tools_periodic_json(const report_t *r)
{
    const themis_persched_pattern_t *p = themis_tools_periodic_pattern(r);
    const themis_persched_platform_t *platform = &r->problem->platform;
    json_t *lanes = json_array();

    for (uint32_t k = 0; k < p->lanes; k++)
        json_array_append_new(lanes, lane_json(r, &p->lane[k]));
    return json_pack("{s:f, s:f, s:f, s:{s:f, s:f, s:f}, s:{s:f, s:f, s:f}, s:o, s:o}", "period_s", p->period,
                     "efficiency", p->efficiency, "dilation", p->dilation, "platform", "nodes", platform->nodes,
                     "bytes_per_s", platform->bandwidth, "node_bytes_per_s", platform->node_bandwidth, "bounds",
                     "efficiency", r->bounds.efficiency, "capacity_efficiency", r->bounds.capacity_efficiency,
                     "capacity_dilation", r->bounds.capacity_dilation, "schedules", comparison_json(r), "applications",
                     lanes);
}

void themis_tools_periodic_print_json(const report_t *r)
{
    themis_tools_json_print(themis_tools_periodic_json(r));
}
