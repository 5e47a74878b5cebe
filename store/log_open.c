/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "store/log_state.h"
#include "util/log.h"
#include "util/status.h"

void themis_store_log_name(char name[THEMIS_STORE_LOG_NAME], const char *kind, uint64_t number)
{
    snprintf(name, THEMIS_STORE_LOG_NAME, "%s.%016" PRIx64, kind, number);
}

/* The number in a name of this kind; 0: it is none. */
static uint64_t number_of(const char *name, const char *kind)
{
    size_t length = strlen(kind);
    char *end;

    if (strncmp(name, kind, length) != 0 || name[length] != '.' || strlen(name) != length + 17)
        return 0;
    uint64_t number = strtoull(name + length + 1, &end, 16);
    return *end ? 0 : number;
}

static themis_status_t directory_list(int directory, DIR **list)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    *list = fd >= 0 ? fdopendir(fd) : NULL;
    if (*list)
        return THEMIS_OK;
    themis_status_t status = themis_util_status_from_errno(errno);
    themis_error("the arena's directory cannot be listed: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

/* --- what is there ------------------------------------------------------------------------------------------------ */

/* The newest checkpoint, and the range of logs that are not older. */
static themis_status_t files_find(themis_store_log_t *log)
{
    uint64_t lowest = UINT64_MAX, count = 0, checkpoint = 0, number;
    const struct dirent *entry;
    DIR *list;
    themis_status_t status = directory_list(log->options.directory, &list);

    if (status != THEMIS_OK)
        return status;
    while ((errno = 0, entry = readdir(list)))
        if ((number = number_of(entry->d_name, "checkpoint")) > checkpoint)
            checkpoint = number;
    int failed = errno;
    rewinddir(list);
    while ((errno = 0, entry = readdir(list)))
        if ((number = number_of(entry->d_name, "log")) && number >= checkpoint) {
            lowest = number < lowest ? number : lowest;
            log->last = number > log->last ? number : log->last;
            count++;
        }
    failed = failed ? failed : errno;
    closedir(list);
    if (failed) {
        themis_error("the arena's directory cannot be listed: %s", strerror(failed));
        return themis_util_status_from_errno(failed);
    }
    log->has_checkpoint = checkpoint > 0;
    log->first = log->shorter = checkpoint ? checkpoint : 1;
    if (count == 0 && !checkpoint)
        return THEMIS_OK;
    if (lowest == log->first && count == log->last - log->first + 1)
        return THEMIS_OK;
    themis_error("files of the arena's log are missing; nothing was changed");
    return THEMIS_CONFIG;
}

static themis_status_t file_open(themis_store_log_t *log, const char *kind, uint64_t number,
                                 themis_store_log_file_t *file)
{
    char name[THEMIS_STORE_LOG_NAME];

    themis_store_log_name(name, kind, number);
    themis_status_t status = themis_store_log_file_open(log->options.directory, name, file);
    if (status == THEMIS_OK && (file->super.number != number ||
                                memcmp(&file->super.identity, &log->options.identity, sizeof file->super.identity))) {
        themis_error("the arena's file %s is of another store; nothing was changed", name);
        themis_store_log_file_close(file);
        return THEMIS_CONFIG;
    }
    return status;
}

static int of_this_boot(const themis_store_log_t *log, const themis_store_log_file_t *file)
{
    return memcmp(&file->super.boot, &log->options.boot, sizeof file->super.boot) == 0;
}

/* What the frames of a file say is durable. */
static void find_commits(themis_store_log_t *log, const themis_store_log_file_t *file)
{
    const uint8_t *at;
    uint32_t length;

    for (uint64_t position = file->super.base; (at = themis_store_log_file_frame(file, position, &length));
         position += THEMIS_STORE_LOG_FRAME + length) {
        const themis_store_entry_t *entry = themis_store_entry_next(&at, at + length);
        if (entry && entry->type == THEMIS_STORE_ENTRY_COMMIT && entry->subject > log->known)
            log->known = entry->subject;
    }
}

/* Where the frames of the last file end, and what is known to be durable. */
static themis_status_t limit_find(themis_store_log_t *log)
{
    themis_status_t status = THEMIS_OK;

    for (uint64_t number = log->first; number <= log->last && status == THEMIS_OK; number++) {
        themis_store_log_file_t file;
        status = file_open(log, "log", number, &file);
        if (status != THEMIS_OK)
            break;
        log->after_restart = !of_this_boot(log, &file);
        log->super = file.super;
        if (file.super.durable > log->known)
            log->known = file.super.durable;
        if (number == log->last)
            status = themis_store_log_file_end(&file, !log->after_restart, &log->limit);
        find_commits(log, &file);
        themis_store_log_file_close(&file);
    }
    if (status == THEMIS_OK && log->after_restart)
        log->limit = log->known;
    return status;
}

static int is_in_memory(int directory)
{
    struct statfs stat;

    return fstatfs(directory, &stat) == 0 &&
           (stat.f_type == TMPFS_MAGIC || stat.f_type == RAMFS_MAGIC || (uint64_t)stat.f_type == HUGETLBFS_MAGIC);
}

themis_status_t themis_store_log_open(const themis_store_log_options_t *options, themis_store_log_t **log)
{
    themis_store_log_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->options = *options;
    made->spare = -1;
    made->fd = -1;
    made->on_device = !is_in_memory(options->directory);
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->committing, NULL);
    themis_status_t status = files_find(made);
    if (status == THEMIS_OK && made->last)
        status = limit_find(made);
    if (status != THEMIS_OK) {
        themis_store_log_destroy(made);
        return status;
    }
    if (!made->last)
        made->super.segment_units = options->segment_units;
    *log = made;
    return THEMIS_OK;
}

/* --- replay ------------------------------------------------------------------------------------------------------- */

typedef struct replay {
    themis_store_log_handler_t handle;
    void *arg;
    int ended; /* an END entry was seen */
} replay_t;

/* The frames from the base of the file to `limit`; *reached: how far there were any. */
static themis_status_t frames_replay(replay_t *replay, const themis_store_log_file_t *file, int is_checkpoint,
                                     uint64_t limit, uint64_t *reached)
{
    themis_status_t status = THEMIS_OK;
    uint64_t position = file->super.base;
    const themis_store_entry_t *entry;
    const uint8_t *at;
    uint32_t length;

    while (status == THEMIS_OK && position < limit && (at = themis_store_log_file_frame(file, position, &length))) {
        const uint8_t *end = at + length;
        while (status == THEMIS_OK && (entry = themis_store_entry_next(&at, end))) {
            replay->ended |= entry->type == THEMIS_STORE_ENTRY_END;
            status = replay->handle(replay->arg, is_checkpoint ? 0 : position, entry);
        }
        if (status == THEMIS_OK && at != end)
            status = THEMIS_CORRUPT;
        position += THEMIS_STORE_LOG_FRAME + length;
    }
    *reached = position;
    return status;
}

static themis_status_t checkpoint_replay(themis_store_log_t *log, replay_t *replay)
{
    themis_store_log_file_t file;
    uint64_t reached;
    themis_status_t status = file_open(log, "checkpoint", log->first, &file);

    if (status != THEMIS_OK)
        return status;
    log->checkpoint_bytes = file.size;
    status = frames_replay(replay, &file, 1, UINT64_MAX, &reached);
    themis_store_log_file_close(&file);
    return status == THEMIS_OK && !replay->ended ? THEMIS_CORRUPT : status;
}

/* How far each file counts: up to the lowest base of the files behind, or the limit. After a restart of the machine a
 * file may go on before the bases of files from before, of which nothing counts then. */
static themis_status_t limits_find(themis_store_log_t *log, uint64_t *limits)
{
    themis_status_t status = THEMIS_OK;
    uint64_t limit = log->limit;

    for (uint64_t number = log->last; number >= log->first && status == THEMIS_OK; number--) {
        themis_store_log_file_t file;
        limits[number - log->first] = limit;
        status = file_open(log, "log", number, &file);
        if (status != THEMIS_OK)
            break;
        limit = file.super.base < limit ? file.super.base : limit;
        themis_store_log_file_close(&file);
    }
    return status;
}

static themis_status_t log_file_replay(themis_store_log_t *log, replay_t *replay, uint64_t number, uint64_t limit)
{
    themis_store_log_file_t file;
    uint64_t reached;
    themis_status_t status = file_open(log, "log", number, &file);

    if (status != THEMIS_OK)
        return status;
    status = frames_replay(replay, &file, 0, limit, &reached);
    themis_store_log_file_close(&file);
    return status == THEMIS_OK && reached < limit ? THEMIS_CORRUPT : status;
}

static themis_status_t log_files_replay(themis_store_log_t *log, replay_t *replay)
{
    uint64_t count = log->last < log->first ? 0 : log->last - log->first + 1;
    uint64_t *limits = malloc((count + 1) * sizeof *limits);
    themis_status_t status = limits ? limits_find(log, limits) : THEMIS_NO_MEMORY;

    for (uint64_t i = 0; i < count && status == THEMIS_OK; i++)
        status = log_file_replay(log, replay, log->first + i, limits[i]);
    free(limits);
    return status;
}

themis_status_t themis_store_log_replay(themis_store_log_t *log, themis_store_log_handler_t handle, void *arg)
{
    replay_t replay = {.handle = handle, .arg = arg};
    themis_status_t status = log->has_checkpoint ? checkpoint_replay(log, &replay) : THEMIS_OK;

    if (status == THEMIS_OK)
        status = log_files_replay(log, &replay);
    if (status == THEMIS_CORRUPT)
        themis_error("the arena's log is damaged; nothing was changed");
    return status == THEMIS_CORRUPT ? THEMIS_CONFIG : status;
}

/* --- files that are not needed ------------------------------------------------------------------------------------ */

themis_status_t themis_store_log_remove_files(int directory, const char *kind, int (*is_unused)(void *, uint64_t),
                                              void *arg)
{
    const struct dirent *entry;
    DIR *list;
    uint64_t number;
    themis_status_t status = directory_list(directory, &list);

    if (status != THEMIS_OK)
        return status;
    while ((entry = readdir(list)))
        if ((number = number_of(entry->d_name, kind)) && is_unused(arg, number))
            unlinkat(directory, entry->d_name, 0);
    closedir(list);
    return THEMIS_OK;
}

static int is_below(void *arg, uint64_t number)
{
    return number < *(const uint64_t *)arg;
}

void themis_store_log_clean(const themis_store_log_t *log, uint64_t first)
{
    themis_store_log_remove_files(log->options.directory, "log", is_below, &first);
    themis_store_log_remove_files(log->options.directory, "checkpoint", is_below, &first);
}
