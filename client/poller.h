/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of a session, and progress of its network: one thread at a time polls for all. It holds no lock while it
 * does; the handlers that run in it take the lock, and the other threads wait on `changed`.
 *
 * `lock` guards whatever of a session is not fixed at its creation. It is never held while a thread connects, polls or
 * sleeps.
 */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include "net/net.h"

/* Called before each poll, with the lock held; may release it meanwhile. Returns the ns after which it is due again. */
typedef uint64_t (*themis_client_service_fn)(void *arg, uint64_t now);

typedef struct themis_client_poller {
    themis_net_t *net; /* owned; set by the creator of the session */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a call has ended, or no thread polls any more */
    int polling;            /* 1: some thread polls */
    unsigned waiting;       /* threads that wait on `changed` */
    uint64_t ended;         /* calls that have ended, ever */
    _Atomic int due;        /* 1: the service is to run soon; may be read without the lock */
    themis_client_service_fn service;
    void *arg;
} themis_client_poller_t;

void themis_client_poller_init(themis_client_poller_t *poller, themis_client_service_fn service, void *arg);
void themis_client_poller_free(themis_client_poller_t *poller);

/* With the lock held: one poll of at most `limit` ns, for which the lock is released. No other thread may be polling.
 */
void themis_client_poller_step(themis_client_poller_t *poller, uint64_t limit);

/* With the lock held: counts a call that has ended and wakes the threads that wait. */
void themis_client_poller_notify(themis_client_poller_t *poller);

/* Waits until *remaining is 0. */
void themis_client_poller_wait(themis_client_poller_t *poller, const uint32_t *remaining);

/* Polls once without waiting; returns 1 if *remaining is 0. */
int themis_client_poller_test(themis_client_poller_t *poller, const uint32_t *remaining);

/* Waits until some call has ended or `timeout` ns are over. */
void themis_client_poller_wait_any(themis_client_poller_t *poller, uint64_t timeout);

/* Runs the service if it is due and no other thread will, so that calls proceed before anyone waits for them. */
void themis_client_poller_serve(themis_client_poller_t *poller);
