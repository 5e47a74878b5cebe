/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log of a durable arena: files log.N in its directory, mapped, one after the other, and checkpoint.N, which has
 * what all before log.N came to.
 *
 * A frame that was appended survives the end of this process. After a restart of the machine the log counts up to the
 * last position that was committed: then all frames before it and the bytes that they are about were on the device.
 *
 * The log has room for changes that are under way, and for removals, even if its file system is full: who begins to add
 * something asks first (themis_store_log_has_room).
 *
 * Threads: all functions but open, replay and destroy may be called from any thread.
 */
#pragma once
#include "store/entry.h"
#include "store/log_file.h"

enum {
    THEMIS_STORE_LOG_FILE_BYTES = 4 << 20,
    THEMIS_STORE_LOG_FRAME_MAX = 1 << 20 /* bytes of entries */
};

typedef struct themis_store_log themis_store_log_t;

typedef struct themis_store_log_options {
    int directory;          /* borrowed, as long as the log */
    uint64_t size;          /* of the arena, bytes */
    uint32_t segment_units; /* of a new arena */
    themis_store_identity_t identity, boot;
    void (*on_file)(void *arg); /* called with the log's lock when it goes on in another file; or NULL */
    void *arg;
} themis_store_log_options_t;

/* Finds out what the directory has. THEMIS_CONFIG: files that are missing or damaged, of another version or of another
 * arena; logged, and nothing was changed. */
themis_status_t themis_store_log_open(const themis_store_log_options_t *options, themis_store_log_t **log);
void themis_store_log_destroy(themis_store_log_t *log); /* NULL is allowed */

uint32_t themis_store_log_segment_units(const themis_store_log_t *log);
/* 1: the machine was restarted since the log was written: bytes may be older than what is said of them. */
int themis_store_log_is_after_restart(const themis_store_log_t *log);
/* 1: syncing does something: the directory is not in memory. */
int themis_store_log_is_on_device(const themis_store_log_t *log);

/* Calls `handle` for each entry, in order; `position` is that of its frame, or 0 in a checkpoint. Ends with the first
 * status other than THEMIS_OK. */
typedef themis_status_t (*themis_store_log_handler_t)(void *arg, uint64_t position, const themis_store_entry_t *entry);
themis_status_t themis_store_log_replay(themis_store_log_t *log, themis_store_log_handler_t handle, void *arg);

/* After the replay, once: begins to write. */
themis_status_t themis_store_log_start(themis_store_log_t *log);

/* Appends a frame of at most THEMIS_STORE_LOG_FRAME_MAX bytes. THEMIS_NO_SPACE: the file system is full. */
themis_status_t themis_store_log_append(themis_store_log_t *log, const uint8_t *entries, size_t length);
uint64_t themis_store_log_position(themis_store_log_t *log);
/* 1: there is a next file, which is made if it is missing. While there is none only changes under way and removals go
 * on. */
int themis_store_log_has_room(themis_store_log_t *log);
/* Bytes of the last checkpoint; 0: there is none. */
uint64_t themis_store_log_checkpoint_bytes(const themis_store_log_t *log);
/* Bytes of files since the last checkpoint, of which the last one may be partly used. */
uint64_t themis_store_log_length(themis_store_log_t *log);

/* Makes everything durable that was appended before the call. `sync_bytes` syncs the bytes that it is about. */
typedef themis_status_t (*themis_store_log_sync_t)(void *arg);
themis_status_t themis_store_log_commit(themis_store_log_t *log, themis_store_log_sync_t sync_bytes, void *arg);
uint64_t themis_store_log_committed(const themis_store_log_t *log);

/* A checkpoint: begin, entries of all that there is, and end, which makes the log before obsolete. One at a time. */
typedef struct themis_store_checkpoint {
    themis_store_log_t *log;
    int fd;
    uint64_t at; /* bytes written */
    themis_store_superblock_t super;
    themis_store_entries_t entries;
    uint8_t *frame;
} themis_store_checkpoint_t;
themis_status_t themis_store_checkpoint_begin(themis_store_log_t *log, themis_store_checkpoint_t *checkpoint);
/* Writes checkpoint->entries if they are large enough to be worth it, or `all`. */
themis_status_t themis_store_checkpoint_flush(themis_store_checkpoint_t *checkpoint, int all);
/* `status`: of what was done with it; if it is not THEMIS_OK the checkpoint is given up. */
themis_status_t themis_store_checkpoint_end(themis_store_checkpoint_t *checkpoint, themis_status_t status,
                                            themis_store_log_sync_t sync_bytes, void *arg);
