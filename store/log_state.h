/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the log share: log_open.c finds and reads its files, log.c appends, and begins anew with a
 * checkpoint. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "store/log.h"

enum { THEMIS_STORE_LOG_OLD_FILES = 64 };

struct themis_store_log {
    themis_store_log_options_t options;
    int on_device, after_restart;
    _Atomic int failed; /* themis_status_t of the first sync that failed: nothing is committed any more */
    /* found by open: checkpoint `first` if there is one, logs from `first` to `last`; none: last < first */
    uint64_t first, last;
    int has_checkpoint;
    uint64_t limit; /* what comes from this position on is not replayed */
    uint64_t known; /* durable for certain, as far as the files say */

    pthread_mutex_t lock;            /* of what follows */
    themis_store_superblock_t super; /* of the file that is written */
    int fd;
    _Atomic int spare; /* the next file, or -1; read without the lock as well */
    uint8_t *map;
    uint64_t used;    /* bytes of the file */
    uint64_t shorter; /* number of the first file since the last checkpoint */
    _Atomic uint64_t checkpoint_bytes;
    int old[THEMIS_STORE_LOG_OLD_FILES], old_count; /* earlier files, that a commit has to sync */
    _Atomic uint64_t committed;

    pthread_mutex_t committing; /* of what follows; taken before the lock */
    _Atomic uint64_t commits_begun;
    uint64_t commits_done; /* the number of the last one that succeeded */
    uint64_t stated;       /* position behind the last statement that something is durable */
    uint64_t named;        /* number of the last file whose name is durable */
};

void themis_store_log_name(char name[THEMIS_STORE_LOG_NAME], const char *kind, uint64_t number);
/* With the lock: goes on in a new file. On failure nothing has changed. */
themis_status_t themis_store_log_rotate(themis_store_log_t *log);
/* fdatasync of a segment or a file of the log, where it does something. The kernel may take what could not be written
 * for written from then on, so that a later sync would succeed: after a failure no commit does. */
themis_status_t themis_store_log_fd_sync(themis_store_log_t *log, int fd);
themis_status_t themis_store_log_directory_sync(themis_store_log_t *log); /* likewise */
/* Removes logs and checkpoints below `first`. */
void themis_store_log_clean(const themis_store_log_t *log, uint64_t first);
/* Removes the files KIND.<number> of which `is_unused` says 1. */
themis_status_t themis_store_log_remove_files(int directory, const char *kind, int (*is_unused)(void *, uint64_t),
                                              void *arg);
