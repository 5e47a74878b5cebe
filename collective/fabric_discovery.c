/* SPDX-License-Identifier: BSD-3-Clause */
/* One state for the process: opens come from any file and thread, and a subnet should be queried once, not by each. */
#include "collective/fabric_discovery.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include "util/clock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static enum { NOT_STARTED, UNDER_WAY, ENDED } stage;
static themis_status_t outcome;
static themis_aggregation_fabric_t *found;

static void *discover(void *unused)
{
    themis_aggregation_fabric_t *fabric = NULL;
    themis_status_t status = themis_aggregation_fabric_discover(&fabric);
    pthread_mutex_lock(&lock);
    outcome = status;
    found = fabric;
    stage = ENDED;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* The thread blocks all signals: they are for the program's own threads. */
static int thread_start(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&thread, NULL, discover, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        pthread_detach(thread);
    return code;
}

themis_status_t themis_collective_fabric_discover(unsigned wait_ms, const themis_aggregation_fabric_t **fabric)
{
    themis_status_t status = THEMIS_OK;
    uint64_t end = themis_util_clock_wall() + wait_ms * THEMIS_NS_PER_MS;
    struct timespec until = {(time_t)(end / THEMIS_NS_PER_S), (long)(end % THEMIS_NS_PER_S)};
    pthread_mutex_lock(&lock);
    if (stage == NOT_STARTED) {
        if (thread_start() == 0)
            stage = UNDER_WAY;
        else
            status = THEMIS_NO_MEMORY;
    }
    while (stage == UNDER_WAY && pthread_cond_timedwait(&ended, &lock, &until) != ETIMEDOUT)
        ;
    if (stage == ENDED)
        status = outcome;
    else if (stage == UNDER_WAY)
        status = THEMIS_TIMED_OUT;
    if (status == THEMIS_OK)
        *fabric = found;
    pthread_mutex_unlock(&lock);
    return status;
}
