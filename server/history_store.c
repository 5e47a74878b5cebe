/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/history_store.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "history/record.h"
#include "server/history_files.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/status.h"

/* A file is at most so large, and covers at most so much of the time that records are kept. */
enum { LOG_MOST = 16 << 20, LOGS_IN_SIZE = 16, LOGS_IN_TIME = 8 };
/* s between looks at what is to be removed, and between messages about one failure. */
enum { PRUNE_PAUSE = 3600, MESSAGE_PAUSE = 600 };
enum { PATH = THEMIS_SERVER_HISTORY_PATH };

struct themis_server_history_store {
    char directory[PATH - 512]; /* so that names below it fit */
    char name[THEMIS_SERVER_HISTORY_NAME];
    uint64_t keep, size;
    int is_public;
    uint64_t pruned;     /* s since 1970 */
    uint64_t warn_again; /* ns; not before */
    int failing;         /* the last record was lost */
    int without_acl;     /* that has been said */
    _Atomic uint64_t records, dropped, bytes;
};

/* --- directories -------------------------------------------------------------------------------------------------- */

static void user_path(const themis_server_history_store_t *store, uint32_t user, char path[PATH])
{
    snprintf(path, PATH, "%s/%u", store->directory, user);
}

/* One that is there keeps its mode. errno says what went wrong. */
static int directory_make(const themis_server_history_store_t *store)
{
    if (mkdir(store->directory, 0700) == 0)
        return chmod(store->directory, store->is_public ? 0755 : 0711);
    return errno == EEXIST ? 0 : -1;
}

/* And no symbolic link to one, which somebody else may have put there. */
static int is_directory(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Makes the user's directory, or changes who may read it: the configuration may have changed. */
static themis_status_t user_admit(themis_server_history_store_t *store, uint32_t user)
{
    char path[PATH];

    user_path(store, user, path);
    themis_status_t status = themis_server_history_files_admit(path, user, store->is_public);
    int cause = errno;
    if (status == THEMIS_OK || !is_directory(path)) {
        errno = cause;
        return status;
    }
    if (!store->without_acl)
        themis_warn("%s: %s: who may read it cannot be set", path, strerror(cause));
    store->without_acl = 1;
    return THEMIS_OK;
}

static themis_status_t user_ensure(themis_server_history_store_t *store, uint32_t user)
{
    char path[PATH];

    user_path(store, user, path);
    if (is_directory(path))
        return THEMIS_OK;
    return directory_make(store) == 0 ? user_admit(store, user) : themis_util_status_from_errno(errno);
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* errno says why. */
static void record_lost(themis_server_history_store_t *store, uint32_t user)
{
    int cause = errno;
    uint64_t now = themis_util_clock_now();

    if (!store->failing || now >= store->warn_again) {
        themis_warn("%s/%u: %s: records of jobs are lost until this is over", store->directory, user, strerror(cause));
        store->warn_again = now + MESSAGE_PAUSE * THEMIS_NS_PER_S;
    }
    store->failing = 1;
}

static void record_written(themis_server_history_store_t *store, size_t bytes)
{
    atomic_fetch_add(&store->bytes, bytes);
    if (store->failing)
        themis_info("%s: records of jobs are written again", store->directory);
    store->failing = 0;
}

void themis_server_history_store_count_dropped(themis_server_history_store_t *store)
{
    atomic_fetch_add(&store->dropped, 1);
}

/* --- records of jobs that have ended ------------------------------------------------------------------------------ */

static void prune(themis_server_history_store_t *store, uint64_t now)
{
    store->pruned = now;
    themis_server_history_files_prune(store->directory, store->name, now > store->keep ? now - store->keep : 0,
                                      store->size);
}

/* When the newest file of the user was begun; 0: there is none. */
static uint64_t newest_log(const themis_server_history_store_t *store, const char *path)
{
    DIR *files = opendir(path);
    const struct dirent *entry;
    uint64_t newest = 0, begun;

    if (!files)
        return 0;
    while ((entry = readdir(files)))
        if (themis_server_history_files_kind(store->name, entry->d_name, &begun) == THEMIS_SERVER_HISTORY_LOG &&
            begun > newest)
            newest = begun;
    closedir(files);
    return newest;
}

static int is_full(const themis_server_history_store_t *store, const char *path, uint64_t begun, uint64_t now)
{
    uint64_t most = store->size / LOGS_IN_SIZE < LOG_MOST ? store->size / LOGS_IN_SIZE : LOG_MOST;
    struct stat status;

    if (stat(path, &status) != 0)
        return 0;
    return (uint64_t)status.st_size >= most || now > begun + store->keep / LOGS_IN_TIME;
}

/* The file that the user's next record goes to. 1: it is a new one. */
static int log_choose(const themis_server_history_store_t *store, uint32_t user, uint64_t now, char path[PATH])
{
    char directory[PATH];

    user_path(store, user, directory);
    uint64_t begun = newest_log(store, directory);
    int fresh = begun == 0;
    if (!fresh) {
        snprintf(path, PATH, "%s/%u/%s-%llu.jsonl", store->directory, user, store->name, (unsigned long long)begun);
        fresh = is_full(store, path, begun, now);
    }
    if (fresh)
        snprintf(path, PATH, "%s/%u/%s-%llu.jsonl", store->directory, user, store->name,
                 (unsigned long long)(now > begun ? now : begun + 1));
    return fresh;
}

themis_status_t themis_server_history_store_append(themis_server_history_store_t *store, uint32_t user,
                                                   const char *line, uint64_t now)
{
    char path[PATH];
    size_t bytes = 0;
    themis_status_t status = user_ensure(store, user);

    if (status == THEMIS_OK) {
        if (log_choose(store, user, now, path) || now >= store->pruned + PRUNE_PAUSE)
            prune(store, now);
        status = themis_server_history_files_append(path, line, &bytes);
    }
    if (status != THEMIS_OK) {
        record_lost(store, user);
        themis_server_history_store_count_dropped(store);
        return status;
    }
    record_written(store, bytes);
    atomic_fetch_add(&store->records, 1);
    return THEMIS_OK;
}

/* --- records of running jobs -------------------------------------------------------------------------------------- */

static void running_path(const themis_server_history_store_t *store, uint32_t user, uint64_t number, const char *end,
                         char path[PATH])
{
    snprintf(path, PATH, "%s/%u/%s.%llu.%s", store->directory, user, store->name, (unsigned long long)number, end);
}

themis_status_t themis_server_history_store_put_running(themis_server_history_store_t *store, uint32_t user,
                                                        uint64_t number, const char *line)
{
    char path[PATH], fresh[PATH];
    size_t bytes = 0;
    themis_status_t status = user_ensure(store, user);

    running_path(store, user, number, "running", path);
    running_path(store, user, number, "new", fresh);
    if (status == THEMIS_OK)
        status = themis_server_history_files_replace(path, fresh, line, &bytes);
    if (status == THEMIS_OK)
        record_written(store, bytes);
    else
        record_lost(store, user);
    return status;
}

void themis_server_history_store_drop_running(themis_server_history_store_t *store, uint32_t user, uint64_t number)
{
    char path[PATH];

    running_path(store, user, number, "running", path);
    unlink(path);
}

/* --- creation ----------------------------------------------------------------------------------------------------- */

/* The record of a job that ran when an earlier server ended. */
static void running_recover(themis_server_history_store_t *store, uint32_t user, uint64_t number)
{
    char path[PATH];

    running_path(store, user, number, "running", path);
    char *line = themis_server_history_files_first_line(path, THEMIS_HISTORY_RECORD_MOST);
    if (!line ||
        themis_server_history_store_append(store, user, line, themis_util_clock_wall() / THEMIS_NS_PER_S) == THEMIS_OK)
        unlink(path);
    free(line);
}

static void user_recover(void *arg, uint32_t user)
{
    themis_server_history_store_t *store = arg;
    char path[PATH];
    const struct dirent *entry;
    uint64_t number;

    if (user_admit(store, user) != THEMIS_OK)
        return;
    user_path(store, user, path);
    DIR *files = opendir(path);
    while (files && (entry = readdir(files))) {
        themis_server_history_kind_t kind = themis_server_history_files_kind(store->name, entry->d_name, &number);
        if (kind == THEMIS_SERVER_HISTORY_RUNNING)
            running_recover(store, user, number);
        running_path(store, user, number, "new", path);
        if (kind == THEMIS_SERVER_HISTORY_FRESH)
            unlink(path);
    }
    if (files)
        closedir(files);
}

/* Is it an address that every host has? */
static int is_everywhere(const char *name)
{
    static const char *const prefixes[] = {"localhost", "127.", "0.0.0.0", "[::1]", "[::]"};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return 1;
    return 0;
}

/* The host's name in place of such an address: servers of several hosts may share the directory. */
static void name_make(themis_server_history_store_t *store, const char *name)
{
    char host[64] = "";
    const char *port = strrchr(name, ':');

    if (is_everywhere(name) && gethostname(host, sizeof host - 1) == 0)
        name = port ? port : "";
    snprintf(store->name, sizeof store->name, "%s%.63s", host, name);
    for (char *at = store->name; *at; at++)
        if (!isalnum((unsigned char)*at) && (!strchr("._:-", *at) || at == store->name))
            *at = '_';
}

themis_status_t themis_server_history_store_create(const themis_server_history_store_options_t *options,
                                                   themis_server_history_store_t **store)
{
    themis_server_history_store_t *made;

    if (strlen(options->directory) >= sizeof made->directory)
        return THEMIS_NAME_TOO_LONG;
    made = calloc(1, sizeof *made);
    if (!made)
        return THEMIS_NO_MEMORY;
    strcpy(made->directory, options->directory);
    name_make(made, options->name);
    made->keep = options->keep;
    made->size = options->size;
    made->is_public = options->is_public;
    if (directory_make(made) != 0)
        themis_warn("%s: %s: there is no history of jobs until this is over", made->directory, strerror(errno));
    themis_server_history_files_users(made->directory, user_recover, made);
    *store = made;
    return THEMIS_OK;
}

void themis_server_history_store_destroy(themis_server_history_store_t *store)
{
    free(store);
}

void themis_server_history_store_counts(const themis_server_history_store_t *store,
                                        themis_server_history_counts_t *counts)
{
    *counts = (themis_server_history_counts_t){.records = atomic_load(&store->records),
                                               .dropped = atomic_load(&store->dropped),
                                               .bytes = atomic_load(&store->bytes)};
}
