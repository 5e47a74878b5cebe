/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that receive requests from the kernel and work on them. There is always one that receives: the last one
 * starts another before it works, and at the limit of threads puts requests that ask servers aside, for whichever
 * thread is free next. So interrupts are heard, however many requests wait for a server that does not answer.
 */
#pragma once
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "mount/fuse.h"
#include "themis/status.h"

typedef struct themis_mount_parked {
    struct themis_mount_parked *next;
    struct fuse_buf buffer; /* owned */
} themis_mount_parked_t;

typedef struct themis_mount_pool {
    struct fuse_session *session; /* borrowed */
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a thread has; waits by the monotonic clock */
    struct themis_mount_worker *workers;
    unsigned threads, receiving;
    int ending; /* 1: threads end when they have done what they work on */
    themis_mount_parked_t *parked, **last_parked;
    pthread_t owner; /* gets SIGTERM when the kernel has ended the session */
} themis_mount_pool_t;

/* Starts the first thread. The caller blocks SIGTERM, and waits for it; threads inherit its signal mask.
 * THEMIS_NO_MEMORY.
 */
themis_status_t themis_mount_pool_init(themis_mount_pool_t *pool, struct fuse_session *session);

/* Ends the threads. Returns 0 if some have not ended after `limit` ns; the pool, and what they use, then has to stay.
 */
int themis_mount_pool_end(themis_mount_pool_t *pool, uint64_t limit);

/* Memory of the calling thread, valid until its next call of this; NULL: out of memory, or not a thread of a pool. */
void *themis_mount_pool_buffer(size_t bytes);
