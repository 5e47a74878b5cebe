/* SPDX-License-Identifier: BSD-3-Clause */
/* themis top: jobs and servers, updated every second. */
#include <curses.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/format.h"
#include "tools/sessions.h"
#include "tools/statistics.h"

enum { LINE_BYTES = 256, COLUMNS = 80 };

/* A page of lines, on the screen or on standard output. */
typedef struct page {
    int on_screen, row, rows;
} page_t;

static size_t page_width(const page_t *page)
{
    return page->on_screen ? (size_t)COLS : COLUMNS;
}

/* A line that is too long is cut and ends with "..". Attributes count on the screen only. */
__attribute__((format(printf, 3, 4))) static void put_line(page_t *page, attr_t attributes, const char *format, ...)
{
    char line[LINE_BYTES];
    size_t max = page_width(page);
    va_list list;

    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (strlen(line) > max && max > 2)
        snprintf(line + max - 2, sizeof line - max + 2, "..");
    if (!page->on_screen) {
        puts(line);
    } else if (page->row < page->rows) {
        attron(attributes);
        mvaddnstr(page->row++, 0, line, COLS);
        attroff(attributes);
    }
}

static void put_head(page_t *page, const themis_tools_statistics_t *sample)
{
    char line[LINE_BYTES], sharing[LINE_BYTES / 2], clock[16];
    time_t now = time(NULL);
    struct tm local;
    const char *policy = "no server answers", *draw = "";
    uint32_t up = 0;

    for (uint32_t s = sample->servers; s-- > 0;)
        if (sample->server[s].reachable) {
            policy = sample->server[s].policy;
            draw = sample->server[s].draw;
            up++;
        }
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &local));
    int length = snprintf(line, sizeof line, "themis  %s  %u of %u server%s  %u job%s", clock, up, sample->servers,
                          sample->servers == 1 ? "" : "s", sample->count, sample->count == 1 ? "" : "s");
    snprintf(sharing, sizeof sharing, "%s%s%s", policy, *draw ? ", " : "", draw);
    /* A long policy has a line of its own. */
    int fits = (size_t)length + 2 + strlen(sharing) <= page_width(page);
    put_line(page, A_BOLD, "%s%s%s", line, fits ? "  " : "", fits ? sharing : "");
    if (!fits)
        put_line(page, A_BOLD, "%s", sharing);
}

static void put_servers(page_t *page, const themis_tools_statistics_t *sample, uint32_t max)
{
    char read[8], written[8], used[8], size[8], jobs[8], queued[8], since[THEMIS_TOOLS_SINCE_BYTES];

    put_line(page, A_REVERSE, "%3s %-26s %5s %7s %8s %8s %15s", "NO", "SERVER", "JOBS", "QUEUED", "READ/S", "WRITE/S",
             "STORE USED");
    for (uint32_t s = 0; s < sample->servers && s < max; s++) {
        const themis_tools_server_t *server = &sample->server[s];
        if (!server->reachable)
            put_line(page, A_BOLD, "%3u %-26.26s DOWN%s: %s", s, server->name,
                     themis_tools_format_since(server->down_since, since), server->error);
        else
            put_line(page, 0, "%3u %-26.26s %5s %7s %8s %8s %7s of %-5s", s, server->name,
                     themis_tools_format_count(server->jobs, jobs), themis_tools_format_count(server->queued, queued),
                     themis_tools_format_bytes(server->read_s, read),
                     themis_tools_format_bytes(server->written_s, written),
                     themis_tools_format_bytes(server->used, used), themis_tools_format_bytes(server->capacity, size));
    }
    if (sample->servers > max)
        put_line(page, 0, "    and %u more", sample->servers - max);
}

/* Milliseconds, with a decimal where there is room. */
static const char *wait_text(double ms, char *text)
{
    if (ms >= 9999.5)
        return themis_tools_format_count(ms, text);
    snprintf(text, 8, "%.1f", ms);
    return text;
}

static void put_jobs(page_t *page, const themis_tools_statistics_t *sample)
{
    char read[8], written[8], nodes[8], queued[8], wait[8];

    put_line(page, A_REVERSE, "%-18s %10s %5s %6s %6s %7s %7s %6s %7s", "JOB", "UID", "NODES", "DUE%", "GOT%", "READ/S",
             "WRITE/S", "QUEUED", "WAIT ms");
    for (uint32_t i = 0; i < sample->count; i++) {
        const themis_tools_job_t *job = &sample->job[i];
        /* A job that has requests queued and gets clearly less than its share is highlighted. */
        int bad = job->queued > 0 && job->got < 0.9 * job->due;
        put_line(page, bad ? A_BOLD : 0, "%-18.18s %10u %5s %6.1f %6.1f %7s %7s %6s %7s", job->id, job->uid,
                 themis_tools_format_count(job->nodes, nodes), 100 * job->due, 100 * job->got,
                 themis_tools_format_bytes(job->read_s, read), themis_tools_format_bytes(job->written_s, written),
                 themis_tools_format_count(job->queued, queued), wait_text(job->wait_ms, wait));
    }
}

static void put_page(page_t *page, const themis_tools_statistics_t *sample)
{
    uint32_t max = page->on_screen ? (uint32_t)(page->rows > 20 ? page->rows / 3 : 4) : UINT32_MAX;

    put_head(page, sample);
    put_line(page, 0, "%s", "");
    put_servers(page, sample, max);
    put_line(page, 0, "%s", "");
    put_jobs(page, sample);
}

static void put_json(const themis_tools_statistics_t *sample)
{
    json_t *json = themis_tools_statistics_json(sample);

    json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    fflush(stdout);
    json_decref(json);
}

static void show_screen(const themis_tools_statistics_t *sample)
{
    page_t page = {.on_screen = 1, .rows = LINES - 1};

    erase();
    put_page(&page, sample);
    attron(A_DIM);
    mvaddnstr(LINES - 1, 0, "q: quit   space: now", COLS);
    attroff(A_DIM);
    refresh();
}

static void open_screen(double interval)
{
    setlocale(LC_ALL, "");
    initscr();
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    timeout((int)(interval * 1000));
}

typedef struct top {
    int once, as_json;
    double interval;
} top_t;

/* Waits until the next page is due; returns 0 to end. */
static int page_await(const top_t *top)
{
    if (top->once || top->as_json) {
        usleep((useconds_t)(top->interval * 1e6));
        return !top->once;
    }
    int key = getch();
    return key != 'q' && key != 'Q' && key != 27;
}

static int pages_show(themis_t *session, const top_t *top)
{
    themis_tools_statistics_t before = {0}, sample;
    int on_screen = !top->once && !top->as_json, failed = themis_tools_statistics_take(session, NULL, 0, &before),
        goes_on = 1;

    /* Rates need two samples: the first page comes early. */
    usleep(top->once ? (useconds_t)(top->interval * 1e6) : 200000);
    if (on_screen)
        open_screen(top->interval);
    while (!failed && goes_on) {
        page_t page = {0};
        failed = themis_tools_statistics_take(session, &before, 1, &sample);
        if (failed)
            break;
        if (top->as_json)
            put_json(&sample);
        else if (top->once)
            put_page(&page, &sample);
        else
            show_screen(&sample);
        themis_tools_statistics_release(&before);
        before = sample;
        goes_on = !top->once && page_await(top);
    }
    if (on_screen)
        endwin();
    themis_tools_statistics_release(&before);
    return failed ? themis_tools_error("out of memory") : THEMIS_TOOLS_OK;
}

static int run_top(int argc, char **argv)
{
    const char *servers = NULL, *interval = "1";
    top_t top = {0};
    const themis_tools_option_t options[] = {{0, "once", &top.once, NULL},
                                             {0, "json", &top.as_json, NULL},
                                             {'d', "delay", NULL, &interval},
                                             {'s', "servers", NULL, &servers},
                                             {0}};
    themis_t *session;
    char *end;

    if (themis_tools_options(argc, argv, options) != argc)
        return themis_tools_usage();
    top.interval = strtod(interval, &end);
    if (*end != '\0' || !(top.interval >= 0.1 && top.interval <= 3600))
        return themis_tools_misuse("-d %s: expected seconds, 0.1 to 3600", interval);
    if (themis_tools_session_get(servers, &session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    return pages_show(session, &top);
}

const themis_tools_command_t themis_tools_top = {
    "top", "[--once] [--json] [-d SECONDS] [-s HOST:PORT,...]",
    "Shows jobs and servers live: share due and got, bytes/s, queues, waiting times.",
    "  --once      one page, as plain text (with --json one object)\n"
    "  --json      an object a line instead of pages\n"
    "  -d SECONDS  between pages (1)\n"
    "  -s LIST     these servers instead of those configured\n",
    run_top};
