/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/history_show.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json.h"
#include "tools/owner.h"

typedef themis_history_record_t record_t;

enum { TIME_BYTES = 32, TEXT_BYTES = 8 };

/* --- texts -------------------------------------------------------------------------------------------------------- */

static const char *time_text(double time, const char *format, char text[TIME_BYTES])
{
    time_t seconds = (time_t)time;
    struct tm parts;

    if (!localtime_r(&seconds, &parts) || strftime(text, TIME_BYTES, format, &parts) == 0)
        strcpy(text, "?");
    return text;
}

/* "1.94s", "4m05s", "3h07m", "2d03h". */
static const char *duration_text(double s, char text[TIME_BYTES])
{
    static const struct {
        double unit;
        const char *format;
    } units[] = {{86400, "%.0fd%02.0fh"}, {3600, "%.0fh%02.0fm"}, {60, "%.0fm%02.0fs"}};
    static const double parts[] = {3600, 60, 1};

    if (s < 60) {
        snprintf(text, TIME_BYTES, "%.2fs", s);
        return text;
    }
    for (size_t i = 0; i < 3; i++)
        if (s >= units[i].unit) {
            double whole = floor(s / units[i].unit);
            snprintf(text, TIME_BYTES, units[i].format, whole, floor((s - whole * units[i].unit) / parts[i]));
            break;
        }
    return text;
}

static int is_periodic(const record_t *record)
{
    return record->phases.count >= 3 && record->phases.confidence >= 0.5;
}

/* --- the list ----------------------------------------------------------------------------------------------------- */

void themis_tools_history_list(const themis_tools_history_t *history)
{
    char user[THEMIS_TOOLS_OWNER_TEXT], start[TIME_BYTES], length[TIME_BYTES], period[TIME_BYTES];
    char read[TEXT_BYTES], written[TEXT_BYTES], peak[TEXT_BYTES];

    printf("%-16s %8s %-8s %5s %6s %6s %7s %-7s %8s %-16s %s\n", "START", "TIME", "USER", "NODES", "READ", "WRITTEN",
           "PEAK/S", "SHARING", "PERIOD", "APPLICATION", "JOB");
    for (size_t i = 0; i < history->count; i++) {
        const record_t *r = &history->entry[i].record;

        printf("%-16s %7s%c %-8s %5u %6s %7s %6s %-7s %8s ", time_text(r->start, "%Y-%m-%d %H:%M", start),
               duration_text(r->end - r->start, length), r->interim ? '+' : ' ',
               themis_tools_owner_user(r->user, 0, user), r->nodes,
               themis_tools_format_bytes((double)r->read_bytes, read),
               themis_tools_format_bytes((double)r->written_bytes, written),
               themis_tools_format_bytes(r->peak_bandwidth, peak), themis_history_sharing_name(r->sharing),
               is_periodic(r) ? duration_text(r->phases.period, period) : "-");
        themis_tools_format_name(r->application, stdout);
        printf("%*s ", (int)(strlen(r->application) < 16 ? 16 - strlen(r->application) : 0), "");
        themis_tools_format_name(*r->job ? r->job : "-", stdout);
        putchar('\n');
    }
}

/* --- one job ------------------------------------------------------------------------------------------------------ */

/* The size below which half of the requests are, as a power of two; -1: there are none. */
static int median_size(const record_t *r)
{
    uint64_t all = 0, seen = 0;

    for (int k = 0; k < THEMIS_HISTORY_SIZES; k++)
        all += r->request_sizes[k];
    for (int k = 0; k < THEMIS_HISTORY_SIZES && all > 0; k++)
        if ((seen += r->request_sizes[k]) * 2 >= all)
            return k;
    return -1;
}

static void who_print(const record_t *r)
{
    char user[THEMIS_TOOLS_OWNER_TEXT], start[TIME_BYTES], end[TIME_BYTES], length[TIME_BYTES];

    fputs("job          ", stdout);
    themis_tools_format_name(*r->job ? r->job : "-", stdout);
    fputs("\napplication  ", stdout);
    themis_tools_format_name(r->application, stdout);
    printf("\nuser         %s", themis_tools_owner_user(r->user, 0, user));
    if (*r->project) {
        fputs(", project ", stdout);
        themis_tools_format_name(r->project, stdout);
    }
    printf("\ntime         %s to %s, %s%s\n", time_text(r->start, "%Y-%m-%d %H:%M:%S", start),
           time_text(r->end, "%Y-%m-%d %H:%M:%S", end), duration_text(r->end - r->start, length),
           r->interim ? "; it had not ended" : "");
    printf("nodes        %u, of these %u with I/O; %u clients, %u server%s\n", r->nodes, r->io_nodes, r->clients,
           r->servers, r->servers == 1 ? "" : "s");
}

static void moved_print(const record_t *r)
{
    char read[TEXT_BYTES], written[TEXT_BYTES], peak[TEXT_BYTES], node[TEXT_BYTES], size[TEXT_BYTES];
    int median = median_size(r);

    printf("read         %s\nwritten      %s\npeak         %s/s, %s/s for each node with I/O\n",
           themis_tools_format_bytes((double)r->read_bytes, read),
           themis_tools_format_bytes((double)r->written_bytes, written),
           themis_tools_format_bytes(r->peak_bandwidth, peak),
           themis_tools_format_bytes(r->peak_bandwidth / (r->io_nodes ? r->io_nodes : 1), node));
    printf("requests     %llu, of these %llu of metadata", (unsigned long long)r->requests,
           (unsigned long long)r->metadata_operations);
    if (median >= 0)
        printf("; half of the others below %s", themis_tools_format_bytes(ldexp(1, median + 1), size));
    printf("\nwaiting      %.3g requests, of these %.3g of metadata, on average in a server\nfiles        %u, %s\n",
           r->queue_length, r->metadata_waiting, r->files, themis_history_sharing_name(r->sharing));
}

static void phases_print(const record_t *r)
{
    char period[TIME_BYTES], compute[TIME_BYTES], volume[TEXT_BYTES], background[TEXT_BYTES];

    printf("phases       %u", r->phases.count);
    if (r->phases.count >= 3)
        printf("; one every %s (%.1f s) of %s, with %s between them and %s/s in the background; confidence %.2f",
               duration_text(r->phases.period, period), r->phases.period,
               themis_tools_format_bytes(r->phases.volume, volume), duration_text(r->phases.compute, compute),
               themis_tools_format_bytes(r->phases.background, background), r->phases.confidence);
    putchar('\n');
}

int themis_tools_history_details(const themis_history_entry_t *entry)
{
    const themis_history_series_t *series = &entry->series;
    themis_history_phases_t found;
    themis_history_phase_t *phase;
    char bytes[TEXT_BYTES];

    who_print(&entry->record);
    moved_print(&entry->record);
    phases_print(&entry->record);
    if (themis_history_phases_find(series, &found, &phase) != THEMIS_OK)
        return themis_tools_error("out of memory");
    for (uint32_t i = 0; i < found.count; i++)
        printf("%s%10.1f s to %10.1f s   %6s\n", i == 0 ? "             after the start\n" : "",
               fmax(series->start + phase[i].first * series->interval - entry->record.start, 0),
               series->start + phase[i].end * series->interval - entry->record.start,
               themis_tools_format_bytes(phase[i].bytes, bytes));
    free(phase);
    return THEMIS_TOOLS_OK;
}

/* --- for other programs ------------------------------------------------------------------------------------------- */

/* NULL with a message. */
static json_t *record_json(const themis_history_entry_t *entry, int series)
{
    char *text = NULL, error[256];
    json_t *json = NULL;

    if (themis_history_record_encode(&entry->record, series ? &entry->series : NULL, &text, error, sizeof error) ==
        THEMIS_OK)
        json = json_loads(text, 0, NULL);
    else
        themis_tools_error("%s", error);
    free(text);
    return json;
}

int themis_tools_history_json(const themis_tools_history_t *history, int series)
{
    json_t *array = json_array();

    for (size_t i = 0; i < history->count; i++)
        if (json_array_append_new(array, record_json(&history->entry[i], series)) != 0) {
            json_decref(array);
            return THEMIS_TOOLS_FAILED;
        }
    themis_tools_json_print(array);
    return THEMIS_TOOLS_OK;
}

/* A spreadsheet takes text that begins so as a formula: an apostrophe in front keeps it text. */
static void csv_text(const char *text)
{
    const char *guard = *text && strchr("=+-@", *text) ? "'" : "";

    if (!strpbrk(text, ",\"")) {
        fputs(guard, stdout);
        fputs(text, stdout);
        return;
    }
    putchar('"');
    fputs(guard, stdout);
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void csv_value(const json_t *value)
{
    if (json_is_string(value))
        csv_text(json_string_value(value));
    else if (json_is_integer(value))
        printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        printf("%.15g", json_real_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "true" : "false", stdout);
}

/* All plain values of an object, or their names; those of an object in it follow, after its name. */
static void csv_object(const json_t *object, const char *prefix, int names)
{
    const char *name;
    json_t *value;
    char inner[64];

    json_object_foreach((json_t *)object, name, value)
    {
        if (json_is_array(value))
            continue;
        snprintf(inner, sizeof inner, "%s%s", name, "_");
        if (json_is_object(value)) {
            csv_object(value, inner, names);
            continue;
        }
        if (*prefix || strcmp(name, "version") != 0)
            putchar(',');
        if (names)
            printf("%s%s", prefix, name);
        else
            csv_value(value);
    }
    if (!*prefix)
        putchar('\n');
}

int themis_tools_history_csv(const themis_tools_history_t *history)
{
    const themis_history_entry_t none = {.record = {.application = "none", .collective = -1}};
    json_t *json = record_json(&none, 0);

    for (size_t i = 0; json && i <= history->count; i++) {
        csv_object(json, "", i == 0);
        json_decref(json);
        json = i < history->count ? record_json(&history->entry[i], 0) : NULL;
        if (!json && i < history->count)
            return THEMIS_TOOLS_FAILED;
    }
    return THEMIS_TOOLS_OK;
}
