/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pattern as a picture: above, a line for each application, grey while it computes and coloured, in the height of its
 * bandwidth, while it does I/O; below, all bandwidths stacked, up to that of the servers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/command.h"
#include "tools/format.h"
#include "tools/periodic_report.h"
#include "tools/svg.h"

enum { WIDTH = 1200, LEFT = 170, RIGHT = 30, TOP = 64, STACK = 260, GAP = 46, BOTTOM = 52, MAX_LANES = 1500 };

typedef struct picture {
    const themis_tools_periodic_report_t *report;
    const themis_persched_pattern_t *pattern;
    FILE *out;
    double row, scale; /* pixels of a lane, pixels of a second */
    double stack;      /* y of the lower panel */
} picture_t;

/* Applications differ in hue, copies in lightness. */
static void lane_color(const picture_t *p, uint32_t k, char *text, size_t size)
{
    static const int hue[] = {205, 28, 140, 350, 275, 50, 180, 320};
    const themis_persched_lane_t *lane = &p->pattern->lane[k];

    snprintf(text, size, "hsl(%d,62%%,%u%%)", hue[lane->application % 8], 38 + lane->copy % 4 * 9);
}

static double time_x(const picture_t *p, double time)
{
    return LEFT + time * p->scale;
}

static void box_draw(const picture_t *p, double begin, double end, double y, double height, const char *fill)
{
    fprintf(p->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", time_x(p, begin), y,
            fmax(0.05, (end - begin) * p->scale), height, fill);
}

/* A box of the circle: in two parts where it passes the period. */
static void box_wrap(const picture_t *p, double begin, double end, double y, double height, const char *fill)
{
    double period = p->pattern->period, shift = floor(begin / period) * period;

    begin -= shift, end -= shift;
    box_draw(p, begin, fmin(end, period), y, height, fill);
    if (end > period)
        box_draw(p, 0, end - period, y, height, fill);
}

static void name_draw(const picture_t *p, const themis_persched_lane_t *lane, double y, double height)
{
    fprintf(p->out, "<text x=\"%d\" y=\"%.2f\" font-size=\"%.1f\" text-anchor=\"end\">", LEFT - 8, y + height * 0.75,
            fmin(12, p->row * 0.7));
    themis_tools_svg_text(p->out, p->report->problem->application[lane->application].name, 20);
    fprintf(p->out, " %u</text>\n", lane->copy + 1);
}

static void lane_draw(const picture_t *p, uint32_t k)
{
    const themis_persched_lane_t *lane = &p->pattern->lane[k];
    const themis_persched_problem_t *problem = p->report->problem;
    const themis_persched_application_t *a = &problem->application[lane->application];
    double y = TOP + k * p->row, height = p->row * 0.86;
    double rate = fmin(a->nodes * problem->platform.node_bandwidth, problem->platform.bandwidth);
    char fill[32];

    lane_color(p, k, fill, sizeof fill);
    if (p->row >= 9)
        name_draw(p, lane, y, height);
    for (uint32_t i = 0; i < lane->instances; i++) {
        const themis_persched_instance_t *instance = &lane->instance[i];

        box_wrap(p, instance->compute_begin, instance->compute_end, y, height, "#d4d4d4");
        for (uint32_t w = 0; w < instance->windows; w++) {
            double part = instance->window[w].bandwidth / rate * height;

            box_wrap(p, instance->window[w].begin, instance->window[w].end, y + height - part, part, fill);
        }
    }
}

/* A lane's bandwidth changes by so much. */
typedef struct change {
    double time, bandwidth;
    uint32_t lane;
} change_t;

static int change_compare(const void *a, const void *b)
{
    const change_t *x = a, *y = b;

    return x->time < y->time ? -1 : x->time > y->time;
}

static size_t window_changes(change_t *change, const themis_persched_window_t *w, uint32_t lane, double period)
{
    double shift = floor(w->begin / period) * period, begin = w->begin - shift, end = w->end - shift;
    size_t n = 0;

    change[n++] = (change_t){begin, w->bandwidth, lane};
    if (end > period) {
        change[n++] = (change_t){0, w->bandwidth, lane};
        end -= period;
    }
    change[n++] = (change_t){end, -w->bandwidth, lane};
    return n;
}

/* The changes of all lanes in the order of time; owned by the caller. NULL: no memory. */
static change_t *changes_list(const themis_persched_pattern_t *p, size_t *count)
{
    size_t windows = 0, n = 0;

    for (uint32_t k = 0; k < p->lanes; k++)
        for (uint32_t i = 0; i < p->lane[k].instances; i++)
            windows += p->lane[k].instance[i].windows;
    change_t *change = calloc(3 * windows + 1, sizeof *change);
    if (!change)
        return NULL;
    for (uint32_t k = 0; k < p->lanes; k++)
        for (uint32_t i = 0; i < p->lane[k].instances; i++)
            for (uint32_t w = 0; w < p->lane[k].instance[i].windows; w++)
                n += window_changes(change + n, &p->lane[k].instance[i].window[w], k, p->period);
    qsort(change, n, sizeof *change, change_compare);
    *count = n;
    return change;
}

static void column_draw(const picture_t *p, double begin, double end, const double *bandwidth)
{
    double y = p->stack + STACK, limit = p->report->problem->platform.bandwidth;
    char fill[32];

    for (uint32_t k = 0; k < p->pattern->lanes; k++) {
        double height = bandwidth[k] / limit * STACK;

        if (height < 0.01)
            continue;
        lane_color(p, k, fill, sizeof fill);
        y -= height;
        box_draw(p, begin, end, y, height, fill);
    }
}

static int stack_draw(const picture_t *p)
{
    size_t count = 0;
    change_t *change = changes_list(p->pattern, &count);
    double *bandwidth = calloc(p->pattern->lanes, sizeof *bandwidth), since = 0;
    int result = change && bandwidth ? THEMIS_TOOLS_OK : themis_tools_error("out of memory");

    for (size_t i = 0; i < count && result == THEMIS_TOOLS_OK; i++) {
        if ((change[i].time - since) * p->scale > 0.02) {
            column_draw(p, since, change[i].time, bandwidth);
            since = change[i].time;
        }
        bandwidth[change[i].lane] += change[i].bandwidth;
    }
    free(bandwidth);
    free(change);
    return result;
}

static void axes_draw(const picture_t *p)
{
    double step = themis_tools_svg_step(p->pattern->period, 10), bottom = p->stack + STACK;
    char bandwidth[8];

    for (double time = 0; time <= p->pattern->period * (1 + 1e-9); time += step)
        fprintf(p->out,
                "<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"#0003\"/><text x=\"%.2f\" y=\"%.2f\" "
                "font-size=\"12\" text-anchor=\"middle\">%g</text>\n",
                time_x(p, time), TOP - 4, time_x(p, time), bottom + 5, time_x(p, time), bottom + 20, time);
    fprintf(p->out,
            "<line x1=\"%d\" y1=\"%.2f\" x2=\"%d\" y2=\"%.2f\" stroke=\"#b00\" stroke-dasharray=\"6 4\"/>\n"
            "<line x1=\"%d\" y1=\"%.2f\" x2=\"%d\" y2=\"%.2f\" stroke=\"#444\"/>\n"
            "<text x=\"%d\" y=\"%.2f\" font-size=\"12\" text-anchor=\"end\">B = %s/s</text>\n"
            "<text x=\"%d\" y=\"%.2f\" font-size=\"12\" text-anchor=\"end\">0</text>\n"
            "<text x=\"%d\" y=\"%.2f\" font-size=\"12\" text-anchor=\"middle\">time in the period, s</text>\n",
            LEFT, p->stack, WIDTH - RIGHT, p->stack, LEFT, bottom, WIDTH - RIGHT, bottom, LEFT - 8, p->stack + 4,
            themis_tools_format_bytes(p->report->problem->platform.bandwidth, bandwidth), LEFT - 8, bottom,
            (LEFT + WIDTH - RIGHT) / 2, bottom + 40);
}

static int picture_draw(picture_t *p)
{
    double lanes = p->pattern->lanes;
    int result;

    p->row = lanes <= 30 ? 20 : fmax(2, 600 / lanes);
    p->scale = (WIDTH - LEFT - RIGHT) / p->pattern->period;
    p->stack = TOP + lanes * p->row + GAP;
    themis_tools_svg_begin(p->out, WIDTH, p->stack + STACK + BOTTOM);
    fprintf(p->out,
            "<text x=\"%d\" y=\"24\" font-size=\"15\" font-weight=\"bold\">Period %.6g s, SysEff %.5f (at most %.5f), "
            "dilation %.5f (at least %.5f)</text>\n"
            "<text x=\"%d\" y=\"44\" font-size=\"12\">grey: computing; coloured: I/O, as high as its bandwidth; "
            "below: bandwidth of all</text>\n",
            LEFT, p->pattern->period, p->pattern->efficiency, p->report->bounds.capacity_efficiency,
            p->pattern->dilation, p->report->bounds.capacity_dilation, LEFT);
    for (uint32_t k = 0; k < p->pattern->lanes; k++)
        lane_draw(p, k);
    result = stack_draw(p);
    axes_draw(p);
    fputs("</svg>\n", p->out);
    return result;
}

int themis_tools_periodic_draw(const themis_tools_periodic_report_t *report, const char *path)
{
    picture_t p = {.report = report, .pattern = themis_tools_periodic_pattern(report)};
    int result, failed;

    if (p.pattern->lanes > MAX_LANES)
        return themis_tools_error("%s: a picture has room for %d applications, there are %u", path, MAX_LANES,
                                  p.pattern->lanes);
    p.out = fopen(path, "we");
    if (!p.out)
        return themis_tools_error_errno(path);
    result = picture_draw(&p);
    failed = ferror(p.out);
    if ((fclose(p.out) != 0 || failed) && result == THEMIS_TOOLS_OK)
        result = themis_tools_error_errno(path);
    return result;
}
