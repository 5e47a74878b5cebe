/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/direct.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include "server/direct_state.h"
#include "util/clock.h"

/* ns after its last request for which a job counts as active, so that no other gets grants. */
#define ACTIVE_TIME THEMIS_NS_PER_S
/* ns until it is worth asking again while another job's requests are being served. */
#define BUSY_RETRY (100 * THEMIS_NS_PER_MS)
/* Clients that one tick looks at: it holds the lock. */
enum { LOOKS = 8 };

/* --- life and configuration --------------------------------------------------------------------------------------- */

static themis_server_direct_mode_t mode_of(const themis_server_config_t *config)
{
    return strcmp(config->direct, "on") == 0    ? THEMIS_SERVER_DIRECT_ON
           : strcmp(config->direct, "off") == 0 ? THEMIS_SERVER_DIRECT_OFF
                                                : THEMIS_SERVER_DIRECT_AUTO;
}

themis_status_t themis_server_direct_create(themis_server_t *server)
{
    themis_server_direct_t *made = calloc(1, sizeof *made);
    themis_status_t status = THEMIS_UNSUPPORTED;

    if (!made)
        return THEMIS_NO_MEMORY;
    server->direct = made;
    made->mode = mode_of(&server->config);
    made->next_look = UINT64_MAX;
    if (themis_store_direct(server->store))
        status = themis_server_beacon_create(&made->beacon);
    return status == THEMIS_UNSUPPORTED ? THEMIS_OK : status;
}

void themis_server_direct_destroy(themis_server_t *server)
{
    themis_server_direct_t *direct = server->direct;

    if (!direct)
        return;
    themis_server_beacon_destroy(direct->beacon);
    pthread_mutex_lock(&server->lock);
    while (direct->clients) {
        direct->looks[0].client->ended = 1; /* nobody serves the memory that it may still write to */
        themis_server_direct_client_look(server, direct->looks[0].client, themis_util_clock_now());
    }
    themis_server_direct_release(server);
    pthread_mutex_unlock(&server->lock);
    free(direct->looks);
    free(direct);
    server->direct = NULL;
}

void themis_server_direct_reload(themis_server_t *server)
{
    themis_server_direct_mode_t mode = mode_of(&server->config);

    if (mode == server->direct->mode || server->drain.active)
        return;
    server->direct->mode = mode;
    themis_server_direct_grants_revoke_all(server, themis_util_clock_now());
    themis_net_wake(server->net);
}

void themis_server_direct_stop(themis_server_t *server)
{
    server->direct->mode = THEMIS_SERVER_DIRECT_OFF;
    themis_server_direct_grants_revoke_all(server, themis_util_clock_now());
}

void themis_server_direct_usage(const themis_server_t *server, themis_server_direct_usage_t *usage)
{
    static const char *const names[] = {"off", "auto", "on"};
    const themis_server_direct_t *direct = server->direct;

    *usage = (themis_server_direct_usage_t){.mode = names[direct->beacon ? direct->mode : THEMIS_SERVER_DIRECT_OFF],
                                            .grants = direct->active,
                                            .revoked = direct->revoked,
                                            .read = direct->read,
                                            .written = direct->written};
}

/* --- who may have grants ------------------------------------------------------------------------------------------ */

void themis_server_direct_note_active(themis_server_direct_t *direct, uint64_t job, uint64_t now)
{
    if (direct->recent_job != job) {
        direct->recent_other = direct->recent;
        direct->recent_job = job;
    }
    direct->recent = now;
}

uint64_t themis_server_direct_refusal(const themis_server_t *server, const themis_sched_job_t *job, uint64_t now)
{
    const themis_server_direct_t *direct = server->direct;

    if (!direct->beacon || direct->mode == THEMIS_SERVER_DIRECT_OFF)
        return UINT64_MAX;
    if (server->config.store_bandwidth > 0)
        return UINT64_MAX; /* the copies of clients could not be limited */
    if (direct->mode == THEMIS_SERVER_DIRECT_ON)
        return 0;
    uint64_t other = direct->recent_job == job->number ? direct->recent_other : direct->recent;
    if (other > 0 && now < other + ACTIVE_TIME)
        return other + ACTIVE_TIME - now;
    return themis_sched_is_alone(server->sched, job) ? 0 : BUSY_RETRY;
}

void themis_server_direct_on_request(themis_server_t *server, const themis_server_session_t *session, uint64_t now)
{
    themis_server_direct_t *direct = server->direct;

    if (direct->active && direct->mode == THEMIS_SERVER_DIRECT_AUTO && direct->holder != session->job->number)
        themis_server_direct_grants_revoke_all(server, now);
    themis_server_direct_note_active(direct, session->job->number, now);
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

themis_server_direct_bucket_t *themis_server_direct_bucket(themis_server_direct_t *direct, uint64_t object)
{
    return &direct->buckets[(object * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

void themis_server_direct_begin_change(themis_server_t *server, uint64_t object)
{
    themis_server_direct_bucket_t *bucket = themis_server_direct_bucket(server->direct, object);
    themis_server_direct_grant_t *grant, *next;
    uint64_t now = themis_util_clock_now();

    pthread_mutex_lock(&server->lock);
    bucket->changing++;
    bucket->changes++;
    DL_FOREACH_SAFE(bucket->grants, grant, next)
    {
        if (grant->id == object)
            themis_server_direct_grant_revoke(server, grant, now);
    }
    themis_server_direct_release(server);
    pthread_mutex_unlock(&server->lock);
}

void themis_server_direct_end_change(themis_server_t *server, uint64_t object)
{
    pthread_mutex_lock(&server->lock);
    themis_server_direct_bucket(server->direct, object)->changing--;
    pthread_mutex_unlock(&server->lock);
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

void themis_server_direct_lose(themis_server_t *server, themis_server_session_t *session)
{
    uint64_t now = themis_util_clock_now();

    if (!session->direct)
        return;
    themis_server_direct_client_revoke_all(server, session->direct, now);
    themis_server_direct_client_look_soon(server, session->direct, now);
}

void themis_server_direct_finish(themis_server_session_t *session)
{
    if (session->direct)
        session->direct->finished = 1;
}

void themis_server_direct_end_session(themis_server_t *server, themis_server_session_t *session)
{
    themis_server_direct_client_t *client = session->direct;

    if (!client)
        return;
    themis_server_direct_lose(server, session);
    client->session = NULL;
    session->direct = NULL;
}

/* --- time --------------------------------------------------------------------------------------------------------- */

uint64_t themis_server_direct_tick(themis_server_t *server, uint64_t now)
{
    themis_server_direct_t *direct = server->direct;
    uint64_t next = UINT64_MAX;
    int looks = LOOKS;

    if (now < direct->next_look)
        return direct->next_look == UINT64_MAX ? UINT64_MAX : direct->next_look - now;
    direct->next_look = UINT64_MAX; /* looks may lower it again */
    for (uint32_t i = direct->clients; i-- > 0;) {
        themis_server_direct_client_t *client = direct->looks[i].client;
        if (direct->looks[i].due <= now && looks > 0) {
            looks--;
            themis_server_direct_client_look(server, client, now);
        }
        if (i < direct->clients && direct->looks[i].due < next)
            next = direct->looks[i].due;
    }
    direct->next_look = next < direct->next_look ? next : direct->next_look;
    if (direct->next_look == UINT64_MAX)
        return UINT64_MAX;
    return direct->next_look > now ? direct->next_look - now : 0;
}

int themis_server_direct_has_ended(const themis_server_t *server)
{
    return server->direct->dropped || server->direct->left;
}

void themis_server_direct_release(themis_server_t *server)
{
    themis_server_direct_t *direct = server->direct;

    while (direct->dropped) {
        themis_server_direct_grant_t *grant = direct->dropped;
        DL_DELETE(direct->dropped, grant);
        pthread_mutex_unlock(&server->lock);
        themis_server_direct_grant_free(server, grant);
        pthread_mutex_lock(&server->lock);
    }
    while (direct->left) {
        themis_server_direct_client_t *client = direct->left;
        DL_DELETE(direct->left, client);
        pthread_mutex_unlock(&server->lock);
        themis_server_direct_client_free(server, client);
        pthread_mutex_lock(&server->lock);
    }
}
