/* SPDX-License-Identifier: BSD-3-Clause */
/* themis history: what jobs did, from the records that servers keep. */
#define _GNU_SOURCE /* strptime */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "tools/command.h"
#include "tools/history_show.h"
#include "tools/options.h"
#include "tools/owner.h"
#include "util/clock.h"
#include "util/config.h"

typedef struct settings {
    const char *user, *application, *job, *since, *until, *output;
    themis_tools_texts_t directories;
    int json, csv;
    const char *name; /* of one job, or of an application */
    themis_tools_history_filter_t filter;
} settings_t;

/* "2026-11-24", "2026-11-24 10:30", or so long ago, "7d"; s since 1970. */
static int time_read(const char *option, const char *text, double *time)
{
    static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S",
                                          "%Y-%m-%dT%H:%M:%S"};
    uint64_t ago, now = themis_util_clock_wall();

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct tm parts = {.tm_isdst = -1};
        const char *end = strptime(text, formats[i], &parts);

        if (end && *end == '\0') {
            *time = (double)mktime(&parts);
            return THEMIS_TOOLS_OK;
        }
    }
    if (themis_util_config_duration(text, &ago) != THEMIS_OK)
        return themis_tools_misuse(
            "--%s %s: expected a time such as 2026-11-24, '2026-11-24 10:30' or, so long ago, 7d", option, text);
    *time = ((double)now - (double)ago) / 1e9;
    return THEMIS_TOOLS_OK;
}

static int filter_make(settings_t *s)
{
    int result = THEMIS_TOOLS_OK;
    uint32_t user = UINT32_MAX, group;

    s->filter = (themis_tools_history_filter_t){
        .application = s->application, .job = s->job, .user = -1, .since = 0, .until = INFINITY};
    if (s->user) {
        if (strchr(s->user, ':') || themis_tools_owner_parse(s->user, &user, &group) != THEMIS_TOOLS_OK)
            return themis_tools_misuse("--user %s: not a user", s->user);
        s->filter.user = user;
    }
    if (s->since)
        result = time_read("since", s->since, &s->filter.since);
    if (s->until && result == THEMIS_TOOLS_OK)
        result = time_read("until", s->until, &s->filter.until);
    return result;
}

static int is_named(const settings_t *s, const themis_history_record_t *record)
{
    return strcmp(record->job, s->name) == 0 || strcmp(record->application, s->name) == 0;
}

/* Leaves only what has the name: of a job, or else of an application. */
static int named_keep(const settings_t *s, themis_tools_history_t *history)
{
    size_t kept = 0;

    for (size_t i = 0; i < history->count; i++) {
        if (is_named(s, &history->entry[i].record))
            history->entry[kept++] = history->entry[i];
        else
            themis_history_series_release(&history->entry[i].series);
    }
    history->count = kept;
    return kept > 0 ? THEMIS_TOOLS_OK : themis_tools_error("there is no record of a job or application %s", s->name);
}

static int details_print(const themis_tools_history_t *history)
{
    int result = THEMIS_TOOLS_OK;

    for (size_t i = 0; i < history->count && result == THEMIS_TOOLS_OK; i++) {
        if (i > 0)
            putchar('\n');
        result = themis_tools_history_details(&history->entry[i]);
    }
    return result;
}

static int show(const settings_t *s, const themis_tools_history_t *history, int plot)
{
    if (plot)
        return themis_tools_history_draw(&history->entry[history->count - 1], s->output);
    if (s->json)
        return themis_tools_history_json(history, s->name != NULL);
    if (s->csv)
        return themis_tools_history_csv(history);
    if (s->name)
        return details_print(history);
    themis_tools_history_list(history);
    return THEMIS_TOOLS_OK;
}

/* Options may stand before and after the name. -1: wrong usage. */
static int arguments_read(settings_t *s, int argc, char **argv)
{
    const themis_tools_option_t options[] = {{0, "user", NULL, &s->user},
                                             {0, "application", NULL, &s->application},
                                             {0, "job", NULL, &s->job},
                                             {0, "since", NULL, &s->since},
                                             {0, "until", NULL, &s->until},
                                             {'o', "output", NULL, &s->output},
                                             {0, "json", &s->json, NULL},
                                             {0, "csv", &s->csv, NULL},
                                             {0, "directory", NULL, NULL, &s->directories},
                                             {0}};
    int at = themis_tools_options(argc, argv, options);

    if (at < 0 || at == argc)
        return at;
    s->name = argv[at];
    return themis_tools_options(argc - at, argv + at, options) == argc - at ? argc : -1;
}

static int run_history(int argc, char **argv)
{
    settings_t s = {0};
    themis_tools_history_t history = {0};
    int plot = argc > 1 && strcmp(argv[1], "plot") == 0;

    if (plot && argc == 3 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
        themis_tools_command_help(&themis_tools_history, stdout);
        return THEMIS_TOOLS_OK;
    }
    if (arguments_read(&s, argc - plot, argv + plot) < 0 || (plot && (!s.name || s.json || s.csv)) ||
        (!plot && s.output) || (s.json && s.csv))
        return themis_tools_usage();
    int result = filter_make(&s);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_history_read(&history, &s.directories, &s.filter);
    if (result == THEMIS_TOOLS_OK && s.name)
        result = named_keep(&s, &history);
    if (result == THEMIS_TOOLS_OK)
        result = show(&s, &history, plot);
    themis_tools_history_release(&history);
    return result;
}

const themis_tools_command_t themis_tools_history = {
    "history", "[plot] [OPTION]... [JOB or APPLICATION]",
    "Shows what jobs read and wrote, from the records that servers keep: all, or one in detail.",
    "  plot                       a picture of the last such job, its bandwidth over time, as SVG\n"
    "  --user NAME                only jobs of this user\n"
    "  --application NAME         only jobs of this application\n"
    "  --job JOB                  only the job of this name\n"
    "  --since TIME               only jobs that ended later: 2026-11-24, '2026-11-24 10:30', or 7d for a week ago\n"
    "  --until TIME               only jobs that began earlier\n"
    "  --directory DIR            where servers keep records, or a file of them; may be given several times\n"
    "  --json                     as JSON; of one job or application with what was moved over time\n"
    "  --csv                      as CSV\n"
    "  -o, --output FILE.svg      of plot (standard output)\n",
    run_history};
