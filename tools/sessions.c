/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/sessions.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "tools/reach.h"
#include "tools/server_list.h"
#include "util/clock.h"
#include "util/config.h"
#include "util/mount_point.h"

enum { LIST_BYTES = 4096 };
static const uint64_t reach_limit = 300 * THEMIS_NS_PER_MS, down_timeout = 600 * THEMIS_NS_PER_MS;
static const char scheme[] = "themis:";

/* One for each server list that was named; a tool uses few. */
typedef struct known {
    char *servers; /* "": the default */
    themis_t *session;
    unsigned char *down; /* owned; for each server: 1 if it could not be reached */
    unsigned down_count;
    struct known *next;
} known_t;

static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER; /* cp names locations in several threads */
static uint64_t usual_timeout;                                 /* ns; 0: the library's */
static known_t *all_known;                                     /* new ones in front; the others do not change */

char *themis_tools_session_list(const char *servers)
{
    char started[LIST_BYTES], *list = NULL;
    themis_options_t options;

    themis_options_init(&options);
    options.servers = servers;
    themis_status_t status = themis_configured_servers(&options, &list);
    if (status == THEMIS_OK)
        return list;
    return status == THEMIS_NO_ENTRY && themis_tools_server_list_started(started, sizeof started) ? strdup(started)
                                                                                                  : NULL;
}

/* Servers that are down are not waited for as long as those that may come back. */
static themis_status_t known_connect(known_t *known, const char *servers)
{
    themis_options_t options;
    char *list = themis_tools_session_list(servers);
    unsigned answering = 0;

    known->down = calloc(THEMIS_TOOLS_MAX_REACHED, 1);
    if (list && known->down)
        known->down_count = themis_tools_reach(list, reach_limit, known->down, THEMIS_TOOLS_MAX_REACHED, &answering);
    themis_options_init(&options);
    options.servers = list ? list : servers;
    options.application = "";
    if (!themis_util_config_env("THEMIS_TIMEOUT"))
        options.timeout = list && (known->down_count > 0 || answering == 0) ? down_timeout : usual_timeout;
    themis_status_t status = themis_connect(&options, &known->session);
    free(list);
    return status;
}

static int known_get(const char *servers, themis_t **session)
{
    const char *key = servers ? servers : "";
    known_t *known = all_known;

    while (known && strcmp(known->servers, key) != 0)
        known = known->next;
    if (known) {
        *session = known->session;
        return THEMIS_TOOLS_OK;
    }
    known = calloc(1, sizeof *known);
    if (known)
        known->servers = strdup(key);
    if (!known || !known->servers || known_connect(known, servers) != THEMIS_OK) {
        themis_tools_error("%s", known && known->servers ? themis_last_error() : "out of memory");
        if (known) {
            free(known->servers);
            free(known->down);
        }
        free(known);
        return THEMIS_TOOLS_FAILED;
    }
    known->next = all_known;
    all_known = known;
    *session = known->session;
    return THEMIS_TOOLS_OK;
}

int themis_tools_session_get(const char *servers, themis_t **session)
{
    pthread_mutex_lock(&known_lock);
    int result = known_get(servers, session);
    pthread_mutex_unlock(&known_lock);
    return result;
}

void themis_tools_sessions_limit(uint64_t timeout)
{
    pthread_mutex_lock(&known_lock);
    usual_timeout = timeout;
    pthread_mutex_unlock(&known_lock);
}

void themis_tools_sessions_close(void)
{
    while (all_known) {
        known_t *known = all_known;
        all_known = known->next;
        themis_disconnect(known->session);
        free(known->servers);
        free(known->down);
        free(known);
    }
}

int themis_tools_session_is_down(themis_t *session, uint32_t index, uint32_t *down)
{
    pthread_mutex_lock(&known_lock);
    const known_t *known = all_known;
    pthread_mutex_unlock(&known_lock);

    while (known && known->session != session)
        known = known->next;
    if (down)
        *down = known ? known->down_count : 0;
    return known && known->down && index < THEMIS_TOOLS_MAX_REACHED && known->down[index];
}

/* Whether server `index` of both sessions is the same. On failure one of them did not answer. */
static themis_status_t compare_server(themis_t *a, themis_t *b, uint32_t index, int *same)
{
    char *text_a = NULL, *text_b = NULL;
    themis_status_t status = themis_query(a, index, "instance", &text_a);

    if (status == THEMIS_OK && (status = themis_query(b, index, "instance", &text_b)) == THEMIS_OK)
        *same = strcmp(text_a, text_b) == 0;
    free(text_a);
    free(text_b);
    return status;
}

/* A list has all servers of its file system in order, so only servers with the same index can be the same. */
static int compare_servers(themis_t *a, themis_t *b, int *same)
{
    themis_session_info_t info_a, info_b;
    uint32_t answered = 0;
    int found = 0;

    if (themis_session_info(a, &info_a) != THEMIS_OK || themis_session_info(b, &info_b) != THEMIS_OK)
        return themis_tools_error_last();
    for (uint32_t i = 0; info_a.servers == info_b.servers && i < info_a.servers && !found; i++)
        answered += compare_server(a, b, i, &found) == THEMIS_OK;
    if (info_a.servers == info_b.servers && answered == 0)
        return themis_tools_error("cannot tell whether %s and %s are the same servers: %s", info_a.server_list,
                                  info_b.server_list, themis_last_error());
    *same = found;
    return THEMIS_TOOLS_OK;
}

int themis_tools_session_same_servers(themis_t *a, themis_t *b, int *same)
{
    static _Thread_local struct {
        themis_t *a, *b;
        int same;
    } last; /* for the files of a tree the question is always the same */

    if (a == b) {
        *same = 1;
        return THEMIS_TOOLS_OK;
    }
    if (last.a != a || last.b != b) {
        int answer = 0, result = compare_servers(a, b, &answer);
        if (result != THEMIS_TOOLS_OK)
            return result;
        last.a = a;
        last.b = b;
        last.same = answer;
    }
    *same = last.same;
    return THEMIS_TOOLS_OK;
}

int themis_tools_session_is_remote(const char *text)
{
    return strncmp(text, scheme, sizeof scheme - 1) == 0;
}

int themis_tools_session_resolve(const char *text, themis_t **session, const char **path)
{
    const char *rest = text + sizeof scheme - 1;

    if (!themis_tools_session_is_remote(text))
        return themis_tools_error(
            "%s is not a path on servers; write themis:/path or themis://host:port,host:port/path", text);
    if (strncmp(rest, "//", 2) != 0) {
        const char *below = themis_util_mount_point_below(rest);
        rest = below ? below : rest;
        *path = *rest ? rest : "/";
        return themis_tools_session_get(NULL, session);
    }
    const char *slash = strchr(rest + 2, '/');
    char *servers = strndup(rest + 2, slash ? (size_t)(slash - rest - 2) : strlen(rest + 2));
    if (!servers)
        return themis_tools_error("out of memory");
    *path = slash ? slash : "/";
    int status = themis_tools_session_get(servers, session);
    free(servers);
    return status;
}

int themis_tools_session_each_path(int argc, char **argv, const themis_tools_option_t *options,
                                   themis_tools_path_fn act, void *arg)
{
    int at = themis_tools_options(argc, argv, options), result = THEMIS_TOOLS_OK;
    themis_t *session;
    const char *path;

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (at == argc)
        return themis_tools_usage();
    for (; at < argc; at++) {
        int failed = themis_tools_session_resolve(argv[at], &session, &path);
        result |= failed ? failed : act(arg, session, path);
    }
    return result;
}
