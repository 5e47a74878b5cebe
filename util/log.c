/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/log.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 1024, NAME_BYTES = 32 };

static const char *const names[] = {"error", "warn", "info", "debug"};
static _Atomic int level_now = THEMIS_LOG_WARN;
static _Atomic int timestamps, journal;
static _Atomic int errors_fd = -1;
static const char priorities[] = "3467";     /* of syslog, by level */
static char name_now[NAME_BYTES] = "themis"; /* set before threads start */

void themis_util_log_set_level(themis_util_log_level_t level)
{
    level_now = level;
}

int themis_util_log_level_parse(const char *text, themis_util_log_level_t *level)
{
    for (int i = 0; i <= THEMIS_LOG_DEBUG; i++)
        if (strcmp(text, names[i]) == 0) {
            *level = (themis_util_log_level_t)i;
            return 0;
        }
    return -1;
}

void themis_util_log_set_name(const char *name)
{
    snprintf(name_now, sizeof name_now, "%s", name);
}

void themis_util_log_set_timestamps(int on)
{
    timestamps = on;
}

void themis_util_log_set_journal(int on)
{
    journal = on;
}

void themis_util_log_copy_errors(int fd)
{
    errors_fd = fd;
}

static int time_format(char *line)
{
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    int length = (int)strftime(line, LINE_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
    return length + snprintf(line + length, LINE_BYTES - length, ".%03ld ", now.tv_nsec / 1000000);
}

void themis_util_log(themis_util_log_level_t level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list list;

    if ((int)level > level_now)
        return;
    int length = 0;
    if (journal)
        length = snprintf(line, sizeof line, "<%c>", priorities[level]);
    else if (timestamps)
        length = time_format(line);
    length += snprintf(line + length, sizeof line - length, "%s: %s: ", name_now,
                       level == THEMIS_LOG_WARN ? "warning" : names[level]);
    va_start(list, format);
    int wanted = vsnprintf(line + length, sizeof line - length - 1, format, list);
    va_end(list);
    length += wanted < (int)sizeof line - length - 2 ? wanted : (int)sizeof line - length - 2;
    line[length++] = '\n';
    /* one write per line, so that lines of several ranks and threads do not mix */
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    int copy = level == THEMIS_LOG_ERROR ? errors_fd : -1;
    if (copy >= 0)
        written = write(copy, line, (size_t)length);
    (void)written; /* a failure cannot be reported anywhere */
}
