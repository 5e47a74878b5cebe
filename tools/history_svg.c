/* SPDX-License-Identifier: BSD-3-Clause */
/* What a job read and wrote over time: two panels with the bandwidth of each, and its phases shaded behind them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "tools/command.h"
#include "tools/format.h"
#include "tools/history_show.h"
#include "tools/svg.h"

enum { WIDTH = 1200, LEFT = 90, RIGHT = 30, TOP = 70, PANEL = 170, GAP = 24, BOTTOM = 56, MARKS = 10 };

typedef struct picture {
    const themis_history_entry_t *entry;
    const themis_history_series_t *series;
    FILE *out;
    double length, unit; /* s of the time axis, and of one of its units */
    const char *unit_name;
    double most; /* bytes/s at the upper end of both panels */
} picture_t;

static double time_x(const picture_t *p, double time)
{
    return LEFT + fmin(fmax(time, 0), p->length) / p->length * (WIDTH - LEFT - RIGHT);
}

/* Of the samples' borders; s after the job's start. */
static double border(const picture_t *p, uint32_t sample)
{
    return p->series->start - p->entry->record.start + sample * p->series->interval;
}

static double rate(const picture_t *p, uint32_t sample, int written)
{
    const themis_history_sample_t *s = &p->series->sample[sample];

    return (double)(written ? s->written_bytes : s->read_bytes) / p->series->interval;
}

static void scales_find(picture_t *p)
{
    const themis_history_record_t *record = &p->entry->record;
    double most = 0;

    p->length = fmax(record->end - record->start, border(p, p->series->count));
    p->length = fmax(p->length, p->series->interval);
    p->unit = p->length > 5 * 86400 ? 86400 : p->length > 5 * 3600 ? 3600 : p->length > 600 ? 60 : 1;
    p->unit_name = p->unit == 1 ? "s" : p->unit == 60 ? "minutes" : p->unit == 3600 ? "hours" : "days";
    for (uint32_t i = 0; i < p->series->count; i++)
        most = fmax(most, fmax(rate(p, i, 0), rate(p, i, 1)));
    p->most = most > 0 ? most * 1.05 : 1;
}

static void phases_draw(const picture_t *p, const themis_history_phase_t *phase, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        double begin = time_x(p, border(p, phase[i].first)), end = time_x(p, border(p, phase[i].end));

        fprintf(p->out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"#e8e8e8\"/>\n", begin, TOP,
                fmax(end - begin, 0.5), 2 * PANEL + GAP);
    }
}

/* A step for each sample. */
static void panel_fill(const picture_t *p, int written, double bottom)
{
    fprintf(p->out, "<path fill=\"%s\" d=\"M%.2f %.2f", written ? "#d9822b" : "#2f6fb3", time_x(p, border(p, 0)),
            bottom);
    for (uint32_t i = 0; i < p->series->count; i++)
        fprintf(p->out, "V%.2fH%.2f", bottom - rate(p, i, written) / p->most * PANEL, time_x(p, border(p, i + 1)));
    fprintf(p->out, "V%.2fZ\"/>\n", bottom);
}

static void panel_draw(const picture_t *p, int written)
{
    double top = TOP + (written ? PANEL + GAP : 0), bottom = top + PANEL;
    double unit = pow(1024, floor(log2(fmax(p->most, 1)) / 10)), step = themis_tools_svg_step(p->most / unit, 4) * unit;
    char text[8];

    panel_fill(p, written, bottom);
    for (double value = 0; value <= p->most; value += step) {
        double y = bottom - value / p->most * PANEL;

        fprintf(p->out,
                "<line x1=\"%d\" y1=\"%.2f\" x2=\"%d\" y2=\"%.2f\" stroke=\"#0002\"/><text x=\"%d\" y=\"%.2f\" "
                "font-size=\"12\" text-anchor=\"end\">%s/s</text>\n",
                LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4, themis_tools_format_bytes(value, text));
    }
    fprintf(p->out, "<text x=\"%d\" y=\"%.2f\" font-size=\"13\" font-weight=\"bold\" fill=\"%s\">%s</text>\n", LEFT + 6,
            top + 15, written ? "#8a4d0f" : "#1c4673", written ? "written" : "read");
}

static void axis_draw(const picture_t *p)
{
    double end = p->length / p->unit, step = themis_tools_svg_step(end, MARKS), bottom = TOP + 2 * PANEL + GAP;

    for (double value = 0; value <= end * (1 + 1e-9); value += step) {
        double x = time_x(p, value * p->unit);

        fprintf(p->out,
                "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"#444\"/><text x=\"%.2f\" y=\"%.2f\" "
                "font-size=\"12\" text-anchor=\"middle\">%g</text>\n",
                x, bottom, x, bottom + 5, x, bottom + 20, value);
    }
    fprintf(p->out,
            "<line x1=\"%d\" y1=\"%.2f\" x2=\"%d\" y2=\"%.2f\" stroke=\"#444\"/>\n"
            "<text x=\"%d\" y=\"%.2f\" font-size=\"12\" text-anchor=\"middle\">%s after the start</text>\n",
            LEFT, bottom, WIDTH - RIGHT, bottom, (LEFT + WIDTH - RIGHT) / 2, bottom + 40, p->unit_name);
}

static void title_draw(const picture_t *p)
{
    const themis_history_record_t *r = &p->entry->record;
    char when[32] = "", read[8], written[8], peak[8];
    time_t start = (time_t)r->start;
    struct tm parts;

    if (localtime_r(&start, &parts))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &parts);
    fprintf(p->out, "<text x=\"%d\" y=\"26\" font-size=\"15\" font-weight=\"bold\">", LEFT);
    themis_tools_svg_text(p->out, r->application, 40);
    fputs(", job ", p->out);
    themis_tools_svg_text(p->out, r->job, 60);
    fprintf(p->out, "</text>\n<text x=\"%d\" y=\"48\" font-size=\"12\">%s; %u node%s; read %s, written %s, peak %s/s",
            LEFT, when, r->nodes, r->nodes == 1 ? "" : "s", themis_tools_format_bytes((double)r->read_bytes, read),
            themis_tools_format_bytes((double)r->written_bytes, written),
            themis_tools_format_bytes(r->peak_bandwidth, peak));
    if (r->phases.count >= 3 && r->phases.confidence >= 0.5)
        fprintf(p->out, "; a phase of %s every %.4g s", themis_tools_format_bytes(r->phases.volume, read),
                r->phases.period);
    fputs("; shaded: phases of I/O</text>\n", p->out);
}

static int picture_draw(picture_t *p)
{
    themis_history_phases_t found;
    themis_history_phase_t *phase;

    if (themis_history_phases_find(p->series, &found, &phase) != THEMIS_OK)
        return themis_tools_error("out of memory");
    scales_find(p);
    themis_tools_svg_begin(p->out, WIDTH, TOP + 2 * PANEL + GAP + BOTTOM);
    title_draw(p);
    phases_draw(p, phase, found.count);
    panel_draw(p, 0);
    panel_draw(p, 1);
    axis_draw(p);
    fputs("</svg>\n", p->out);
    free(phase);
    return THEMIS_TOOLS_OK;
}

int themis_tools_history_draw(const themis_history_entry_t *entry, const char *path)
{
    picture_t p = {.entry = entry, .series = &entry->series, .out = stdout};

    if (entry->series.count == 0)
        return themis_tools_error("the record of job %s has no series: it moved no bytes, or was written elsewhere",
                                  entry->record.job);
    if (path && !(p.out = fopen(path, "we")))
        return themis_tools_error_errno(path);
    int result = picture_draw(&p), failed = fflush(p.out) != 0 || ferror(p.out);
    if (path && fclose(p.out) != 0)
        failed = 1;
    return failed && result == THEMIS_TOOLS_OK ? themis_tools_error_errno(path ? path : "standard output") : result;
}
