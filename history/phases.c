/* SPDX-License-Identifier: BSD-3-Clause */
#include "history/phases.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Part of the median within which values count as equal, and those that a mean is made of. */
static const double equal = 0.2, trimmed = 0.5;

/* Classes of rates, for the threshold. */
enum { CLASSES = 256 };

typedef struct finding {
    uint32_t samples;
    double interval;
    double *rate;    /* [samples] bytes of each sample */
    double *scratch; /* [samples + 1] */
    double high;     /* the rate at or above which half of all bytes were moved */
    double background;
    themis_history_phase_t *phase; /* [samples] */
    uint32_t phases;
} finding_t;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the values. */
static double median(double *value, uint32_t count)
{
    qsort(value, count, sizeof *value, ascending);
    return count % 2 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

/* The mean of the values near their median, and the part of them that counts as equal. Sorts the values. */
static double trimmed_mean(double *value, uint32_t count, double *alike)
{
    double middle = median(value, count), sum = 0;
    uint32_t used = 0, same = 0;

    for (uint32_t i = 0; i < count; i++) {
        double off = fabs(value[i] - middle);

        same += off <= equal * middle;
        if (off <= trimmed * middle) {
            sum += value[i];
            used++;
        }
    }
    *alike = (double)same / count;
    return used ? sum / used : middle;
}

/* 0: nothing was moved. */
static double high_rate(finding_t *f)
{
    double total = 0, seen = 0;
    uint32_t i = f->samples;

    memcpy(f->scratch, f->rate, f->samples * sizeof *f->rate);
    qsort(f->scratch, f->samples, sizeof *f->scratch, ascending);
    for (uint32_t k = 0; k < f->samples; k++)
        total += f->scratch[k];
    while (i > 0 && seen < total / 2)
        seen += f->scratch[--i];
    return total > 0 ? f->scratch[i] : 0;
}

static uint32_t class_of(const finding_t *f, double rate)
{
    return (uint32_t)(fmin(rate / f->high, 1) * (CLASSES - 1));
}

/* Otsu's threshold: the class, of rates up to `high`, that separates best. The highest class: the two sides differ too
 * little to be phases and what is between them. */
static uint32_t threshold_find(const finding_t *f)
{
    double number[CLASSES] = {0}, all = 0, low = 0, low_sum = 0, best = 0, apart = 0;
    uint32_t threshold = CLASSES - 1;

    for (uint32_t i = 0; i < f->samples; i++) {
        uint32_t class = class_of(f, f->rate[i]);
        number[class] += 1;
        all += class;
    }
    for (uint32_t k = 0; k + 1 < CLASSES; k++) {
        low += number[k];
        low_sum += k * number[k];
        if (low == 0 || low == f->samples)
            continue;
        double mean = low_sum / low, above = (all - low_sum) / (f->samples - low);
        double between = low * (f->samples - low) * (above - mean) * (above - mean);
        if (between > best) {
            best = between;
            threshold = k;
            apart = mean / above;
        }
    }
    return best > 0 && apart <= 0.25 ? threshold : CLASSES - 1;
}

/* Phases are where the rate is above the threshold. */
static void phases_mark(finding_t *f, uint32_t threshold)
{
    f->phases = 0;
    for (uint32_t i = 0; i < f->samples; i++) {
        if (class_of(f, f->rate[i]) <= threshold)
            continue;
        if (f->phases > 0 && f->phase[f->phases - 1].end == i)
            f->phase[f->phases - 1].end++;
        else
            f->phase[f->phases++] = (themis_history_phase_t){.first = i, .end = i + 1};
    }
}

/* Joins phases with a pause between them: one shorter than a quarter of the pauses in which half of all idle time is
 * spent. */
static void pauses_join(finding_t *f)
{
    double idle = 0, seen = 0;
    uint32_t gaps = f->phases ? f->phases - 1 : 0, k = gaps, kept = 0;

    for (uint32_t i = 0; i < gaps; i++)
        idle += f->scratch[i] = f->phase[i + 1].first - f->phase[i].end;
    if (gaps == 0)
        return;
    qsort(f->scratch, gaps, sizeof *f->scratch, ascending);
    while (k > 0 && seen < idle / 2)
        seen += f->scratch[--k];
    double typical = f->scratch[k];
    for (uint32_t i = 1; i < f->phases; i++) {
        if (f->phase[i].first - f->phase[kept].end < typical / 4)
            f->phase[kept].end = f->phase[i].end;
        else
            f->phase[++kept] = f->phase[i];
    }
    f->phases = kept + 1;
}

/* What is moved in a sample between the phases: the mean, or the median, which a phase's faint ends do not move. */
static double background_find(finding_t *f, int mean)
{
    uint32_t quiet = 0, at = 0;
    double sum = 0;

    for (uint32_t i = 0; i <= f->phases; i++) {
        for (uint32_t end = i < f->phases ? f->phase[i].first : f->samples; at < end; at++) {
            f->scratch[quiet++] = f->rate[at];
            sum += f->rate[at];
        }
        at = i < f->phases ? f->phase[i].end : at;
    }
    return quiet == 0 ? 0 : mean ? sum / quiet : median(f->scratch, quiet);
}

/* A phase begins and ends where the rate is back at the background; and a sample further, which it may have in part. */
static void phases_widen(finding_t *f)
{
    double edge = fmax(3 * background_find(f, 0), f->high / 50);

    for (uint32_t i = 0; i < f->phases; i++) {
        themis_history_phase_t *phase = &f->phase[i];
        uint32_t low = i > 0 ? f->phase[i - 1].end : 0;
        uint32_t high = i + 1 < f->phases ? f->phase[i + 1].first : f->samples;

        while (phase->first > low && f->rate[phase->first - 1] > edge)
            phase->first--;
        while (phase->end < high && f->rate[phase->end] > edge)
            phase->end++;
        phase->first -= phase->first > low;
        phase->end += phase->end < high;
    }
}

static void phase_measure(const finding_t *f, themis_history_phase_t *phase)
{
    double moment = 0;

    phase->bytes = 0;
    for (uint32_t i = phase->first; i < phase->end; i++) {
        double moved = fmax(f->rate[i] - f->background, 0);

        phase->bytes += f->rate[i] - f->background;
        moment += moved * (i + 0.5);
    }
    double weight = 0;
    for (uint32_t i = phase->first; i < phase->end; i++)
        weight += fmax(f->rate[i] - f->background, 0);
    phase->centre = f->interval * (weight > 0 ? moment / weight : (phase->first + phase->end) / 2.0);
    phase->bytes = fmax(phase->bytes, 0);
}

/* Samples that the phase fills; of those that it has in part, the part. */
static double phase_length(const finding_t *f, const themis_history_phase_t *phase)
{
    double most = 0, length = 0;

    for (uint32_t i = phase->first; i < phase->end; i++)
        most = fmax(most, f->rate[i] - f->background);
    double full = fmin(most, fmax(f->high - f->background, 0));
    for (uint32_t i = phase->first; i < phase->end && full > 0; i++) {
        int inner = i > phase->first + 1 && i + 2 < phase->end;
        length += inner ? 1 : fmin(fmax(f->rate[i] - f->background, 0) / full, 1);
    }
    return length;
}

static void pattern_measure(finding_t *f, themis_history_phases_t *phases)
{
    double regular, alike, unused;

    for (uint32_t i = 1; i < f->phases; i++)
        f->scratch[i - 1] = f->phase[i].centre - f->phase[i - 1].centre;
    phases->period = trimmed_mean(f->scratch, f->phases - 1, &regular);
    for (uint32_t i = 0; i < f->phases; i++)
        f->scratch[i] = f->phase[i].bytes;
    phases->volume = trimmed_mean(f->scratch, f->phases, &alike);
    for (uint32_t i = 0; i < f->phases; i++)
        f->scratch[i] = phase_length(f, &f->phase[i]);
    phases->compute = fmax(phases->period - f->interval * trimmed_mean(f->scratch, f->phases, &unused), 0);
    phases->confidence = regular * alike * fmin(1, (f->phases - 1) / 4.0);
}

static void phases_measure(finding_t *f, themis_history_phases_t *phases)
{
    f->high = high_rate(f);
    if (f->high == 0)
        return;
    uint32_t threshold = threshold_find(f);
    if (threshold == CLASSES - 1)
        f->phase[f->phases++] = (themis_history_phase_t){.first = 0, .end = f->samples};
    else
        phases_mark(f, threshold);
    pauses_join(f);
    phases_widen(f);
    f->background = background_find(f, 1);
    for (uint32_t i = 0; i < f->phases; i++)
        phase_measure(f, &f->phase[i]);
    *phases = (themis_history_phases_t){.count = f->phases};
    if (f->phases < 3)
        return;
    phases->background = f->background / f->interval;
    pattern_measure(f, phases);
}

themis_status_t themis_history_phases_find(const themis_history_series_t *series, themis_history_phases_t *phases,
                                           themis_history_phase_t **phase)
{
    finding_t f = {.samples = series->count, .interval = series->interval};
    themis_status_t status = THEMIS_NO_MEMORY;

    *phases = (themis_history_phases_t){0};
    f.rate = calloc(f.samples + 1, sizeof *f.rate);
    f.scratch = calloc(f.samples + 1, sizeof *f.scratch);
    f.phase = calloc(f.samples + 1, sizeof *f.phase);
    if (f.rate && f.scratch && f.phase) {
        for (uint32_t i = 0; i < f.samples; i++)
            f.rate[i] = (double)series->sample[i].read_bytes + (double)series->sample[i].written_bytes;
        phases_measure(&f, phases);
        status = THEMIS_OK;
    }
    free(f.rate);
    free(f.scratch);
    if (status == THEMIS_OK && phase)
        *phase = f.phase;
    else
        free(f.phase);
    return status;
}

/* The samples that begin at `from` or later, borrowed from the series. */
static themis_history_series_t series_after(const themis_history_series_t *series, double from)
{
    double before = ceil((from - series->start) / series->interval);
    uint32_t first = before > 0 ? (uint32_t)fmin(before, series->count) : 0;
    themis_history_series_t rest = *series;

    rest.start += first * series->interval;
    rest.count -= first;
    rest.sample += rest.count ? first : 0;
    return rest;
}

themis_status_t themis_history_phases_recent(const themis_history_series_t *series, double since, double until,
                                             uint32_t periods, themis_history_phases_t *phases)
{
    *phases = (themis_history_phases_t){0};
    if (series->count == 0)
        return THEMIS_OK;
    themis_history_series_t recent = series_after(series, since);
    themis_status_t status = themis_history_phases_find(&recent, phases, NULL);
    if (status != THEMIS_OK || phases->count < 3)
        return status;
    if (until - (recent.start + recent.count * recent.interval) > 2 * phases->period) {
        *phases = (themis_history_phases_t){0};
        return THEMIS_OK;
    }
    recent = series_after(series, fmax(since, until - periods * phases->period));
    return themis_history_phases_find(&recent, phases, NULL);
}
