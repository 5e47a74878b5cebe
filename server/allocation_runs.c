/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/allocation_runs.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <xxhash.h>
#include "dfra/run.h"
#include "history/merge.h"
#include "server/history_files.h"
#include "util/log.h"

enum { PATH = THEMIS_SERVER_HISTORY_PATH, LINE_BYTES = THEMIS_HISTORY_RECORD_MOST + 2 };
/* Runs that are told apart, so that several servers' records of one count once. */
enum { MOST_SEEN = 1 << 20 };

typedef themis_server_allocation_runs_t runs_t;

/* What has been read of a file. */
typedef struct file {
    uint64_t path; /* hash */
    off_t read;
    UT_hash_handle hh;
} file_t;

typedef struct seen {
    uint64_t run; /* hash */
    UT_hash_handle hh;
} seen_t;

/* The last run of an application, a user (or of any) and a number of nodes. */
typedef struct entry {
    uint64_t key;
    uint64_t job; /* hash */
    double start, end;
    themis_dfra_application_t run;
    /* Servers tell of the same time, whose peaks add up, and one of times after each other, of which the larger peaks
     * count: those of the last time, and the largest of the ones before. */
    double last_start, last_end, bandwidth, iops, bandwidth_before, iops_before;
    UT_hash_handle hh;
} entry_t;

struct themis_server_allocation_runs {
    char *directories; /* owned; each ends with a zero, and the last with two */
    pthread_mutex_t lock;
    entry_t *entries; /* guarded by lock */
    _Atomic int read;
    /* of refresh */
    file_t *files;
    seen_t *seen;
    char *line; /* [LINE_BYTES] */
    const _Atomic int *stop;
    int warned;
    const char *unreadable; /* guarded by lock; the first directory that cannot be read, in `directories`; or NULL */
    uint64_t told;          /* of the first 64 directories, a bit each: it is known that they cannot be read */
};

/* --- hashes ------------------------------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return XXH3_64bits_withSeed(text, strlen(text), seed);
}

/* `uid` -1: of any user. */
static uint64_t key_of(const char *application, int64_t uid, uint32_t nodes)
{
    uint64_t words[2] = {(uint64_t)uid, nodes};

    return hash_text(application, XXH3_64bits(words, sizeof words));
}

static uint64_t job_of(const themis_history_record_t *record)
{
    return hash_text(record->application, hash_text(record->job, record->user));
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

static entry_t *entry_get(runs_t *runs, uint64_t key)
{
    entry_t *entry;

    HASH_FIND(hh, runs->entries, &key, sizeof key, entry);
    if (entry || HASH_COUNT(runs->entries) >= THEMIS_SERVER_ALLOCATION_RUNS_MOST)
        return entry;
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->key = key;
    HASH_ADD(hh, runs->entries, key, sizeof entry->key, entry);
    if (entry->hh.tbl)
        return entry;
    free(entry);
    return NULL;
}

static int is_same_run(const entry_t *entry, uint64_t job, const themis_history_record_t *record)
{
    return entry->run.records > 0 && entry->job == job && record->start <= entry->end + THEMIS_HISTORY_MERGE_SECONDS &&
           entry->start <= record->end + THEMIS_HISTORY_MERGE_SECONDS;
}

static void peaks_add(entry_t *entry, const themis_history_record_t *record, const themis_dfra_application_t *run)
{
    if (record->end <= entry->last_start) {
        entry->bandwidth_before += run->peak_bandwidth;
        entry->iops_before += run->peak_iops;
    } else if (record->start >= entry->last_end) {
        entry->bandwidth_before = fmax(entry->bandwidth_before, entry->bandwidth);
        entry->iops_before = fmax(entry->iops_before, entry->iops);
        entry->bandwidth = run->peak_bandwidth;
        entry->iops = run->peak_iops;
        entry->last_start = record->start;
        entry->last_end = record->end;
    } else {
        entry->bandwidth += run->peak_bandwidth;
        entry->iops += run->peak_iops;
        entry->last_start = fmin(entry->last_start, record->start);
        entry->last_end = fmax(entry->last_end, record->end);
    }
    entry->run.peak_bandwidth = fmax(entry->bandwidth, entry->bandwidth_before);
    entry->run.peak_iops = fmax(entry->iops, entry->iops_before);
}

static void entry_begin(entry_t *entry, uint64_t job, const themis_history_record_t *record,
                        const themis_dfra_application_t *run)
{
    entry->job = job;
    entry->start = entry->last_start = record->start;
    entry->end = entry->last_end = record->end;
    entry->run = *run;
    entry->bandwidth = run->peak_bandwidth;
    entry->iops = run->peak_iops;
    entry->bandwidth_before = entry->iops_before = 0;
}

/* `fresh`: no server's record of the run has been seen before. */
static void entry_add(runs_t *runs, int64_t uid, const themis_history_record_t *record,
                      const themis_dfra_application_t *run, int fresh)
{
    entry_t *entry = entry_get(runs, key_of(record->application, uid, record->nodes));
    uint64_t job = job_of(record);

    if (!entry)
        return;
    if (is_same_run(entry, job, record)) {
        themis_dfra_run_add(&entry->run, run);
        peaks_add(entry, record, run);
        entry->start = fmin(entry->start, record->start);
        entry->end = fmax(entry->end, record->end);
        entry->run.duration = entry->end - entry->start;
        return;
    }
    uint32_t records = entry->run.records + (fresh || entry->run.records == 0);
    if (entry->run.records == 0 || record->end >= entry->end)
        entry_begin(entry, job, record, run);
    entry->run.records = records;
}

/* 1: it was not there. Beyond MOST_SEEN each record counts as a run. */
static int seen_add(runs_t *runs, const themis_history_record_t *record)
{
    /* servers see a job begin within seconds, and a job's id may come again */
    uint64_t words[2] = {job_of(record), (uint64_t)(record->start / THEMIS_HISTORY_MERGE_SECONDS)};
    uint64_t run = XXH3_64bits(words, sizeof words);
    seen_t *seen;

    HASH_FIND(hh, runs->seen, &run, sizeof run, seen);
    if (seen)
        return 0;
    seen = HASH_COUNT(runs->seen) < MOST_SEEN ? calloc(1, sizeof *seen) : NULL;
    if (!seen)
        return 1;
    seen->run = run;
    HASH_ADD(hh, runs->seen, run, sizeof seen->run, seen);
    if (!seen->hh.tbl)
        free(seen);
    return 1;
}

void themis_server_allocation_runs_find(runs_t *runs, const char *application, int64_t uid, uint32_t nodes,
                                        themis_dfra_application_t *known)
{
    uint64_t key = key_of(application, uid, nodes);
    entry_t *entry;

    pthread_mutex_lock(&runs->lock);
    HASH_FIND(hh, runs->entries, &key, sizeof key, entry);
    *known = entry ? entry->run : (themis_dfra_application_t){0};
    pthread_mutex_unlock(&runs->lock);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void line_take(runs_t *runs, const char *path, char *line, size_t length)
{
    themis_history_record_t record;
    themis_dfra_application_t run;
    char error[256];

    length = themis_history_record_cut(line, length);
    if (length == 0)
        return;
    if (themis_history_record_decode(line, length, &record, NULL, error, sizeof error) != THEMIS_OK ||
        (!record.interim && themis_dfra_run_take(&record, &run, error, sizeof error) != THEMIS_OK)) {
        if (!runs->warned)
            themis_warn("%s: a record is left out: %s; no more is said of others", path, error);
        runs->warned = 1;
        return;
    }
    if (record.interim)
        return;
    int fresh = seen_add(runs, &record);
    pthread_mutex_lock(&runs->lock);
    entry_add(runs, record.user, &record, &run, fresh);
    entry_add(runs, -1, &record, &run, fresh);
    pthread_mutex_unlock(&runs->lock);
}

/* The whole lines from where it was read up to. One that is too long is passed over. */
static void lines_read(runs_t *runs, const char *path, FILE *in, file_t *file)
{
    int passing = 0;

    if (fseeko(in, file->read, SEEK_SET) != 0)
        return;
    while (!atomic_load(runs->stop) && fgets(runs->line, LINE_BYTES, in)) {
        size_t length = strlen(runs->line);
        int whole = length > 0 && runs->line[length - 1] == '\n';

        if (!whole && feof(in))
            break; /* it is being written */
        if (whole && !passing)
            line_take(runs, path, runs->line, length - 1);
        passing = !whole;
        file->read = ftello(in);
    }
}

static file_t *file_get(runs_t *runs, const char *path)
{
    uint64_t hash = hash_text(path, 0);
    file_t *file;

    HASH_FIND(hh, runs->files, &hash, sizeof hash, file);
    if (file)
        return file;
    file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->path = hash;
    HASH_ADD(hh, runs->files, path, sizeof file->path, file);
    if (file->hh.tbl)
        return file;
    free(file);
    return NULL;
}

static void file_read(runs_t *runs, const char *path)
{
    struct stat status;
    file_t *file = file_get(runs, path);

    if (!file || stat(path, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == file->read)
        return;
    if (status.st_size < file->read)
        file->read = status.st_size; /* it was cut: what is appended is new */
    FILE *in = fopen(path, "re");
    if (!in)
        return;
    lines_read(runs, path, in, file);
    fclose(in);
}

typedef struct reading {
    runs_t *runs;
    const char *directory;
    int failed; /* errno; a part of it cannot be read */
} reading_t;

static void user_read(void *arg, uint32_t user)
{
    reading_t *reading = arg;
    char path[PATH];
    const struct dirent *entry;

    snprintf(path, sizeof path, "%s/%u", reading->directory, user);
    DIR *files = opendir(path);
    if (!files && errno != ENOENT)
        reading->failed = errno;
    while (files && !atomic_load(reading->runs->stop) && (entry = readdir(files))) {
        const char *end = strrchr(entry->d_name, '.');

        if (end && strcmp(end, ".jsonl") == 0 &&
            snprintf(path, sizeof path, "%s/%u/%s", reading->directory, user, entry->d_name) < (int)sizeof path)
            file_read(reading->runs, path);
    }
    if (files)
        closedir(files);
}

static void directory_read(reading_t *reading)
{
    DIR *probe = opendir(reading->directory);

    if (!probe) {
        reading->failed = errno;
        return;
    }
    closedir(probe);
    themis_server_history_files_users(reading->directory, user_read, reading);
}

void themis_server_allocation_runs_refresh(runs_t *runs, const _Atomic int *stop)
{
    const char *unreadable = NULL;
    uint64_t bit = 1;

    runs->stop = stop;
    for (const char *at = runs->directories; *at; at += strlen(at) + 1, bit <<= 1) {
        reading_t reading = {runs, at, 0};

        directory_read(&reading);
        if (reading.failed && !(runs->told & bit))
            themis_warn("the history in %s cannot be read, and does not count: %s", at, strerror(reading.failed));
        runs->told = reading.failed ? runs->told | bit : runs->told & ~bit;
        unreadable = reading.failed && !unreadable ? at : unreadable;
    }
    pthread_mutex_lock(&runs->lock);
    runs->unreadable = unreadable;
    pthread_mutex_unlock(&runs->lock);
    atomic_store(&runs->read, 1);
}

const char *themis_server_allocation_runs_unreadable(runs_t *runs)
{
    pthread_mutex_lock(&runs->lock);
    const char *unreadable = runs->unreadable;
    pthread_mutex_unlock(&runs->lock);
    return unreadable;
}

int themis_server_allocation_runs_are_read(runs_t *runs)
{
    return atomic_load(&runs->read);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static char *directories_split(const char *text)
{
    char *split = calloc(1, strlen(text) + 2), *to = split;

    while (split && *text) {
        size_t skip = strspn(text, ", \t"), length = strcspn(text + skip, ",");

        while (length > 0 && (text[skip + length - 1] == ' ' || text[skip + length - 1] == '\t'))
            length--;
        if (length > 0) {
            memcpy(to, text + skip, length);
            to += length + 1;
        }
        text += skip + strcspn(text + skip, ",");
    }
    return split;
}

themis_status_t themis_server_allocation_runs_create(const char *directories, runs_t **runs)
{
    runs_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    made->directories = directories_split(directories);
    made->line = malloc(LINE_BYTES);
    if (!made->directories || !made->line) {
        themis_server_allocation_runs_destroy(made);
        return THEMIS_NO_MEMORY;
    }
    *runs = made;
    return THEMIS_OK;
}

void themis_server_allocation_runs_destroy(runs_t *runs)
{
    entry_t *entry, *next_entry;
    file_t *file, *next_file;
    seen_t *seen, *next_seen;

    if (!runs)
        return;
    HASH_ITER(hh, runs->entries, entry, next_entry)
    {
        HASH_DELETE(hh, runs->entries, entry);
        free(entry);
    }
    HASH_ITER(hh, runs->files, file, next_file)
    {
        HASH_DELETE(hh, runs->files, file);
        free(file);
    }
    HASH_ITER(hh, runs->seen, seen, next_seen)
    {
        HASH_DELETE(hh, runs->seen, seen);
        free(seen);
    }
    pthread_mutex_destroy(&runs->lock);
    free(runs->directories);
    free(runs->line);
    free(runs);
}
