/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions of this process. Files of one server list and job share one; all end in MPI_Finalize with the attributes of
 * MPI_COMM_WORLD. MPICH deletes those of MPI_COMM_SELF before, and so libraries that close their files in a delete
 * callback of MPI_COMM_SELF find the sessions alive, whoever came first.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "ad_themis.h"
#include "util/config.h"

/* An open that finds no server has failed on all ranks before 10 s are over. */
#define DEFAULT_TIMEOUT (UINT64_C(9000000000)) /* ns */

typedef struct session_entry {
    themis_t *session;
    char *asked, *servers; /* as the wish had them, NULL for none; and as they are */
    char *job, *policy;    /* of the wish, NULL for none */
    uint64_t timeout;
    int told; /* 1: that the wish for a policy was not granted */
    struct session_entry *next;
} session_entry_t;

static struct {
    pthread_mutex_t lock;
    session_entry_t *first;
    int keyval; /* its deletion ends the sessions; MPI_KEYVAL_INVALID: not set */
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
static void end_with_mpi(void)
{
    int keyval = MPI_KEYVAL_INVALID;

    if (table.keyval != MPI_KEYVAL_INVALID)
        return;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, sessions_end, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    table.keyval = keyval;
    MPI_Comm_free_keyval(&keyval);
}

static session_entry_t *find(const ADIOI_THEMIS_Wish *wish)
{
    for (session_entry_t *entry = table.first; entry; entry = entry->next)
        if ((same(entry->asked, wish->servers) || same(entry->servers, wish->servers)) &&
            (!wish->job || same(entry->job, wish->job)) && same(entry->policy, wish->policy) &&
            entry->timeout == wish->timeout)
            return entry;
    return NULL;
}

static themis_status_t entry_make(const ADIOI_THEMIS_Wish *wish, session_entry_t **made)
{
    session_entry_t *entry = calloc(1, sizeof *entry);
    themis_session_info_t info;
    themis_options_t options;
    themis_status_t status;

    if (!entry)
        return THEMIS_NO_MEMORY;
    themis_options_init(&options);
    options.servers = wish->servers;
    options.job = wish->job;
    options.policy = wish->policy;
    options.timeout = wish->timeout;
    options.nodes = wish->nodes;
    status = themis_connect(&options, &entry->session);
    if (status == THEMIS_OK)
        status = themis_session_info(entry->session, &info);
    if (status != THEMIS_OK) {
        entry_free(entry);
        return status;
    }
    entry->asked = copy(wish->servers);
    entry->servers = copy(info.server_list);
    entry->job = copy(info.job);
    entry->policy = copy(wish->policy);
    entry->timeout = wish->timeout;
    *made = entry;
    return THEMIS_OK;
}

themis_status_t ADIOI_THEMIS_Session(const ADIOI_THEMIS_Wish *asked, themis_t **session)
{
    ADIOI_THEMIS_Wish own = *asked, *wish = &own;
    themis_status_t status = THEMIS_OK;
    int held = ADIOI_THEMIS_Lock_release();
    session_entry_t *entry;

    if (!own.timeout && !themis_util_config_env("THEMIS_TIMEOUT"))
        own.timeout = DEFAULT_TIMEOUT;
    pthread_mutex_lock(&table.lock);
    entry = find(wish);
    if (!entry) {
        status = entry_make(wish, &entry);
        if (status == THEMIS_OK) {
            entry->next = table.first;
            table.first = entry;
            end_with_mpi();
        }
    }
    /* The first file of a process may have been one rank's own. */
    if (status == THEMIS_OK)
        status = themis_session_set_nodes(entry->session, wish->nodes);
    if (status == THEMIS_OK)
        *session = entry->session;
    pthread_mutex_unlock(&table.lock);
    ADIOI_THEMIS_Lock_acquire(held);
    return status;
}

int ADIOI_THEMIS_Session_untold(const themis_t *session)
{
    int untold = 0;

    pthread_mutex_lock(&table.lock);
    for (session_entry_t *entry = table.first; entry; entry = entry->next)
        if (entry->session == session) {
            untold = !entry->told;
            entry->told = 1;
        }
    pthread_mutex_unlock(&table.lock);
    return untold;
}

void ADIOI_THEMIS_Servers_shorten(const char *servers, char text[AD_THEMIS_SHORT_SERVERS])
{
    snprintf(text, AD_THEMIS_SHORT_SERVERS, "@%016llx", (unsigned long long)XXH3_64bits(servers, strlen(servers)));
}

/* Puts the list in place of what stands for it; what stands for nothing stays. */
static void lengthen(char **servers)
{
    char text[AD_THEMIS_SHORT_SERVERS];

    pthread_mutex_lock(&table.lock);
    for (session_entry_t *entry = table.first; entry; entry = entry->next) {
        if (!entry->servers)
            continue;
        ADIOI_THEMIS_Servers_shorten(entry->servers, text);
        if (strcmp(*servers, text) == 0) {
            free(*servers);
            *servers = strdup(entry->servers);
            break;
        }
    }
    pthread_mutex_unlock(&table.lock);
}

/* "/" and the text, or the text if it begins with one. */
static char *absolute(const char *path)
{
    size_t length = strlen(path);
    char *made = malloc(length + 2);

    if (!made)
        return NULL;
    made[0] = '/';
    memcpy(made + (*path == '/' ? 0 : 1), path, length + 1);
    return made;
}

themis_status_t ADIOI_THEMIS_Name_split(const char *name, char **servers, char **path)
{
    const char *rest = name;
    char *list = NULL, *made;

    if (strncmp(name, "//", 2) == 0 && name[2] != '/') {
        rest = name + 2 + strcspn(name + 2, "/");
        list = strndup(name + 2, (size_t)(rest - name - 2));
        if (list && list[0] == '@')
            lengthen(&list);
    } else {
        list = strdup("");
    }
    made = absolute(rest);
    if (!list || !made) {
        free(list);
        free(made);
        return THEMIS_NO_MEMORY;
    }
    *servers = list;
    *path = made;
    return THEMIS_OK;
}
