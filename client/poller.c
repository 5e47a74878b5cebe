/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/poller.h"
#include <time.h>
#include "util/clock.h"

void themis_client_poller_init(themis_client_poller_t *poller, themis_client_service_fn service, void *arg)
{
    *poller = (themis_client_poller_t){.service = service, .arg = arg};
    pthread_mutex_init(&poller->lock, NULL);
    pthread_cond_init(&poller->changed, NULL);
}

void themis_client_poller_free(themis_client_poller_t *poller)
{
    themis_net_destroy(poller->net);
    pthread_mutex_destroy(&poller->lock);
    pthread_cond_destroy(&poller->changed);
}

void themis_client_poller_step(themis_client_poller_t *poller, uint64_t limit)
{
    poller->polling = 1;
    uint64_t pause = poller->service(poller->arg, themis_util_clock_now());
    if (limit > pause)
        limit = pause;
    pthread_mutex_unlock(&poller->lock);
    themis_net_progress(poller->net, limit);
    pthread_mutex_lock(&poller->lock);
    poller->polling = 0;
    if (poller->waiting)
        pthread_cond_broadcast(&poller->changed);
}

void themis_client_poller_notify(themis_client_poller_t *poller)
{
    poller->ended++;
    if (poller->waiting)
        pthread_cond_broadcast(&poller->changed);
}

void themis_client_poller_wait(themis_client_poller_t *poller, const uint32_t *remaining)
{
    pthread_mutex_lock(&poller->lock);
    while (*remaining > 0) {
        if (!poller->polling) {
            themis_client_poller_step(poller, UINT64_MAX);
            continue;
        }
        poller->waiting++;
        pthread_cond_wait(&poller->changed, &poller->lock);
        poller->waiting--;
    }
    pthread_mutex_unlock(&poller->lock);
}

int themis_client_poller_test(themis_client_poller_t *poller, const uint32_t *remaining)
{
    pthread_mutex_lock(&poller->lock);
    if (*remaining > 0 && !poller->polling)
        themis_client_poller_step(poller, 0);
    int ended = *remaining == 0;
    pthread_mutex_unlock(&poller->lock);
    return ended;
}

void themis_client_poller_wait_any(themis_client_poller_t *poller, uint64_t timeout)
{
    uint64_t now = themis_util_clock_now(), until = now + timeout;

    if (until < now)
        until = UINT64_MAX;
    pthread_mutex_lock(&poller->lock);
    uint64_t ended = poller->ended;
    do {
        if (!poller->polling) {
            themis_client_poller_step(poller, until - now);
            continue;
        }
        struct timespec moment;
        clock_gettime(CLOCK_REALTIME, &moment);
        moment.tv_nsec += THEMIS_NS_PER_MS;
        if (moment.tv_nsec >= (long)THEMIS_NS_PER_S)
            moment = (struct timespec){moment.tv_sec + 1, moment.tv_nsec - (long)THEMIS_NS_PER_S};
        poller->waiting++;
        pthread_cond_timedwait(&poller->changed, &poller->lock, &moment);
        poller->waiting--;
    } while (poller->ended == ended && (now = themis_util_clock_now()) < until);
    pthread_mutex_unlock(&poller->lock);
}

void themis_client_poller_serve(themis_client_poller_t *poller)
{
    if (!poller->due)
        return;
    pthread_mutex_lock(&poller->lock);
    if (poller->due && !poller->polling)
        themis_client_poller_step(poller, 0);
    pthread_mutex_unlock(&poller->lock);
}
