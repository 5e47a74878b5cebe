/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "client/settings.h"
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "client/array.h"
#include "client/error.h"
#include "proto/proto.h"
#include "util/clock.h"
#include "util/config.h"
#include "util/mount_point.h"
#include "util/utf8.h"

enum { ERROR_BYTES = 512, TEXT_BYTES = THEMIS_PROTO_MAX_TEXT + 1 };
/* An open that finds no server has failed on all ranks of a program within 10 s. */
static const uint64_t default_timeout = 60 * THEMIS_NS_PER_S, default_meeting = 9 * THEMIS_NS_PER_S;
static const uint64_t default_refusal = 900 * THEMIS_NS_PER_MS;

/* Where batch systems put the job's number, size, name and account; the first that is set counts. */
static const struct {
    const char *prefix, *job, *nodes, *name, *account;
} batch_systems[] = {
    {"", "THEMIS_JOB", NULL, "THEMIS_APPLICATION", "THEMIS_PROJECT"},
    {"slurm:", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_JOB_NAME", "SLURM_JOB_ACCOUNT"},
    {"pbs:", "PBS_JOBID", "PBS_NUM_NODES", "PBS_JOBNAME", "PBS_ACCOUNT"},
    {"flux:", "FLUX_JOB_ID", "FLUX_JOB_NNODES", NULL, NULL},
};

static themis_status_t no_memory(void)
{
    return themis_client_fail(THEMIS_NO_MEMORY, "out of memory while reading the settings");
}

/* "host:port" into a server. */
static themis_status_t parse_server(const char *text, themis_client_server_t *server)
{
    const char *colon = strrchr(text, ':');
    int64_t port = 0;

    if (!colon || colon == text || themis_util_config_integer(colon + 1, 1, UINT16_MAX, &port) != THEMIS_OK)
        return themis_client_fail(THEMIS_CONFIG, "server list: '%s' is not host:port", text);
    server->host = strndup(text, (size_t)(colon - text));
    server->port = (uint16_t)port;
    return server->host ? THEMIS_OK : no_memory();
}

static themis_status_t add_server(themis_client_settings_t *settings, const char *text)
{
    size_t count = settings->server_count;

    if (count >= THEMIS_PROTO_MAX_SERVERS)
        return themis_client_fail(THEMIS_CONFIG, "server list: more than %d servers", THEMIS_PROTO_MAX_SERVERS);
    if (themis_client_array_reserve(&settings->servers, &settings->server_capacity, count + 1,
                                    sizeof *settings->servers) != THEMIS_OK)
        return no_memory();
    themis_status_t status = parse_server(text, &settings->servers[count]);
    settings->server_count += status == THEMIS_OK;
    return status;
}

/* Splits the list at commas and blanks; changes it. */
static themis_status_t parse_list(themis_client_settings_t *settings, char *list)
{
    themis_status_t status = THEMIS_OK;
    size_t used = 0;
    char *rest;

    settings->server_list = calloc(1, strlen(list) + 2);
    if (!settings->server_list)
        return no_memory();
    for (char *word = strtok_r(list, ", \t", &rest); word && status == THEMIS_OK;
         word = strtok_r(NULL, ", \t", &rest)) {
        used += (size_t)sprintf(settings->server_list + used, "%s%s", used ? "," : "", word);
        status = add_server(settings, word);
    }
    if (status == THEMIS_OK && settings->server_count == 0)
        status = themis_client_fail(THEMIS_CONFIG, "the server list is empty");
    return status;
}

static int is_server_list(const char *text)
{
    themis_client_settings_t scratch = {0};
    char *copy = strdup(text);
    int good = copy && parse_list(&scratch, copy) == THEMIS_OK;

    free(copy);
    themis_client_settings_free(&scratch);
    return good;
}

/* What configuration files say; texts are owned, NULL: not said. */
typedef struct file_reading {
    char *list, *mount, *placement;
    themis_client_auth_texts_t auth;
    const char *why; /* what is wrong, in more detail than the status */
} file_reading_t;

static themis_status_t read_auth(file_reading_t *reading, const char *key, const char *value)
{
    themis_status_t status = themis_client_auth_take(&reading->auth, key, value);

    if (status != THEMIS_OK)
        reading->why = status == THEMIS_NO_ENTRY ? "no such key" : status == THEMIS_RANGE ? "too long" : "given twice";
    return status == THEMIS_NO_ENTRY ? THEMIS_CONFIG : status;
}

static themis_status_t read_mount(file_reading_t *reading, const char *value)
{
    if (reading->mount) {
        reading->why = "given twice";
        return THEMIS_CONFIG;
    }
    if (strcmp(value, "off") != 0 && !themis_util_mount_point_is_valid(value)) {
        reading->why = "wanted: an absolute path such as /themis, or off";
        return THEMIS_PARSE;
    }
    reading->mount = strdup(value);
    return reading->mount ? THEMIS_OK : THEMIS_NO_MEMORY;
}

static themis_status_t read_list(file_reading_t *reading, const char *value, char **list)
{
    if (*list) {
        reading->why = "given twice";
        return THEMIS_CONFIG;
    }
    if (!is_server_list(value)) {
        reading->why = "wanted: host:port,host:port";
        return THEMIS_PARSE;
    }
    *list = strdup(value);
    return *list ? THEMIS_OK : THEMIS_NO_MEMORY;
}

/* The section [client]; other sections are for other programs. */
static themis_status_t read_entry(void *arg, const char *section, const char *key, const char *value, int line)
{
    file_reading_t *reading = arg;

    if (strcmp(section, "client") != 0)
        return THEMIS_OK;
    if (strcmp(key, "mount") == 0)
        return read_mount(reading, value);
    if (strcmp(key, "servers") == 0)
        return read_list(reading, value, &reading->list);
    if (strcmp(key, "placement") == 0)
        return read_list(reading, value, &reading->placement);
    return read_auth(reading, key, value);
}

/* Reads it over what is there. *read: 1 if there is such a file. */
static themis_status_t read_file(const char *path, int required, file_reading_t *reading, int *read)
{
    char error[ERROR_BYTES];
    themis_status_t status = themis_util_config_read(path, read_entry, reading, error, sizeof error);

    *read = status == THEMIS_OK;
    if (status == THEMIS_OK || (status == THEMIS_NO_ENTRY && !required))
        return THEMIS_OK;
    return reading->why ? themis_client_fail(THEMIS_CONFIG, "%s (%s)", error, reading->why)
                        : themis_client_fail(THEMIS_CONFIG, "%s", error);
}

/* Is it in a directory that this process may not search? HOME is another user's after su, or where a program has given
 * up its rights. */
static int is_hidden(const char *path)
{
    return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) != 0 && errno == EACCES;
}

/* What the user's file says counts before what was read since. */
static void prefer(char *users, char **text)
{
    if (!users)
        return;
    free(*text);
    *text = users;
}

/* The user's file, or else that of the system where the user's has no server list. */
static themis_status_t read_files(file_reading_t *reading)
{
    const char *named = themis_util_config_env("THEMIS_CONFIG"), *home = themis_util_config_env("HOME");
    char path[4096];
    themis_status_t status = THEMIS_OK;
    int read = 0;

    if (named)
        return read_file(named, 1, reading, &read);
    if (home && snprintf(path, sizeof path, "%s/.config/themis.conf", home) < (int)sizeof path && !is_hidden(path))
        status = read_file(path, 0, reading, &read);
    if (status == THEMIS_OK && !reading->list) {
        reading->auth = read ? reading->auth : (themis_client_auth_texts_t){0};
        char *mount = reading->mount, *placement = reading->placement;
        reading->mount = reading->placement = NULL;
        status = read_file("/etc/themis/themis.conf", 0, reading, &read);
        prefer(mount, &reading->mount);
        prefer(placement, &reading->placement);
    }
    return status;
}

themis_status_t themis_configured_mount(char **mount)
{
    file_reading_t found = {0};
    themis_status_t status = read_files(&found);

    free(found.list);
    free(found.placement);
    explicit_bzero(&found.auth, sizeof found.auth);
    if (status == THEMIS_OK)
        *mount = found.mount;
    else
        free(found.mount);
    return status;
}

/* What is known beside the list of servers. */
typedef struct found {
    themis_client_auth_texts_t auth;
    char *placement;   /* of the files, for the list in use; owned, NULL: none */
    int is_configured; /* the list in use is that of the environment or the files, whoever names it */
} found_t;

/* Do these name the same servers in the same order? */
static int is_same_list(const char *a, const char *b)
{
    static const char separators[] = ", \t";
    size_t length;

    do {
        a += strspn(a, separators);
        b += strspn(b, separators);
        length = strcspn(a, separators);
        if (length != strcspn(b, separators) || memcmp(a, b, length) != 0)
            return 0;
        a += length;
        b += length;
    } while (length > 0);
    return 1;
}

/* Takes over what the files say. `list`: that is in use; `reading` has that of the files. */
static void found_fill(found_t *found, file_reading_t *reading, const char *list)
{
    const char *configured = themis_util_config_env("THEMIS_SERVERS");
    int is_of_files = reading->list && is_same_list(list, reading->list);

    configured = configured ? configured : reading->list;
    *found = (found_t){.auth = reading->auth, .is_configured = configured && is_same_list(list, configured)};
    if (is_of_files) {
        found->placement = reading->placement;
        reading->placement = NULL;
    }
}

/* *list is NULL if no servers are configured. `found` may be NULL. */
static themis_status_t find_servers(const themis_options_t *options, char **list, found_t *found)
{
    const char *given =
        options->servers && *options->servers ? options->servers : themis_util_config_env("THEMIS_SERVERS");
    file_reading_t reading = {0};
    themis_status_t status = THEMIS_OK;

    *list = NULL;
    if (!given || found)
        status = read_files(&reading);
    if (status == THEMIS_OK && (given || reading.list)) {
        *list = strdup(given ? given : reading.list);
        status = *list ? THEMIS_OK : no_memory();
    }
    if (found && *list)
        found_fill(found, &reading, *list);
    free(reading.mount);
    free(reading.list);
    free(reading.placement);
    explicit_bzero(&reading.auth, sizeof reading.auth);
    return status;
}

/* "user@host/number". Hydra sets no job name and starts each rank in a login session of its own, but the ranks of a
 * host are children of one proxy. */
static void default_job(char *text, size_t size)
{
    struct passwd entry, *found = NULL;
    char buffer[1024], host[128] = "host";
    int group = (int)(themis_util_config_env("PMI_RANK") ? getppid() : getsid(0));

    gethostname(host, sizeof host - 1);
    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found)
        snprintf(text, size, "%.100s@%.100s/%d", found->pw_name, host, group);
    else
        snprintf(text, size, "%u@%.100s/%d", (unsigned)geteuid(), host, group);
}

static uint32_t positive_env(const char *name)
{
    const char *text = themis_util_config_env(name);
    int64_t value = 0;

    if (!text || themis_util_config_integer(text, 1, UINT32_MAX, &value) != THEMIS_OK)
        return 0;
    return (uint32_t)value;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Job and number of nodes; of the numbers that the program and the batch system give, the larger one. */
static themis_status_t find_job(const themis_options_t *options, themis_client_settings_t *settings)
{
    char text[TEXT_BYTES];
    uint32_t named = positive_env("THEMIS_NODES"), nodes = 0;

    default_job(text, sizeof text);
    for (size_t i = sizeof batch_systems / sizeof *batch_systems; i-- > 0;) {
        const char *job = themis_util_config_env(batch_systems[i].job);
        if (!job)
            continue;
        snprintf(text, sizeof text, "%s%s", batch_systems[i].prefix, job);
        if (batch_systems[i].nodes)
            nodes = positive_env(batch_systems[i].nodes);
    }
    if (options->job && *options->job)
        snprintf(text, sizeof text, "%s", options->job);
    settings->nodes = larger(larger(options->nodes, named ? named : nodes), 1);
    settings->job = strdup(text);
    return settings->job ? THEMIS_OK : no_memory();
}

/* Without a name from outside the program's own. */
static void find_application(const themis_options_t *options, themis_client_settings_t *settings)
{
    const char *name = NULL, *account = NULL;

    for (size_t i = 0; i < sizeof batch_systems / sizeof *batch_systems; i++) {
        if (!name && batch_systems[i].name)
            name = themis_util_config_env(batch_systems[i].name);
        if (!account && batch_systems[i].account)
            account = themis_util_config_env(batch_systems[i].account);
    }
    if (!name)
        name = options->application ? options->application : program_invocation_short_name;
    themis_util_utf8_copy(name, settings->application, sizeof settings->application);
    themis_util_utf8_copy(account ? account : "", settings->project, sizeof settings->project);
}

static themis_status_t find_timeout(const themis_options_t *options, themis_client_settings_t *settings)
{
    const char *text = themis_util_config_env("THEMIS_TIMEOUT");
    uint64_t timeout = options->timeout;

    if (!timeout && text && (themis_util_config_duration(text, &timeout) != THEMIS_OK || timeout == 0))
        return themis_client_fail(THEMIS_CONFIG, "THEMIS_TIMEOUT=%s is not a time such as 10s", text);
    settings->timeout = timeout ? timeout : default_timeout;
    settings->meeting = timeout ? timeout : default_meeting;
    settings->refusal = timeout ? timeout : default_refusal;
    return THEMIS_OK;
}

static themis_status_t find_direct(const themis_options_t *options, int *direct)
{
    const char *text = themis_util_config_env("THEMIS_DIRECT");

    *direct = options->direct;
    if (options->direct || !text || strcmp(text, "auto") == 0)
        return THEMIS_OK;
    if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
        return themis_client_fail(THEMIS_CONFIG, "THEMIS_DIRECT=%s is not auto, on or off", text);
    *direct = strcmp(text, "on") == 0 ? 1 : -1;
    return THEMIS_OK;
}

/* That of the environment is for the configured servers: where others are named and have none of it, it does not count.
 */
static themis_status_t find_placement(const themis_options_t *options, const found_t *found,
                                      themis_client_settings_t *settings)
{
    const char *text = options->placement && *options->placement ? options->placement : NULL;
    const char *what = text ? "placement" : "THEMIS_PLACEMENT";
    int is_asked = text != NULL;
    char unknown[TEXT_BYTES];
    uint32_t known;

    if (!text)
        text = themis_util_config_env("THEMIS_PLACEMENT");
    if (!text && found->placement) {
        text = found->placement;
        what = "[client] placement";
    }
    if (!text)
        return THEMIS_OK;
    themis_status_t status = themis_client_placement_read(text, settings->server_list, &settings->placement, &known,
                                                          unknown, sizeof unknown);
    if (status == THEMIS_OK || (status == THEMIS_NO_ENTRY && known == 0 && !is_asked && !found->is_configured))
        return THEMIS_OK;
    if (status == THEMIS_NO_MEMORY)
        return no_memory();
    if (status == THEMIS_NO_ENTRY)
        return themis_client_fail(THEMIS_CONFIG, "%s: '%s' is not in the list of servers, %.256s%s", what, unknown,
                                  settings->server_list, strlen(settings->server_list) > 256 ? "..." : "");
    return themis_client_fail(THEMIS_CONFIG, "%s names no server", what);
}

static themis_status_t settings_complete(const themis_options_t *options, const found_t *found,
                                         themis_client_settings_t *settings)
{
    themis_status_t status;

    if ((status = find_placement(options, found, settings)) != THEMIS_OK ||
        (status = find_job(options, settings)) != THEMIS_OK ||
        (status = find_timeout(options, settings)) != THEMIS_OK ||
        (status = find_direct(options, &settings->direct)) != THEMIS_OK)
        return status;
    return themis_client_auth_load(&found->auth, &settings->network, &settings->auth);
}

static themis_status_t settings_fill(const themis_options_t *options, themis_client_settings_t *settings)
{
    char *list;
    found_t found = {.placement = NULL};
    uint32_t priority = positive_env("THEMIS_PRIORITY");
    themis_status_t status = find_servers(options, &list, &found);

    if (status == THEMIS_OK && list)
        status = parse_list(settings, list);
    if (status == THEMIS_OK && list)
        status = settings_complete(options, &found, settings);
    free(found.placement);
    explicit_bzero(&found.auth, sizeof found.auth);
    if (status != THEMIS_OK) {
        free(list);
        return status;
    }
    if (!list)
        return themis_client_fail(THEMIS_CONFIG,
                                  "no servers: set THEMIS_SERVERS=host:port,host:port, or start the program with "
                                  "'themis run'");
    free(list);
    find_application(options, settings);
    settings->priority = options->priority ? options->priority : priority ? priority : 1;
    settings->policy = strdup(options->policy ? options->policy : "");
    return settings->policy ? THEMIS_OK : no_memory();
}

themis_status_t themis_client_settings_load(const themis_options_t *options, themis_client_settings_t *settings)
{
    *settings = (themis_client_settings_t){0};
    themis_status_t status = settings_fill(options, settings);

    if (status != THEMIS_OK)
        themis_client_settings_free(settings);
    return status;
}

themis_status_t themis_configured_servers(const themis_options_t *options, char **list)
{
    const themis_options_t defaults = {0};
    themis_client_settings_t settings;
    char *found;

    options = options ? options : &defaults;
    themis_status_t status = find_servers(options, &found, NULL);
    if (status != THEMIS_OK)
        return status;
    if (!found)
        return themis_client_fail(THEMIS_NO_ENTRY, "no servers are configured");
    free(found);
    if ((status = themis_client_settings_load(options, &settings)) != THEMIS_OK)
        return status;
    *list = settings.server_list;
    settings.server_list = NULL;
    themis_client_settings_free(&settings);
    return THEMIS_OK;
}

void themis_client_settings_free(themis_client_settings_t *settings)
{
    for (uint32_t i = 0; i < settings->server_count; i++)
        free(settings->servers[i].host);
    free(settings->servers);
    free(settings->server_list);
    free(settings->job);
    free(settings->policy);
    themis_client_placement_free(&settings->placement);
    explicit_bzero(&settings->auth, sizeof settings->auth);
    *settings = (themis_client_settings_t){0};
}
