/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fabric_svg.h"
#include <stdio.h>
#include <stdlib.h>
#include "tools/command.h"
#include "tools/fabric_levels.h"
#include "tools/svg.h"

enum { MARGIN = 40, TITLE = 58, STEP = 120, LEGEND = 56, MIN_WIDTH = 900, MAX_WIDTH = 2400 };

typedef struct drawing {
    const themis_tools_fabric_svg_t *svg;
    FILE *out;
    themis_tools_fabric_levels_t levels;
    double *x, *y; /* [vertices], y from the top of a panel */
    double width, panel_height, spacing, busiest;
} drawing_t;

/* Hosts are in the order of their switches, one level below them; a leaf is above the middle of its hosts. */
static void hosts_place(drawing_t *d)
{
    const themis_aggregation_fabric_t *f = d->svg->fabric;
    double at = MARGIN + d->spacing / 2, bottom = TITLE + STEP * (d->levels.levels - 1);

    for (uint32_t v = 0; v < f->vertices; v++) {
        double begin = at;

        for (uint32_t h = 0; h < f->vertices; h++) {
            if (d->levels.parent[h] != v)
                continue;
            d->x[h] = at;
            d->y[h] = bottom - STEP * (d->levels.level[v] - 1.0);
            at += d->spacing;
        }
        if (d->levels.level[v] == 1) {
            d->x[v] = (begin + at - d->spacing) / 2;
            d->y[v] = bottom - STEP;
        }
        at += at > begin ? d->spacing : 0;
    }
}

static void upper_place(drawing_t *d)
{
    const themis_aggregation_fabric_t *f = d->svg->fabric;

    for (uint32_t level = 2; level < d->levels.levels; level++) {
        uint32_t count = 0, k = 0;

        for (uint32_t v = 0; v < f->vertices; v++)
            count += d->levels.level[v] == level;
        for (uint32_t v = 0; v < f->vertices; v++) {
            if (d->levels.level[v] != level)
                continue;
            d->x[v] = MARGIN + (d->width - 2 * MARGIN) * (++k - 0.5) / count;
            d->y[v] = TITLE + STEP * (d->levels.levels - 1 - level);
        }
    }
}

static void layout_measure(drawing_t *d)
{
    const themis_aggregation_fabric_t *f = d->svg->fabric;
    uint32_t columns = 0;

    for (uint32_t v = 0; v < f->vertices; v++)
        columns += d->levels.level[v] <= 1 && (d->levels.level[v] == 1 || d->levels.parent[v] != UINT32_MAX);
    columns = columns ? columns : 1;
    d->width = 2 * MARGIN + 22.0 * columns;
    d->width = d->width < MIN_WIDTH ? MIN_WIDTH : d->width > MAX_WIDTH ? MAX_WIDTH : d->width;
    d->spacing = (d->width - 2 * MARGIN) / columns;
    d->panel_height = TITLE + STEP * (d->levels.levels - 1) + 70;
    for (int p = 0; p < 2; p++)
        for (size_t l = 0; l < 2 * (size_t)f->links; l++)
            d->busiest = d->svg->panel[p].load[l] > d->busiest ? d->svg->panel[p].load[l] : d->busiest;
}

/* From light grey through yellow to dark red. */
static void color(double part, char *text, size_t size)
{
    static const double stop[4][3] = {{214, 214, 214}, {254, 217, 118}, {240, 110, 40}, {165, 0, 38}};
    double at = part * 3;
    int i = at >= 3 ? 2 : (int)at;
    double rest = at - i;

    snprintf(text, size, "#%02x%02x%02x", (int)(stop[i][0] + rest * (stop[i + 1][0] - stop[i][0])),
             (int)(stop[i][1] + rest * (stop[i + 1][1] - stop[i][1])),
             (int)(stop[i][2] + rest * (stop[i + 1][2] - stop[i][2])));
}

/* Both directions side by side; the tooltip has the bytes. */
static void draw_link(const drawing_t *d, const themis_tools_fabric_panel_t *panel, uint32_t l, double top)
{
    const themis_aggregation_fabric_t *f = d->svg->fabric;
    uint32_t a = f->link[l].first, b = f->link[l].second;

    for (int way = 0; way < 2; way++) {
        double load = panel->load[2 * (size_t)l + way], part = d->busiest > 0 ? load / d->busiest : 0;
        double shift = d->spacing < 12 ? 1.2 : 2.5;
        char rgb[8];

        shift = way ? shift : -shift;
        color(part, rgb, sizeof rgb);
        fprintf(d->out,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.1f\">"
                "<title>%s to %s: %.3f GB</title></line>\n",
                d->x[a] + shift, top + d->y[a], d->x[b] + shift, top + d->y[b], rgb, 0.8 + 4.2 * part,
                f->vertex[way ? b : a].name, f->vertex[way ? a : b].name, load / 1e9);
    }
}

static int list_has(const uint32_t *list, uint32_t count, uint32_t v)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == v)
            return 1;
    return 0;
}

static void draw_host(const drawing_t *d, const themis_tools_fabric_panel_t *panel, uint32_t v, double top)
{
    const themis_tools_fabric_svg_t *p = d->svg;
    double r = d->spacing < 16 ? d->spacing * 0.4 : 6.5;
    const char *fill = list_has(panel->aggregator, panel->aggregators, v) ? "#0072b2"
                       : list_has(p->node, p->nodes, v)                   ? "#9ecae1"
                                                                          : "#ffffff";

    fprintf(d->out, "<%s fill=\"%s\" stroke=\"#444\" ", list_has(p->server, p->servers, v) ? "rect" : "circle", fill);
    if (list_has(p->server, p->servers, v))
        fprintf(d->out, "x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", d->x[v] - r, top + d->y[v] - r,
                2 * r, 2 * r);
    else
        fprintf(d->out, "cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", d->x[v], top + d->y[v], r);
    if (d->spacing >= 9)
        fprintf(d->out,
                "<text x=\"%.1f\" y=\"%.1f\" font-size=\"9\" text-anchor=\"end\" transform=\"rotate(-60 %.1f "
                "%.1f)\">%s</text>\n",
                d->x[v] + 3, top + d->y[v] + 18, d->x[v] + 3, top + d->y[v] + 18, p->fabric->vertex[v].name);
}

static void draw_switch(const drawing_t *d, uint32_t v, double top)
{
    const char *name = d->svg->fabric->vertex[v].name;

    fprintf(d->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"48\" height=\"18\" rx=\"3\" fill=\"#f7f7f7\" stroke=\"#444\"/>\n"
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" text-anchor=\"middle\">%.8s</text>\n",
            d->x[v] - 24, top + d->y[v] - 9, d->x[v], top + d->y[v] + 3.5, name);
}

static void draw_panel(const drawing_t *d, const themis_tools_fabric_panel_t *panel, double top)
{
    const themis_aggregation_fabric_t *f = d->svg->fabric;

    fprintf(d->out, "<text x=\"%d\" y=\"%.1f\" font-size=\"15\" font-weight=\"bold\">%s</text>\n", MARGIN, top + 24,
            panel->title);
    for (uint32_t l = 0; l < f->links; l++)
        draw_link(d, panel, l, top);
    for (uint32_t v = 0; v < f->vertices; v++) {
        if (d->levels.level[v] == UINT32_MAX || (d->levels.level[v] == 0 && d->levels.parent[v] == UINT32_MAX))
            continue;
        if (f->vertex[v].is_switch)
            draw_switch(d, v, top);
        else
            draw_host(d, panel, v, top);
    }
}

static void draw_legend(const drawing_t *d, double top)
{
    static const struct {
        const char *fill, *text;
    } key[] = {{"#0072b2", "aggregator"}, {"#9ecae1", "node of the job"}, {"#ffffff", "other host"}};
    double x = MARGIN;

    for (int i = 0; i < 3; i++, x += 130)
        fprintf(d->out,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"%s\" stroke=\"#444\"/><text x=\"%.1f\" y=\"%.1f\" "
                "font-size=\"11\">%s</text>\n",
                x, top + 20, key[i].fill, x + 10, top + 24, key[i].text);
    fprintf(d->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\">I/O servers are squares; load of a cable: 0</text>\n",
            x, top + 24);
    x += 236;
    for (int i = 0; i < 40; i++) {
        char rgb[8];

        color((i + 0.5) / 40, rgb, sizeof rgb);
        fprintf(d->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"3.2\" height=\"12\" fill=\"%s\"/>\n", x + 3 * i, top + 14,
                rgb);
    }
    fprintf(d->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11\">%.3g GB</text>\n", x + 126, top + 24,
            d->busiest / 1e9);
}

static void draw_svg(drawing_t *d)
{
    themis_tools_svg_begin(d->out, d->width, 2 * d->panel_height + LEGEND);
    for (int p = 0; p < 2; p++)
        draw_panel(d, &d->svg->panel[p], p * d->panel_height);
    draw_legend(d, 2 * d->panel_height);
    fputs("</svg>\n", d->out);
}

int themis_tools_fabric_svg_write(const themis_tools_fabric_svg_t *svg, const char *path)
{
    drawing_t d = {.svg = svg};
    int result = themis_tools_fabric_levels_make(svg->fabric, &d.levels);

    if (result != THEMIS_TOOLS_OK)
        return result;
    d.x = calloc((size_t)svg->fabric->vertices + 1, sizeof *d.x);
    d.y = calloc((size_t)svg->fabric->vertices + 1, sizeof *d.y);
    d.out = d.x && d.y ? fopen(path, "w") : NULL;
    if (d.out) {
        layout_measure(&d);
        hosts_place(&d);
        upper_place(&d);
        draw_svg(&d);
    }
    if (!d.out || fclose(d.out) != 0)
        result = themis_tools_error("%s: the picture cannot be written", path);
    free(d.x);
    free(d.y);
    themis_tools_fabric_levels_free(&d.levels);
    return result;
}
