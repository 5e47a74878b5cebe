/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "store/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "store/log_state.h"
#include "util/log.h"
#include "util/status.h"

enum { FILE_BYTES = THEMIS_STORE_LOG_FILE_BYTES, HEAD = THEMIS_STORE_LOG_HEAD, FRAME = THEMIS_STORE_LOG_FRAME };

static uint64_t position_of(const themis_store_log_t *log)
{
    return log->super.base + log->used - HEAD;
}

static themis_status_t sync_failed(themis_store_log_t *log)
{
    themis_status_t status = errno == ENOSPC ? THEMIS_NO_SPACE : THEMIS_IO;
    int none = THEMIS_OK;

    if (atomic_compare_exchange_strong(&log->failed, &none, status))
        themis_error("the arena's files cannot be written to their device: %s; no sync succeeds until the next start",
                     strerror(errno));
    return status;
}

themis_status_t themis_store_log_fd_sync(themis_store_log_t *log, int fd)
{
    return !log->on_device || fdatasync(fd) == 0 ? THEMIS_OK : sync_failed(log);
}

themis_status_t themis_store_log_directory_sync(themis_store_log_t *log)
{
    return !log->on_device || fsync(log->options.directory) == 0 ? THEMIS_OK : sync_failed(log);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* A file with all of its blocks, as a mapping of it must find them. An earlier run may have left it, so that there is
 * one even if the file system is full now; it has zeros behind the superblock. */
static themis_status_t spare_create(themis_store_log_t *log)
{
    int fd = openat(log->options.directory, "new.log", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return themis_util_status_from_errno(errno);
    int failed = posix_fallocate(fd, 0, FILE_BYTES);
    if (failed) {
        unlinkat(log->options.directory, "new.log", 0);
        close(fd);
        return themis_util_status_from_errno(failed);
    }
    log->spare = fd;
    return THEMIS_OK;
}

static themis_status_t spare_adopt(themis_store_log_t *log, const themis_store_superblock_t *super, uint8_t **map)
{
    char name[THEMIS_STORE_LOG_NAME];
    themis_store_superblock_t written = *super;
    themis_status_t status = themis_store_superblock_write(log->spare, &written);

    if (status == THEMIS_OK)
        status = themis_store_log_fd_sync(log, log->spare);
    if (status != THEMIS_OK)
        return status;
    void *at = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, log->spare, 0);
    if (at == MAP_FAILED)
        return themis_util_status_from_errno(errno);
    themis_store_log_name(name, "log", super->number);
    if (renameat(log->options.directory, "new.log", log->options.directory, name) != 0) {
        status = themis_util_status_from_errno(errno);
        munmap(at, FILE_BYTES);
        return status;
    }
    *map = at;
    return THEMIS_OK;
}

/* The file is complete; a commit has yet to sync it. */
static void file_retire(themis_store_log_t *log)
{
    if (log->map)
        munmap(log->map, FILE_BYTES);
    log->map = NULL;
    if (log->fd < 0)
        return;
    if (log->old_count == THEMIS_STORE_LOG_OLD_FILES) {
        themis_store_log_fd_sync(log, log->old[0]); /* the next commit fails if this does */
        close(log->old[0]);
        memmove(log->old, log->old + 1, sizeof *log->old * (size_t)--log->old_count);
    }
    log->old[log->old_count++] = log->fd;
    log->fd = -1;
}

themis_status_t themis_store_log_rotate(themis_store_log_t *log)
{
    themis_store_superblock_t super = log->super;
    themis_status_t status = log->spare >= 0 ? THEMIS_OK : spare_create(log);
    uint8_t *map = NULL;

    super.number = log->map ? log->super.number + 1 : log->last + 1;
    super.base = log->map ? position_of(log) : log->limit;
    super.durable = log->committed;
    super.size = log->options.size;
    super.identity = log->options.identity;
    super.boot = log->options.boot;
    if (status == THEMIS_OK)
        status = spare_adopt(log, &super, &map);
    if (status != THEMIS_OK)
        return status;
    file_retire(log);
    log->super = super;
    log->fd = log->spare;
    log->spare = -1;
    log->map = map;
    log->used = HEAD;
    if (log->options.on_file)
        log->options.on_file(log->options.arg);
    return THEMIS_OK;
}

/* Files from before, of which not all is known to be durable. */
static themis_status_t old_files_open(themis_store_log_t *log)
{
    themis_status_t status = THEMIS_OK;
    char name[THEMIS_STORE_LOG_NAME];

    for (uint64_t number = log->first; log->on_device && number <= log->last && status == THEMIS_OK; number++) {
        themis_store_log_name(name, "log", number);
        int fd = openat(log->options.directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0) {
            status = themis_util_status_from_errno(errno);
            themis_error("cannot open the arena's file %s: %s", name, strerror(errno));
        } else if (log->old_count < THEMIS_STORE_LOG_OLD_FILES) {
            log->old[log->old_count++] = fd;
        } else {
            status = themis_store_log_fd_sync(log, fd);
            close(fd);
        }
    }
    return status;
}

themis_status_t themis_store_log_start(themis_store_log_t *log)
{
    themis_store_log_clean(log, log->first);
    unlinkat(log->options.directory, "new.checkpoint", 0);
    log->committed = log->known;
    themis_status_t status = old_files_open(log);
    if (status != THEMIS_OK)
        return status;
    pthread_mutex_lock(&log->lock);
    status = themis_store_log_rotate(log);
    pthread_mutex_unlock(&log->lock);
    if (status != THEMIS_OK)
        themis_error("cannot make a file of %d MiB for the arena's log: %s", FILE_BYTES >> 20,
                     themis_status_string(status));
    return status;
}

void themis_store_log_destroy(themis_store_log_t *log)
{
    if (!log)
        return;
    file_retire(log);
    while (log->old_count)
        close(log->old[--log->old_count]);
    if (log->spare >= 0)
        close(log->spare); /* the file is for the next start */
    pthread_mutex_destroy(&log->lock);
    pthread_mutex_destroy(&log->committing);
    free(log);
}

uint32_t themis_store_log_segment_units(const themis_store_log_t *log)
{
    return log->super.segment_units;
}

int themis_store_log_is_after_restart(const themis_store_log_t *log)
{
    return log->after_restart;
}

int themis_store_log_is_on_device(const themis_store_log_t *log)
{
    return log->on_device;
}

/* --- appending ---------------------------------------------------------------------------------------------------- */

themis_status_t themis_store_log_append(themis_store_log_t *log, const uint8_t *entries, size_t length)
{
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&log->lock);
    if (log->used + FRAME + length > FILE_BYTES)
        status = themis_store_log_rotate(log);
    if (status == THEMIS_OK) {
        themis_store_log_frame_write(log->map + log->used, &log->super.identity, position_of(log), entries,
                                     (uint32_t)length);
        log->used += FRAME + length;
    }
    pthread_mutex_unlock(&log->lock);
    return status;
}

uint64_t themis_store_log_position(themis_store_log_t *log)
{
    pthread_mutex_lock(&log->lock);
    uint64_t position = position_of(log);
    pthread_mutex_unlock(&log->lock);
    return position;
}

int themis_store_log_has_room(themis_store_log_t *log)
{
    if (log->spare >= 0)
        return 1; /* without the lock: each write asks */
    pthread_mutex_lock(&log->lock);
    int has = log->spare >= 0 || spare_create(log) == THEMIS_OK;
    pthread_mutex_unlock(&log->lock);
    return has;
}

uint64_t themis_store_log_checkpoint_bytes(const themis_store_log_t *log)
{
    return log->checkpoint_bytes;
}

uint64_t themis_store_log_length(themis_store_log_t *log)
{
    pthread_mutex_lock(&log->lock);
    uint64_t length = (log->super.number - log->shorter) * FILE_BYTES + log->used;
    pthread_mutex_unlock(&log->lock);
    return length;
}

/* --- commits ------------------------------------------------------------------------------------------------------ */

uint64_t themis_store_log_committed(const themis_store_log_t *log)
{
    return log->committed;
}

/* Syncs all files of the log as they are now. */
static themis_status_t files_sync(themis_store_log_t *log)
{
    int old[THEMIS_STORE_LOG_OLD_FILES];
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&log->lock);
    int fd = fcntl(log->fd, F_DUPFD_CLOEXEC, 0), cause = errno, count = log->old_count;
    memcpy(old, log->old, sizeof *old * (size_t)count);
    log->old_count = 0;
    pthread_mutex_unlock(&log->lock);
    for (int i = 0; i < count; i++) {
        themis_status_t synced = themis_store_log_fd_sync(log, old[i]);
        status = status == THEMIS_OK ? synced : status;
        close(old[i]);
    }
    if (fd < 0)
        return themis_util_status_from_errno(cause);
    if (status == THEMIS_OK)
        status = themis_store_log_fd_sync(log, fd);
    close(fd);
    return status;
}

/* The names of all files of the log as they are now, and of segments. */
static themis_status_t names_sync(themis_store_log_t *log)
{
    pthread_mutex_lock(&log->lock);
    uint64_t number = log->super.number;
    pthread_mutex_unlock(&log->lock);
    themis_status_t status = themis_store_log_directory_sync(log);
    if (status == THEMIS_OK)
        log->named = number;
    return status;
}

/* 1: since the last names_sync, the log has gone on in another file. */
static int has_new_name(themis_store_log_t *log)
{
    pthread_mutex_lock(&log->lock);
    int has = log->super.number != log->named;
    pthread_mutex_unlock(&log->lock);
    return has;
}

/* The frame that says what is durable, durably. */
static themis_status_t commit_append(themis_store_log_t *log, uint64_t position)
{
    const themis_store_entry_t entry = {.type = THEMIS_STORE_ENTRY_COMMIT, .subject = position};
    themis_status_t status = themis_store_log_append(log, (const uint8_t *)&entry, sizeof entry);

    if (status == THEMIS_OK)
        status = files_sync(log);
    if (status == THEMIS_OK && has_new_name(log)) /* the frame may be in that file */
        status = names_sync(log);
    return status == THEMIS_OK ? (themis_status_t)log->failed : status;
}

/* With the lock of commits. All before `position` is durable when it returns: first that, then the statement. What
 * other threads have failed to sync is in log->failed. */
static themis_status_t position_commit(themis_store_log_t *log, uint64_t position, themis_store_log_sync_t sync_bytes,
                                       void *arg)
{
    themis_status_t status = log->failed ? (themis_status_t)log->failed : sync_bytes(arg);

    if (position == log->stated) /* only bytes have changed */
        return status;
    if (status == THEMIS_OK)
        status = files_sync(log);
    if (status == THEMIS_OK)
        status = names_sync(log);
    if (status == THEMIS_OK)
        status = log->failed ? (themis_status_t)log->failed : commit_append(log, position);
    if (status == THEMIS_OK) {
        log->committed = position;
        log->stated = position + THEMIS_STORE_LOG_FRAME + sizeof(themis_store_entry_t);
    }
    return status;
}

themis_status_t themis_store_log_commit(themis_store_log_t *log, themis_store_log_sync_t sync_bytes, void *arg)
{
    themis_status_t status = THEMIS_OK;

    uint64_t begun = log->commits_begun;
    pthread_mutex_lock(&log->committing);
    if (log->commits_done <= begun) { /* else another one did it, which began after this call */
        uint64_t number = ++log->commits_begun;
        status = position_commit(log, themis_store_log_position(log), sync_bytes, arg);
        if (status == THEMIS_OK)
            log->commits_done = number;
    }
    pthread_mutex_unlock(&log->committing);
    return status;
}

/* --- checkpoints -------------------------------------------------------------------------------------------------- */

themis_status_t themis_store_checkpoint_begin(themis_store_log_t *log, themis_store_checkpoint_t *checkpoint)
{
    *checkpoint = (themis_store_checkpoint_t){.log = log, .at = HEAD};
    checkpoint->fd =
        openat(log->options.directory, "new.checkpoint", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    themis_status_t status = checkpoint->fd < 0 ? themis_util_status_from_errno(errno) : THEMIS_OK;
    if (status == THEMIS_OK && !(checkpoint->frame = malloc(FRAME + THEMIS_STORE_LOG_FRAME_MAX)))
        status = THEMIS_NO_MEMORY;
    pthread_mutex_lock(&log->lock);
    if (status == THEMIS_OK)
        status = themis_store_log_rotate(log);
    if (status == THEMIS_NO_SPACE)
        status = THEMIS_OK; /* what this file has is known already, but that does no harm */
    checkpoint->super = log->super;
    pthread_mutex_unlock(&log->lock);
    if (status == THEMIS_OK)
        status = themis_store_superblock_write(checkpoint->fd, &checkpoint->super);
    return status;
}

themis_status_t themis_store_checkpoint_flush(themis_store_checkpoint_t *checkpoint, int all)
{
    themis_store_entries_t *entries = &checkpoint->entries;

    if (entries->length == 0 || (!all && entries->length < THEMIS_STORE_LOG_FRAME_MAX / 4))
        return THEMIS_OK;
    size_t bytes = FRAME + entries->length;
    themis_store_log_frame_write(checkpoint->frame, &checkpoint->super.identity,
                                 checkpoint->super.base + checkpoint->at - HEAD, entries->bytes,
                                 (uint32_t)entries->length);
    ssize_t written = pwrite(checkpoint->fd, checkpoint->frame, bytes, (off_t)checkpoint->at);
    if (written != (ssize_t)bytes)
        return written < 0 ? themis_util_status_from_errno(errno) : THEMIS_NO_SPACE;
    checkpoint->at += bytes;
    entries->length = 0;
    return THEMIS_OK;
}

/* The log from before the checkpoint is not needed. */
static themis_status_t checkpoint_publish(themis_store_checkpoint_t *checkpoint)
{
    themis_store_log_t *log = checkpoint->log;
    char name[THEMIS_STORE_LOG_NAME];

    themis_store_log_name(name, "checkpoint", checkpoint->super.number);
    if (renameat(log->options.directory, "new.checkpoint", log->options.directory, name) != 0)
        return themis_util_status_from_errno(errno);
    themis_status_t status = themis_store_log_directory_sync(log);
    if (status != THEMIS_OK)
        return status;
    themis_store_log_clean(log, checkpoint->super.number);
    pthread_mutex_lock(&log->lock);
    log->shorter = checkpoint->super.number;
    log->checkpoint_bytes = checkpoint->at;
    pthread_mutex_unlock(&log->lock);
    return THEMIS_OK;
}

themis_status_t themis_store_checkpoint_end(themis_store_checkpoint_t *checkpoint, themis_status_t status,
                                            themis_store_log_sync_t sync_bytes, void *arg)
{
    themis_store_log_t *log = checkpoint->log;

    if (status == THEMIS_OK && !themis_store_entries_add(&checkpoint->entries, THEMIS_STORE_ENTRY_END, 0, 0, 0))
        status = THEMIS_NO_MEMORY;
    if (status == THEMIS_OK)
        status = themis_store_checkpoint_flush(checkpoint, 1);
    if (status == THEMIS_OK && log->on_device && fdatasync(checkpoint->fd) != 0)
        status = themis_util_status_from_errno(errno); /* it is given up, and the log is there still */
    /* objects are in it as they were at different times: whoever reads it needs the log up to now */
    if (status == THEMIS_OK)
        status = themis_store_log_commit(log, sync_bytes, arg);
    if (status == THEMIS_OK)
        status = checkpoint_publish(checkpoint);
    if (status != THEMIS_OK && checkpoint->fd >= 0)
        unlinkat(log->options.directory, "new.checkpoint", 0);
    if (checkpoint->fd >= 0)
        close(checkpoint->fd);
    free(checkpoint->frame);
    themis_store_entries_free(&checkpoint->entries);
    return status;
}
