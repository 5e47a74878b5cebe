/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of one server list and job share a session; all end in MPI_Finalize with the attributes of MPI_COMM_WORLD.
 * MPICH deletes the attributes of MPI_COMM_SELF first, so libraries that close their files in a delete callback of
 * MPI_COMM_SELF still find the sessions open, in whatever order the callbacks were set.
 */
#include "ad_themis_session.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "ad_themis_hooks.h"

typedef struct session_entry {
    themis_t *session;
    char *asked, *servers;    /* lists: as the options had it, NULL for none; and as it is */
    char *job;                /* as it is */
    char *policy, *placement; /* of the options, NULL for none */
    uint64_t timeout;
    int warned; /* 1: that the policy was not granted */
    struct session_entry *next;
} session_entry_t;

static struct {
    pthread_mutex_t lock;
    session_entry_t *first;
    int keyval; /* deleting the attribute ends the sessions; MPI_KEYVAL_INVALID: not set */
} table = {PTHREAD_MUTEX_INITIALIZER, NULL, MPI_KEYVAL_INVALID};

static int same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void entry_free(session_entry_t *entry)
{
    themis_disconnect(entry->session);
    free(entry->asked);
    free(entry->servers);
    free(entry->job);
    free(entry->policy);
    free(entry->placement);
    free(entry);
}

static int sessions_end(MPI_Comm comm, int keyval, void *value, void *extra)
{
    session_entry_t *entry, *next;

    pthread_mutex_lock(&table.lock);
    entry = table.first;
    table.first = NULL;
    table.keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&table.lock);
    for (; entry; entry = next) {
        next = entry->next;
        entry_free(entry);
    }
    return MPI_SUCCESS;
}

/* With the table's lock. */
static void sessions_end_with_mpi(void)
{
    int keyval = MPI_KEYVAL_INVALID;

    if (table.keyval != MPI_KEYVAL_INVALID)
        return;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sessions_end, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    table.keyval = keyval;
    MPI_Comm_free_keyval(&keyval);
}

static session_entry_t *entry_find(const themis_options_t *options)
{
    for (session_entry_t *entry = table.first; entry; entry = entry->next)
        if ((same(entry->asked, options->servers) || same(entry->servers, options->servers)) &&
            (!options->job || same(entry->job, options->job)) && same(entry->policy, options->policy) &&
            same(entry->placement, options->placement) && entry->timeout == options->timeout)
            return entry;
    return NULL;
}

static themis_status_t entry_make(const themis_options_t *options, session_entry_t **made)
{
    session_entry_t *entry = calloc(1, sizeof *entry);
    themis_session_info_t info;
    themis_status_t status;

    if (!entry)
        return THEMIS_NO_MEMORY;
    status = themis_connect(options, &entry->session);
    if (status == THEMIS_OK)
        status = themis_session_info(entry->session, &info);
    if (status != THEMIS_OK) {
        entry_free(entry);
        return status;
    }
    entry->asked = copy(options->servers);
    entry->servers = copy(info.server_list);
    entry->job = copy(info.job);
    entry->policy = copy(options->policy);
    entry->placement = copy(options->placement);
    entry->timeout = options->timeout;
    *made = entry;
    return THEMIS_OK;
}

themis_status_t ADIOI_THEMIS_Session_get(const themis_options_t *asked, themis_t **session)
{
    themis_options_t options = *asked;
    themis_status_t status = THEMIS_OK;
    int held = themis_glue_lock_release();
    session_entry_t *entry;

    pthread_mutex_lock(&table.lock);
    entry = entry_find(&options);
    if (!entry) {
        status = entry_make(&options, &entry);
        if (status == THEMIS_OK) {
            entry->next = table.first;
            table.first = entry;
            sessions_end_with_mpi();
        }
    }
    /* The session may have been made for a file of one rank alone. */
    if (status == THEMIS_OK)
        status = themis_session_set_nodes(entry->session, options.nodes);
    if (status == THEMIS_OK)
        *session = entry->session;
    pthread_mutex_unlock(&table.lock);
    themis_glue_lock_acquire(held);
    return status;
}

int ADIOI_THEMIS_Session_warn_once(const themis_t *session)
{
    int first = 0;

    pthread_mutex_lock(&table.lock);
    for (session_entry_t *entry = table.first; entry; entry = entry->next)
        if (entry->session == session) {
            first = !entry->warned;
            entry->warned = 1;
        }
    pthread_mutex_unlock(&table.lock);
    return first;
}

char *ADIOI_THEMIS_Session_find_servers(int (*matches)(const char *servers, const void *arg), const void *arg)
{
    char *found = NULL;

    pthread_mutex_lock(&table.lock);
    for (session_entry_t *entry = table.first; entry && !found; entry = entry->next)
        if (entry->servers && matches(entry->servers, arg))
            found = strdup(entry->servers);
    pthread_mutex_unlock(&table.lock);
    return found;
}
