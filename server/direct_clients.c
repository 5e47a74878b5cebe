/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utlist.h>
#include "server/direct_state.h"
#include "util/clock.h"
#include "util/log.h"

/* ns between looks at a client: with a grant while bytes move or none did; and at most, while it is to end. */
#define ACTIVE_PAUSE (100 * THEMIS_NS_PER_MS)
#define QUIET_PAUSE THEMIS_NS_PER_S
#define FIRST_PAUSE (10 * THEMIS_NS_PER_MS)
/* Clients of one process: sessions that were not ended by GOODBYE leave theirs until the process ends. */
enum { CLIENTS_OF_PROCESS = 64 };

/* --- making one --------------------------------------------------------------------------------------------------- */

static int process_has_ended(const themis_server_direct_client_t *client)
{
    struct pollfd process = {.fd = client->process, .events = POLLIN};

    return poll(&process, 1, 0) > 0;
}

void themis_server_direct_client_free(themis_server_t *server, themis_server_direct_client_t *client)
{
    themis_store_block_free(server->store, client->slots);
    if (client->process >= 0)
        close(client->process);
    free(client);
}

static themis_status_t client_create(themis_server_t *server, const themis_net_peer_credentials_t *who,
                                     themis_server_direct_client_t **client)
{
    themis_server_direct_client_t *made = calloc(1, sizeof *made);
    themis_status_t status = THEMIS_UNSUPPORTED;
    void *block;

    if (!made)
        return THEMIS_NO_MEMORY;
    made->pid = who->pid;
    made->process = (int)syscall(SYS_pidfd_open, who->pid, 0);
    if (made->process < 0)
        themis_debug("process %d: pidfd_open: %s: no direct access", (int)who->pid, strerror(errno));
    else
        status = themis_store_block_allocate(server->store, who->uid, &made->location, &block);
    if (status != THEMIS_OK) {
        themis_server_direct_client_free(server, made);
        return status;
    }
    made->slots = block;
    *client = made;
    return THEMIS_OK;
}

static themis_status_t looks_reserve(themis_server_direct_t *direct)
{
    uint32_t capacity = direct->capacity ? 2 * direct->capacity : 16;

    if (direct->clients < direct->capacity)
        return THEMIS_OK;
    themis_server_direct_look_t *grown = realloc(direct->looks, capacity * sizeof *grown);
    if (!grown)
        return THEMIS_NO_MEMORY;
    direct->looks = grown;
    direct->capacity = capacity;
    return THEMIS_OK;
}

static void client_detach(themis_server_direct_client_t *client)
{
    if (client->session)
        client->session->direct = NULL;
    client->session = NULL;
}

/* The client that the session has, if it is of this process; with one more user. */
static themis_server_direct_client_t *client_of_session(themis_server_t *server, themis_server_session_t *session,
                                                        pid_t pid, uint64_t now)
{
    themis_server_direct_client_t *client = session->direct;

    if (client && (client->pid != pid || client->ended || client->finished)) {
        themis_server_direct_client_revoke_all(server, client, now);
        client_detach(client); /* the session has come back by another process */
        themis_server_direct_client_look_soon(server, client, now);
        client = NULL;
    }
    if (client)
        client->users++;
    return client;
}

static uint32_t count_of_process(const themis_server_direct_t *direct, pid_t pid)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < direct->clients; i++)
        count += direct->looks[i].client->pid == pid;
    return count;
}

/* *client: the one to use. Another request of the session may have made one meanwhile. */
static themis_status_t client_attach(themis_server_request_t *request, themis_server_direct_client_t *made,
                                     themis_server_direct_client_t **client)
{
    themis_server_direct_t *direct = request->server->direct;
    themis_server_session_t *session = request->session;

    if (themis_server_request_is_orphan(request))
        return THEMIS_DISCONNECTED;
    *client = client_of_session(request->server, session, made->pid, themis_util_clock_now());
    if (*client)
        return THEMIS_OK;
    if (count_of_process(direct, made->pid) >= CLIENTS_OF_PROCESS)
        return THEMIS_BUSY;
    if (looks_reserve(direct) != THEMIS_OK)
        return THEMIS_NO_MEMORY;
    made->place = direct->clients++;
    direct->looks[made->place] = (themis_server_direct_look_t){UINT64_MAX, made};
    made->session = session;
    session->direct = made;
    made->users = 1;
    *client = made;
    return THEMIS_OK;
}

/* Who a process of this host is; another user than the unknown one. */
static themis_status_t credentials_of(const themis_server_request_t *request, themis_net_peer_credentials_t *who)
{
    themis_status_t status = themis_net_conn_credentials(request->conn, who);

    return status != THEMIS_OK || !who->local || who->uid == THEMIS_SERVER_DIRECT_UNKNOWN_USER ? THEMIS_UNSUPPORTED
                                                                                               : THEMIS_OK;
}

int themis_server_direct_client_is_near(const themis_server_request_t *request)
{
    themis_net_peer_credentials_t who;

    return credentials_of(request, &who) == THEMIS_OK;
}

themis_server_direct_client_t *themis_server_direct_client_find(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    themis_server_direct_client_t *found;
    themis_net_peer_credentials_t who;

    if (credentials_of(request, &who) != THEMIS_OK)
        return NULL;
    pthread_mutex_lock(&server->lock);
    found = themis_server_request_is_orphan(request)
                ? NULL
                : client_of_session(server, request->session, who.pid, themis_util_clock_now());
    pthread_mutex_unlock(&server->lock);
    return found;
}

themis_status_t themis_server_direct_client_get(themis_server_request_t *request,
                                                themis_server_direct_client_t **client)
{
    themis_server_t *server = request->server;
    themis_server_direct_client_t *made, *used = NULL;
    themis_net_peer_credentials_t who;
    themis_status_t status = credentials_of(request, &who);

    if (status == THEMIS_OK)
        status = client_create(server, &who, &made);
    if (status != THEMIS_OK)
        return status;
    pthread_mutex_lock(&server->lock);
    status = client_attach(request, made, &used);
    pthread_mutex_unlock(&server->lock);
    if (used != made)
        themis_server_direct_client_free(server, made);
    if (status == THEMIS_OK)
        *client = used;
    return status;
}

/* --- looking at it ------------------------------------------------------------------------------------------------ */

/* A worker that sleeps in the network would look too late. */
static void worker_wake(themis_server_t *server)
{
    themis_server_workers_t *workers = &server->workers;

    if (workers->polling && !pthread_equal(workers->poller, pthread_self()))
        themis_net_wake(server->net);
}

static void client_look_within(themis_server_t *server, themis_server_direct_client_t *client, uint64_t pause,
                               uint64_t now)
{
    themis_server_direct_t *direct = server->direct;
    themis_server_direct_look_t *look = &direct->looks[client->place];

    if (look->due <= now + pause)
        return;
    look->due = now + pause;
    if (direct->next_look <= look->due)
        return;
    direct->next_look = look->due;
    if (pause < ACTIVE_PAUSE)
        worker_wake(server);
}

void themis_server_direct_client_look_soon(themis_server_t *server, themis_server_direct_client_t *client, uint64_t now)
{
    client->pause = 0;
    client_look_within(server, client, FIRST_PAUSE, now);
}

void themis_server_direct_client_look_later(themis_server_t *server, themis_server_direct_client_t *client,
                                            uint64_t now)
{
    client_look_within(server, client, ACTIVE_PAUSE, now);
}

void themis_server_direct_client_revoke_all(themis_server_t *server, themis_server_direct_client_t *client,
                                            uint64_t now)
{
    for (uint32_t slot = 0; slot < THEMIS_UTIL_DIRECT_SLOTS && client->active; slot++)
        if (client->grants[slot] && !client->grants[slot]->revoked)
            themis_server_direct_grant_revoke(server, client->grants[slot], now);
}

static void client_leave(themis_server_t *server, themis_server_direct_client_t *client)
{
    themis_server_direct_t *direct = server->direct;

    client_detach(client);
    direct->looks[client->place] = direct->looks[--direct->clients];
    direct->looks[client->place].client->place = client->place;
    DL_APPEND(direct->left, client);
}

/* It has something that ends with a copy or with its process. */
static int is_ending(const themis_server_direct_client_t *client)
{
    return client->revoked || !client->session || !client->session->conn;
}

/* With a grant, when no bytes have moved: not longer than the history's samples. */
static uint64_t quiet_pause(const themis_server_config_t *config)
{
    return *config->history && config->history_interval < QUIET_PAUSE ? config->history_interval : QUIET_PAUSE;
}

static uint64_t pause_after(const themis_server_t *server, themis_server_direct_client_t *client)
{
    if (is_ending(client)) {
        client->pause = client->pause < FIRST_PAUSE ? FIRST_PAUSE : 2 * client->pause;
        if (client->pause > QUIET_PAUSE)
            client->pause = QUIET_PAUSE;
        return client->pause;
    }
    client->pause = 0;
    return !client->active ? UINT64_MAX : client->moved ? ACTIVE_PAUSE : quiet_pause(&server->config);
}

void themis_server_direct_client_look(themis_server_t *server, themis_server_direct_client_t *client, uint64_t now)
{
    client->moved = 0;
    if (is_ending(client) && process_has_ended(client))
        client->ended = 1;
    if (client->ended)
        themis_server_direct_client_revoke_all(server, client, now);
    for (uint32_t slot = 0; slot < THEMIS_UTIL_DIRECT_SLOTS && client->active + client->revoked; slot++) {
        themis_server_direct_grant_t *grant = client->grants[slot];
        if (grant && grant->revoked)
            themis_server_direct_grant_settle(server, grant, now);
        else if (grant)
            themis_server_direct_grant_count(server, grant, now);
    }
    if (!client->active && !client->revoked && !client->users && (client->ended || client->finished)) {
        client_leave(server, client);
        return;
    }
    uint64_t pause = pause_after(server, client);
    server->direct->looks[client->place].due = pause == UINT64_MAX ? UINT64_MAX : now + pause;
}

void themis_server_direct_client_put(themis_server_t *server, themis_server_direct_client_t *client, uint64_t now)
{
    client->users--;
    if (is_ending(client))
        themis_server_direct_client_look_soon(server, client, now);
}
