/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <utlist.h>
#include "server/client_session.h"
#include "server/direct_state.h"
#include "server/history.h"

/* Bytes that one client may have moved in one ns, more than any memory allows; a slot that says more is not believed.
 */
enum { PLAUSIBLE_BYTES_PER_NS = 200 };

static themis_util_direct_slot_t *slot_of(const themis_server_direct_grant_t *grant)
{
    return &grant->client->slots[grant->slot];
}

themis_server_direct_grant_t *themis_server_direct_grant_find(themis_server_direct_t *direct,
                                                              const themis_server_direct_client_t *client, uint64_t id)
{
    themis_server_direct_grant_t *grant;

    DL_FOREACH(themis_server_direct_bucket(direct, id)->grants, grant)
    {
        if (grant->id == id && grant->client == client)
            return grant;
    }
    return NULL;
}

themis_status_t themis_server_direct_grant_add(themis_server_t *server, themis_server_direct_grant_t *grant,
                                               uint64_t now)
{
    themis_server_direct_t *direct = server->direct;
    themis_server_direct_client_t *client = grant->client;
    uint32_t slot = 0;

    while (slot < THEMIS_UTIL_DIRECT_SLOTS && client->grants[slot])
        slot++;
    if (slot == THEMIS_UTIL_DIRECT_SLOTS)
        return THEMIS_BUSY;
    grant->slot = slot;
    grant->number = ++direct->last_number ? direct->last_number : ++direct->last_number;
    grant->started = now;
    grant->read = atomic_load(&slot_of(grant)->read);
    grant->written = atomic_load(&slot_of(grant)->written);
    client->grants[slot] = grant;
    client->active++;
    direct->active++;
    direct->holder = client->session->job->number;
    DL_APPEND(themis_server_direct_bucket(direct, grant->id)->grants, grant);
    atomic_store(&slot_of(grant)->grant, grant->number);
    themis_server_direct_client_look_later(server, client, now);
    return THEMIS_OK;
}

/* Bytes that the client can have moved beyond those that are counted. */
static uint64_t plausible_growth(const themis_server_direct_grant_t *grant, uint64_t now)
{
    uint64_t most = now > grant->started ? (now - grant->started) * PLAUSIBLE_BYTES_PER_NS : 0;

    return most > grant->counted ? most - grant->counted : 0;
}

/* How much a counter has grown; 0 if it cannot be that. */
static uint64_t counter_advance(_Atomic uint64_t *shared, uint64_t *seen, uint64_t most)
{
    uint64_t value = atomic_load_explicit(shared, memory_order_relaxed), grown = value - *seen;

    *seen = value;
    return grown <= most ? grown : 0;
}

void themis_server_direct_grant_count(themis_server_t *server, themis_server_direct_grant_t *grant, uint64_t now)
{
    themis_server_direct_t *direct = server->direct;
    themis_server_session_t *session = grant->client->session;
    uint64_t most = plausible_growth(grant, now);
    uint64_t read = counter_advance(&slot_of(grant)->read, &grant->read, most);
    uint64_t written = counter_advance(&slot_of(grant)->written, &grant->written, most - read);

    if (read + written == 0)
        return;
    grant->counted += read + written;
    grant->client->moved = 1;
    direct->read += read;
    direct->written += written;
    if (!session)
        return;
    themis_server_session_touch(server, session);
    if (!session->job) /* no memory to join it again */
        return;
    themis_server_history_access(server, session, grant->id);
    session->job->bytes_read += read;
    session->job->bytes_written += written;
    themis_sched_charge(server->sched, session->job, read + written, now);
    themis_server_direct_note_active(direct, session->job->number, now);
}

void themis_server_direct_grant_settle(themis_server_t *server, themis_server_direct_grant_t *grant, uint64_t now)
{
    themis_server_direct_t *direct = server->direct;
    themis_server_direct_client_t *client = grant->client;

    if (grant->users || (atomic_load(&slot_of(grant)->copies) && !client->ended))
        return;
    themis_server_direct_grant_count(server, grant, now);
    client->grants[grant->slot] = NULL;
    client->revoked--;
    direct->revoked--;
    DL_APPEND(direct->dropped, grant);
}

void themis_server_direct_grant_revoke(themis_server_t *server, themis_server_direct_grant_t *grant, uint64_t now)
{
    themis_server_direct_t *direct = server->direct;
    themis_server_direct_client_t *client = grant->client;

    atomic_store(&slot_of(grant)->grant, 0); /* before the look at copies */
    themis_server_direct_grant_count(server, grant, now);
    grant->revoked = 1;
    DL_DELETE(themis_server_direct_bucket(direct, grant->id)->grants, grant);
    client->active--;
    direct->active--;
    client->revoked++;
    direct->revoked++;
    themis_server_direct_grant_settle(server, grant, now);
    if (client->revoked)
        themis_server_direct_client_look_soon(server, client, now);
}

void themis_server_direct_grants_revoke_all(themis_server_t *server, uint64_t now)
{
    for (uint32_t i = 0; i < server->direct->clients && server->direct->active; i++)
        themis_server_direct_client_revoke_all(server, server->direct->looks[i].client, now);
}

void themis_server_direct_grant_free(themis_server_t *server, themis_server_direct_grant_t *grant)
{
    themis_store_unpin(server->store, grant->object, &grant->cell);
    themis_store_close(server->store, grant->object);
    free(grant);
}
