/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * themis_net_progress. One thread at a time makes progress: it polls, then sleeps, and calls the handlers; the others
 * in themis_net_progress wait until it has handled something or leaves. While it sleeps nothing is locked: sends of
 * other threads go out directly, and whatever of theirs needs progress wakes it.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "net/net.h"

typedef struct themis_net_loop {
    pthread_mutex_t lock; /* guards the next five */
    pthread_cond_t free;
    int taken; /* a thread makes progress: */
    pthread_t thread;
    unsigned waiters;
    uint64_t generation; /* grows when events were handled */

    /* of the progressing thread */
    unsigned tick;
    unsigned failed_spins;  /* waits in a row in which polling did not pay */
    unsigned skipped_spins; /* waits that are to go without polling */
    atomic_int short_sleep; /* something has a deadline; another thread may set it, too */
} themis_net_loop_t;

void themis_net_loop_init(themis_net_loop_t *loop);
void themis_net_loop_destroy(themis_net_loop_t *loop);
/* 1 if the calling thread is inside a handler of this net. */
int themis_net_in_handler(themis_net_t *net);
