/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memmem */
#include "tools/history_read.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/array.h"
#include "tools/command.h"
#include "util/config.h"

enum { PATH_BYTES = 4096, LINE_BYTES = THEMIS_HISTORY_RECORD_MOST + 2 };

/* An entry's place is the number of its file times this, and where its line begins. */
static const uint64_t file_places = UINT64_C(1) << 44;

typedef themis_tools_history_t history_t;

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* A file that is being read, and the line in it. */
typedef struct reading {
    const char *path;
    uint32_t source;
    size_t line;
    uint64_t place;
} reading_t;

static void line_skip(history_t *h, const reading_t *r, const char *reason)
{
    if (h->skipped++ == 0)
        snprintf(h->fault, sizeof h->fault, "%s:%zu: %s", r->path, r->line, reason);
}

static int is_wanted(const history_t *h, const themis_history_record_t *record)
{
    const themis_tools_history_filter_t *f = &h->filter;

    return (!f->application || strcmp(f->application, record->application) == 0) &&
           (!f->job || strcmp(f->job, record->job) == 0) && (f->user < 0 || f->user == record->user) &&
           (!f->name || strcmp(f->name, record->job) == 0 || strcmp(f->name, record->application) == 0) &&
           record->end >= f->since && record->start <= f->until;
}

static int has_series(const history_t *h)
{
    return h->filter.name || h->filter.series;
}

/* A name that JSON writes with escapes is not there as it is: such lines are always parsed. */
static int may_be_wanted(const history_t *h, const char *line, size_t length)
{
    const themis_tools_history_filter_t *f = &h->filter;

    if (memchr(line, '\\', length))
        return 1;
    return (!f->application || memmem(line, length, f->application, strlen(f->application))) &&
           (!f->job || memmem(line, length, f->job, strlen(f->job))) &&
           (!f->name || memmem(line, length, f->name, strlen(f->name)));
}

static int line_take(history_t *h, const reading_t *r, char *line, size_t length)
{
    themis_history_entry_t entry = {.source = r->source, .place = r->place};
    char error[256];

    if (length == 0 || !may_be_wanted(h, line, length))
        return THEMIS_TOOLS_OK;
    if (!has_series(h))
        length = themis_history_record_cut(line, length);
    if (themis_history_record_decode(line, length, &entry.record, &entry.series, error, sizeof error) != THEMIS_OK) {
        line_skip(h, r, error);
        return THEMIS_TOOLS_OK;
    }
    void *room = is_wanted(h, &entry.record)
                     ? themis_tools_array_room(h->entry, h->count, &h->capacity, sizeof *h->entry)
                     : NULL;
    if (room) {
        h->entry = room;
        h->entry[h->count++] = entry;
        return THEMIS_TOOLS_OK;
    }
    themis_history_series_release(&entry.series);
    return is_wanted(h, &entry.record) ? themis_tools_error("out of memory") : THEMIS_TOOLS_OK;
}

/* To the end of a line that is too long. */
static void line_pass(FILE *file)
{
    int byte;

    while ((byte = fgetc(file)) != '\n' && byte != EOF)
        ;
}

static int lines_read(history_t *h, FILE *file, reading_t *r)
{
    static char line[LINE_BYTES];
    int result = THEMIS_TOOLS_OK;

    for (r->line = 1; result == THEMIS_TOOLS_OK && fgets(line, sizeof line, file); r->line++) {
        size_t length = strlen(line);
        int whole = length > 0 && line[length - 1] == '\n';

        if (whole) {
            result = line_take(h, r, line, length - 1);
            r->place += length;
        } else if (!feof(file)) {
            line_skip(h, r, "a line that is too long, or has zeros");
            if (ftello(file) - (off_t)(r->place % file_places) == LINE_BYTES - 1) /* else its end has been read */
                line_pass(file);
            r->place = r->place / file_places * file_places + (uint64_t)ftello(file);
        }
    }
    return result;
}

/* Reads the series of an entry from where it was found; there is none if the file has gone or changed. */
static void on_load(void *arg, themis_history_entry_t *entry)
{
    static char line[LINE_BYTES];
    const history_t *h = arg;
    themis_history_record_t record;
    themis_history_series_t series;
    char error[256];
    FILE *file = fopen(h->file[entry->place / file_places], "re");

    if (!file)
        return;
    if (fseeko(file, (off_t)(entry->place % file_places), SEEK_SET) == 0 && fgets(line, sizeof line, file) &&
        themis_history_record_decode(line, strlen(line), &record, &series, error, sizeof error) == THEMIS_OK) {
        if (record.start == entry->record.start && strcmp(record.job, entry->record.job) == 0)
            entry->series = series;
        else
            themis_history_series_release(&series);
    }
    fclose(file);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Appends a text; 0: no memory. */
static int text_add(char ***texts, size_t *count, size_t *capacity, const char *text, size_t length)
{
    char **room = themis_tools_array_room(*texts, *count, capacity, sizeof **texts);

    if (!room)
        return 0;
    *texts = room;
    room[*count] = strndup(text, length);
    return room[*count] && ++*count;
}

/* The number of the server of this name; a new one gets the next. UINT32_MAX: no memory. */
static uint32_t source_find(history_t *h, const char *name, size_t length)
{
    for (size_t i = 0; i < h->sources; i++)
        if (strlen(h->source[i]) == length && strncmp(h->source[i], name, length) == 0)
            return (uint32_t)i;
    return text_add(&h->source, &h->sources, &h->source_capacity, name, length) ? (uint32_t)h->sources - 1 : UINT32_MAX;
}

/* Bytes of the server's name in that of a file: NAME-SECONDS.jsonl, NAME.NUMBER.running; 0: it is another file. */
static size_t name_length(const char *file)
{
    const char *end = strrchr(file, '.'), *at = end;

    if (!end || (strcmp(end, ".jsonl") != 0 && strcmp(end, ".running") != 0))
        return 0;
    while (at > file && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at > file && at < end && at[-1] == (end[1] == 'j' ? '-' : '.') ? (size_t)(at - file - 1) : 0;
}

static int file_read(history_t *h, const char *path, uint32_t source)
{
    reading_t r = {.path = path, .source = source, .place = h->files * file_places};
    struct stat status;
    FILE *file;

    if (source == UINT32_MAX || !text_add(&h->file, &h->files, &h->file_capacity, path, strlen(path)))
        return themis_tools_error("out of memory");
    file = fopen(path, "re");
    if (!file) /* it may have been replaced or removed meanwhile */
        return errno == ENOENT || errno == EACCES ? THEMIS_TOOLS_OK : themis_tools_error_errno(path);
    int result = THEMIS_TOOLS_OK;
    h->readable = 1;
    /* nothing that ended later is in it */
    if (fstat(fileno(file), &status) != 0 || (double)status.st_mtime + 1 >= h->filter.since)
        result = lines_read(h, file, &r);
    fclose(file);
    return result;
}

/* The records of running jobs first: one that ends meanwhile is then found among the others. */
static int files_read(history_t *h, const char *path, char kind)
{
    DIR *files = opendir(path);
    const struct dirent *entry;
    int result = THEMIS_TOOLS_OK;
    char file[PATH_BYTES];

    if (!files)
        return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? THEMIS_TOOLS_OK
                                                                      : themis_tools_error_errno(path);
    h->readable = 1;
    while (result == THEMIS_TOOLS_OK && (entry = readdir(files))) {
        size_t length = name_length(entry->d_name);

        if (length == 0 || strrchr(entry->d_name, '.')[1] != kind ||
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name) >= (int)sizeof file)
            continue;
        result = file_read(h, file, source_find(h, entry->d_name, length));
    }
    closedir(files);
    return result;
}

static int user_read(history_t *h, const char *directory, const char *user)
{
    char path[PATH_BYTES];

    if (snprintf(path, sizeof path, "%s/%s", directory, user) >= (int)sizeof path)
        return THEMIS_TOOLS_OK;
    int result = files_read(h, path, 'r');
    return result == THEMIS_TOOLS_OK ? files_read(h, path, 'j') : result;
}

/* Where the directory cannot be listed, what is the user's own can be read nevertheless. */
static int users_read(history_t *h, const char *directory)
{
    DIR *users = opendir(directory);
    const struct dirent *entry;
    int result = THEMIS_TOOLS_OK, found = 0;
    char own[16];

    if (!users && errno != EACCES)
        return themis_tools_error_errno(directory);
    if (!users) {
        snprintf(own, sizeof own, "%u", (unsigned)geteuid());
        return user_read(h, directory, own);
    }
    while (result == THEMIS_TOOLS_OK && (entry = readdir(users)))
        if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name)) {
            result = user_read(h, directory, entry->d_name);
            found = 1;
        }
    closedir(users);
    h->readable |= !found; /* there is nothing yet */
    return result;
}

static int source_read(history_t *h, const char *path)
{
    struct stat status;

    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
        return file_read(h, path, source_find(h, path, strlen(path)));
    return users_read(h, path);
}

/* --- the directory of the configuration --------------------------------------------------------------------------- */

/* PATH_BYTES of text. */
static themis_status_t on_entry(void *arg, const char *section, const char *key, const char *value, int line)
{
    if (strcmp(section, "history") == 0 && strcmp(key, "history") == 0)
        snprintf(arg, PATH_BYTES, "%s", value);
    return THEMIS_OK;
}

static int configuration_read(char directory[PATH_BYTES])
{
    const char *named = themis_util_config_env("THEMIS_CONFIG"), *home = themis_util_config_env("HOME");
    char own[PATH_BYTES], error[512];
    const char *const paths[] = {named ? named : own, named ? NULL : "/etc/themis/themis.conf"};

    *directory = '\0';
    snprintf(own, sizeof own, "%s/.config/themis.conf", home ? home : "");
    for (size_t i = 0; i < 2 && paths[i] && !*directory; i++) {
        themis_status_t status = themis_util_config_read(paths[i], on_entry, directory, error, sizeof error);
        if (status != THEMIS_OK && (named || status != THEMIS_NO_ENTRY))
            return themis_tools_error("%s", error);
    }
    if (*directory)
        return THEMIS_TOOLS_OK;
    return themis_tools_misuse("no directory: give --directory, or set [history] history in the configuration file");
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static int start_compare(const void *a, const void *b)
{
    const themis_history_entry_t *x = a, *y = b;

    return (x->record.start > y->record.start) - (x->record.start < y->record.start);
}

static int entries_finish(history_t *h)
{
    const themis_history_loader_t loader = {on_load, h};

    if (h->skipped == 1)
        themis_tools_note("one line is skipped: %s", h->fault);
    else if (h->skipped > 1)
        themis_tools_note("%zu lines are skipped; the first: %s", h->skipped, h->fault);
    if (!h->readable)
        return themis_tools_error("there are no records that you may read");
    if (h->count == 0)
        return THEMIS_TOOLS_OK;
    if (themis_history_merge(h->entry, &h->count, has_series(h) ? NULL : &loader) != THEMIS_OK)
        return themis_tools_error("out of memory");
    qsort(h->entry, h->count, sizeof *h->entry, start_compare);
    return THEMIS_TOOLS_OK;
}

int themis_tools_history_read(history_t *h, const themis_tools_texts_t *directories,
                              const themis_tools_history_filter_t *filter)
{
    char directory[PATH_BYTES];
    int result = THEMIS_TOOLS_OK;

    h->filter = *filter;
    if (directories->count == 0)
        result = configuration_read(directory);
    if (directories->count == 0 && result == THEMIS_TOOLS_OK)
        result = source_read(h, directory);
    for (int i = 0; i < directories->count && result == THEMIS_TOOLS_OK; i++)
        result = source_read(h, directories->texts[i]);
    return result == THEMIS_TOOLS_OK ? entries_finish(h) : result;
}

void themis_tools_history_release(history_t *h)
{
    for (size_t i = 0; i < h->count; i++)
        themis_history_series_release(&h->entry[i].series);
    for (size_t i = 0; i < h->sources; i++)
        free(h->source[i]);
    for (size_t i = 0; i < h->files; i++)
        free(h->file[i]);
    free(h->entry);
    free(h->file);
    free(h->source);
    *h = (history_t){0};
}
