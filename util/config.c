/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/config.h"
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "util/clock.h"
#include "util/status.h"

typedef struct reading {
    const char *path;
    FILE *file;
    themis_util_config_entry_fn entry;
    void *arg;
    int line;   /* that was read last */
    int failed; /* line of the entry that was refused */
    themis_status_t status;
    char *error;
    size_t size;
} reading_t;

/* inih reads lines through this function, so that on_entry knows the number of the current one. */
static char *next_line(char *buffer, int size, void *arg)
{
    reading_t *reading = arg;
    char *line = fgets(buffer, size, reading->file);

    reading->line += line != NULL;
    return line;
}

static int on_entry(void *arg, const char *section, const char *key, const char *value)
{
    reading_t *reading = arg;

    if (reading->status != THEMIS_OK)
        return 0;
    if (!*section) {
        reading->status = THEMIS_PARSE;
        snprintf(reading->error, reading->size, "%s:%d: %s = %s stands before any [section]", reading->path,
                 reading->line, key, value);
    } else {
        reading->status = reading->entry(reading->arg, section, key, value, reading->line);
        if (reading->status == THEMIS_OK)
            return 1;
        snprintf(reading->error, reading->size, "%s:%d: [%s] %s = %s: %s", reading->path, reading->line, section, key,
                 value, themis_status_string(reading->status));
    }
    reading->failed = reading->line;
    return 0;
}

/* NULL: errno says why. Opening a directory succeeds, and reading it looks like an empty file. */
static FILE *file_open(const char *path)
{
    FILE *file = fopen(path, "re");
    struct stat kind;

    if (file && fstat(fileno(file), &kind) == 0 && S_ISDIR(kind.st_mode)) {
        fclose(file);
        errno = EISDIR;
        return NULL;
    }
    return file;
}

themis_status_t themis_util_config_read(const char *path, themis_util_config_entry_fn entry, void *arg, char *error,
                                        size_t size)
{
    reading_t reading = {.path = path, .entry = entry, .arg = arg, .error = error, .size = size};

    reading.file = file_open(path);
    if (!reading.file) {
        int cause = errno;
        snprintf(error, size, "%s: %s", path, strerror(cause));
        return themis_util_status_from_errno(cause);
    }
    int line = ini_parse_stream(next_line, &reading, on_entry, &reading);
    fclose(reading.file);
    /* inih continues after a line that it cannot parse, so an error in a later one may name the wrong section */
    if (line > 0 && (reading.status == THEMIS_OK || line < reading.failed)) {
        snprintf(error, size, "%s:%d: expected [section] or key = value", path, line);
        return THEMIS_PARSE;
    }
    return reading.status;
}

typedef struct unit {
    const char *name;
    double factor;
} unit_t;

/* A non-negative decimal number with optional fraction, white space and unit. */
static themis_status_t parse_with_unit(const char *text, const unit_t *units, uint64_t *result)
{
    char *unit;

    if (!isdigit((unsigned char)*text) && *text != '.')
        return THEMIS_PARSE;
    double number = strtod(text, &unit);
    if (unit == text || !isfinite(number))
        return THEMIS_PARSE;
    while (isspace((unsigned char)*unit))
        unit++;
    for (; units->name; units++)
        if (strcasecmp(unit, units->name) == 0) {
            number *= units->factor;
            if (number >= 9.2e18)
                return THEMIS_RANGE;
            *result = (uint64_t)llround(number);
            return THEMIS_OK;
        }
    return THEMIS_PARSE;
}

themis_status_t themis_util_config_bytes(const char *text, uint64_t *bytes)
{
    static const unit_t units[] = {{"", 1},         {"b", 1},       {"k", 0x1p10},   {"kb", 0x1p10},  {"kib", 0x1p10},
                                   {"m", 0x1p20},   {"mb", 0x1p20}, {"mib", 0x1p20}, {"g", 0x1p30},   {"gb", 0x1p30},
                                   {"gib", 0x1p30}, {"t", 0x1p40},  {"tb", 0x1p40},  {"tib", 0x1p40}, {NULL, 0}};
    return parse_with_unit(text, units, bytes);
}

themis_status_t themis_util_config_duration(const char *text, uint64_t *ns)
{
    static const unit_t units[] = {{"", 1e9},   {"s", 1e9},    {"ms", 1e6},   {"us", 1e3},    {"ns", 1},
                                   {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {NULL, 0}};
    return parse_with_unit(text, units, ns);
}

themis_status_t themis_util_config_integer(const char *text, int64_t low, int64_t high, int64_t *value)
{
    char *end;

    errno = 0;
    intmax_t number = strtoimax(text, &end, 10);
    if (end == text || *end)
        return THEMIS_PARSE;
    if (errno == ERANGE || number < low || number > high)
        return THEMIS_RANGE;
    *value = number;
    return THEMIS_OK;
}
