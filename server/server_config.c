/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/server_config.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "proto/proto.h"
#include "util/config.h"

typedef enum kind { TEXT, BYTES, DURATION, INTEGER, CHOICE } kind_t;

/* Does a running server take a changed value over? */
typedef enum reload { RESTART, RELOAD } reload_t;

typedef struct key {
    const char *section, *name;
    kind_t kind;
    size_t offset, size; /* of the member */
    int64_t min, max;    /* BYTES and INTEGER */
    const char *choices; /* CHOICE: "a|b" */
    reload_t reload;
    const char *initial; /* the default; NULL: zeros */
    const char *help;
} config_key_t;

#define MEMBER(member) offsetof(themis_server_config_t, member), sizeof(((themis_server_config_t *)0)->member)
#define TEXT_KEY(section, name) section, #name, TEXT, MEMBER(name), 0, 0, NULL
#define TIME_KEY(section, name) section, #name, DURATION, MEMBER(name), 0, 0, NULL
#define BYTES_KEY(section, name, min, max) section, #name, BYTES, MEMBER(name), min, max, NULL
#define NUMBER_KEY(section, name, min, max) section, #name, INTEGER, MEMBER(name), min, max, NULL
#define CHOICE_KEY(section, name, choices) section, #name, CHOICE, MEMBER(name), 0, 0, choices
#define MAX_BYTES INT64_MAX

static const config_key_t keys[] = {
    {TEXT_KEY("server", name), RESTART, NULL, "name in messages (host:port)"},
    {TEXT_KEY("server", listen), RESTART, NULL, "host or address to listen at (all)"},
    {NUMBER_KEY("server", port, 0, 65535), RESTART, "7711", "port, 0 for any"},
    {TEXT_KEY("server", servers), RESTART, NULL, "host:port,... of all servers, in the clients' order"},
    {NUMBER_KEY("server", count, 1, THEMIS_PROTO_MAX_SERVERS), RESTART, "1",
     "number of servers if they are not listed"},
    {NUMBER_KEY("server", index, 0, THEMIS_PROTO_MAX_SERVERS - 1), RESTART, NULL,
     "place of this server in the list (found by listen and port, or 0)"},
    {TEXT_KEY("server", state), RESTART, NULL, "directory of the namespace (none: in memory)"},
    {NUMBER_KEY("server", workers, 0, 1024), RESTART, "0", "threads, 0 for one per core, at least 2"},
    {CHOICE_KEY("server", log, "error|warn|info|debug"), RELOAD, "info", "level of messages"},
    {TEXT_KEY("server", log_file), RELOAD, NULL, "file for messages, opened again on SIGHUP (standard error)"},
    {TIME_KEY("server", drain), RELOAD, "10s", "time for queued requests when the server stops"},
    {TIME_KEY("server", lease), RELOAD, "15s", "time that locks outlive a lost connection"},
    {TIME_KEY("server", lock_wait), RELOAD, "10m",
     "time that a request may wait for a lock that another holds, 0 for no limit"},
    {TIME_KEY("server", stall_limit), RELOAD, "30s",
     "time that a client may delay its transfer before it is disconnected"},
    {TEXT_KEY("server", key), RESTART, NULL, "file with the key of clients' rights, the same for all servers, or none"},
    {TIME_KEY("server", capability_lifetime), RELOAD, "168h", "time after which clients' rights are looked up again"},
    {CHOICE_KEY("server", auth, "local|none|secret|munge"), RESTART, NULL,
     "who processes of other hosts are: none may connect, whoever they claim, who knows the secret, whoever munged "
     "says"},
    {TEXT_KEY("server", secret), RESTART, NULL, "file with the secret of auth = secret (THEMIS_SECRET_FILE)"},
    {TEXT_KEY("server", munge_socket), RESTART, NULL, "socket of munged, where it is not the usual one"},
    {CHOICE_KEY("server", transport, "tcp|ucx"), RESTART, "tcp",
     "between hosts: tcp, or ucx, where no stranger can reach this server"},
    {CHOICE_KEY("server", insecure, "no|yes"), RESTART, "no",
     "may other hosts connect without authentication (auth = none, transport = ucx)"},
    {CHOICE_KEY("store", store, "arena|posix"), RESTART, "arena", "where bytes are kept"},
    {BYTES_KEY("store", size, 4096, MAX_BYTES), RESTART, "1GiB", "size of the arena"},
    {TEXT_KEY("store", directory), RESTART, NULL, "directory of the posix store, or of an arena that lasts"},
    {TEXT_KEY("store", file), RESTART, NULL, "file that an arena maps which does not last"},
    {BYTES_KEY("store", warm, 0, MAX_BYTES), RESTART, "256MiB", "bytes of the arena touched ahead of use"},
    {CHOICE_KEY("store", direct, "auto|on|off"), RELOAD, "auto",
     "do clients on this host use the arena's memory: while one job is active, always or never"},
    {BYTES_KEY("layout", stripe_size, 4096, INT64_C(1) << 32), RELOAD, "1MiB", "stripe size of new files"},
    {NUMBER_KEY("layout", stripe_count, 0, THEMIS_PROTO_MAX_SERVERS), RELOAD, "0", "servers of a new file, 0 for all"},
    {TEXT_KEY("sharing", policy), RELOAD, "job-fair", "size-fair, user-then-job-fair, fifo, ..."},
    {TEXT_KEY("sharing", policies), RELOAD, NULL,
     "policies that jobs may request: names separated by commas, or any (none)"},
    {TEXT_KEY("sharing", plan), RELOAD, NULL, "file with the plan that a periodic policy follows (none)"},
    {CHOICE_KEY("sharing", draw, "stride|statistical"), RELOAD, "stride", "how the next job is drawn"},
    {BYTES_KEY("sharing", quantum, 4096, INT64_C(1) << 30), RESTART, "1MiB", "bytes served at a time"},
    {BYTES_KEY("sharing", store_bandwidth, 0, MAX_BYTES), RESTART, "0",
     "bytes/s that the store may move, 0 for no limit"},
    {TIME_KEY("sharing", lambda), RELOAD, "500ms", "time between exchanges of servers, 0 for none"},
    {TIME_KEY("sharing", heartbeat), RELOAD, "5s", "time between heartbeats of an idle client"},
    {NUMBER_KEY("sharing", heartbeat_limit, 1, 1000000), RELOAD, "3",
     "missed heartbeats after which a job is inactive"},
    {CHOICE_KEY("sharing", expired, "drain|drop"), RELOAD, "drain", "what to do with its requests: serve or drop them"},
    {NUMBER_KEY("sharing", max_nodes, 1, UINT32_MAX), RELOAD, "16384", "nodes that a job may claim"},
    {NUMBER_KEY("sharing", max_priority, 1, UINT32_MAX), RELOAD, "100", "priority that a job may claim"},
    {BYTES_KEY("sharing", node_bandwidth, 0, MAX_BYTES), RESTART, "0",
     "bytes/s that a node can move at this server, for the policy min-dilation; 0 for unknown"},
    {TIME_KEY("sharing", gift_interval), RESTART, "500ms", "interval of the policy gift"},
    {NUMBER_KEY("sharing", tbf_rate, 1, 1000000000), RESTART, "10000", "requests/s of the policy tbf"},
    {TEXT_KEY("metrics", metrics_listen), RESTART, "127.0.0.1", "address of the metrics"},
    {NUMBER_KEY("metrics", metrics_port, 0, 65535), RESTART, "0", "port of the metrics, 0 for off"},
    {TEXT_KEY("history", history), RESTART, NULL, "directory for the records of jobs (none are kept)"},
    {TIME_KEY("history", history_interval), RESTART, "1s", "time between samples of a job"},
    {TIME_KEY("history", history_update), RESTART, "1m", "time between records of a job that runs"},
    {TIME_KEY("history", history_keep), RESTART, "365d", "time after which records are removed"},
    {BYTES_KEY("history", history_size, 1 << 20, MAX_BYTES), RESTART, "1GiB",
     "bytes of records beyond which the oldest are removed"},
    {CHOICE_KEY("history", history_public, "no|yes"), RESTART, "no", "may users read the records of others"},
    {TEXT_KEY("allocate", allocate), RESTART, NULL, "file of the site whose servers this one allocates to jobs (none)"},
    {TEXT_KEY("allocate", allocate_history), RESTART, NULL,
     "directories of the records that decisions rest on, separated by commas (history)"},
    {CHOICE_KEY("allocate", allocate_by, "users|admins"), RELOAD, "users", "who may allocate servers"},
    {TIME_KEY("allocate", allocate_lease), RELOAD, "24h", "time after which an allocation ends that names none"},
};
enum { KEYS = sizeof keys / sizeof *keys };
static_assert(sizeof keys / sizeof *keys <= (size_t)THEMIS_SERVER_CONFIG_KEYS, "a line for each key");

/* Is `value` one of "a|b|c"? */
static int is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value), part;

    for (;; choices += part + 1) {
        part = strcspn(choices, "|");
        if (part == length && strncmp(choices, value, part) == 0)
            return 1;
        if (!choices[part])
            return 0;
    }
}

static themis_status_t bytes_parse(const config_key_t *key, const char *value, uint64_t *bytes)
{
    uint64_t parsed;
    themis_status_t status = themis_util_config_bytes(value, &parsed);

    if (status == THEMIS_OK && (parsed < (uint64_t)key->min || parsed > (uint64_t)key->max))
        status = THEMIS_RANGE;
    if (status == THEMIS_OK)
        *bytes = parsed;
    return status;
}

static themis_status_t key_parse(const config_key_t *key, const char *value, void *member)
{
    if (key->kind == INTEGER)
        return themis_util_config_integer(value, key->min, key->max, member);
    if (key->kind == DURATION)
        return themis_util_config_duration(value, member);
    if (key->kind == BYTES)
        return bytes_parse(key, value, member);
    if (key->kind == CHOICE && !is_choice(key->choices, value))
        return THEMIS_PARSE;
    if (strlen(value) >= key->size)
        return THEMIS_RANGE;
    strcpy(member, value);
    return THEMIS_OK;
}

void themis_server_config_init(themis_server_config_t *config)
{
    memset(config, 0, sizeof *config);
    config->index = config->key_fd = -1;
    for (size_t i = 0; i < KEYS; i++)
        if (keys[i].initial)
            key_parse(&keys[i], keys[i].initial, (char *)config + keys[i].offset);
}

/* What values of the key look like. */
static void key_expectation(const config_key_t *key, char *text, size_t size)
{
    if (key->kind == INTEGER)
        snprintf(text, size, "expected a number from %lld to %lld", (long long)key->min, (long long)key->max);
    else if (key->kind == DURATION)
        snprintf(text, size, "expected a time such as 500ms, 10s or 1m");
    else if (key->kind == CHOICE)
        snprintf(text, size, "expected one of %s", key->choices);
    else if (key->kind == TEXT)
        snprintf(text, size, "longer than %zu bytes", key->size - 1);
    if (key->kind != BYTES)
        return;
    snprintf(text, size, "expected a size such as 64k, 1m or 2g");
    if (key->min > 0)
        snprintf(text + strlen(text), size - strlen(text), ", at least %lld bytes", (long long)key->min);
    if (key->max < MAX_BYTES)
        snprintf(text + strlen(text), size - strlen(text), " and at most %lld", (long long)key->max);
}

/* `line`: of the file; -1: an option. On failure `why` (128 bytes) says what was expected. */
static themis_status_t key_set(themis_server_config_t *config, size_t number, const char *value, int line,
                               char why[128])
{
    themis_status_t status = key_parse(&keys[number], value, (char *)config + keys[number].offset);

    if (status == THEMIS_OK)
        config->line[number] = line;
    else
        key_expectation(&keys[number], why, 128);
    return status;
}

typedef struct reading {
    themis_server_config_t *config;
    char why[128]; /* more than the status says */
} reading_t;

/* Where the key belongs, or which sections there are. */
static void unknown_explain(reading_t *reading, const char *section, const char *name)
{
    size_t used = 0;
    int known = 0;

    for (size_t i = 0; i < KEYS; i++) {
        known |= strcmp(keys[i].section, section) == 0;
        if (strcmp(keys[i].name, name) == 0) {
            snprintf(reading->why, sizeof reading->why, "%s belongs to [%s]", name, keys[i].section);
            return;
        }
    }
    if (known) {
        snprintf(reading->why, sizeof reading->why, "no such key");
        return;
    }
    for (size_t i = 0; i < KEYS; i++)
        if (i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0)
            used += (size_t)snprintf(reading->why + used, sizeof reading->why - used, "%s [%s]",
                                     used ? "," : "no such section; a server reads", keys[i].section);
}

static themis_status_t on_entry(void *arg, const char *section, const char *name, const char *value, int line)
{
    reading_t *reading = arg;

    if (strcmp(section, "client") == 0 || strcmp(section, "hints") == 0)
        return THEMIS_OK; /* of other readers of the same file */
    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].section, section) != 0 || strcmp(keys[i].name, name) != 0)
            continue;
        if (reading->config->line[i] <= 0)
            return key_set(reading->config, i, value, line, reading->why);
        snprintf(reading->why, sizeof reading->why, "already set in line %d", reading->config->line[i]);
        return THEMIS_CONFIG;
    }
    unknown_explain(reading, section, name);
    return THEMIS_CONFIG;
}

themis_status_t themis_server_config_read(themis_server_config_t *config, const char *path, char *error, size_t size)
{
    themis_server_config_t fresh = *config;
    reading_t reading = {.config = &fresh};

    snprintf(fresh.path, sizeof fresh.path, "%s", path);
    themis_status_t status = themis_util_config_read(path, on_entry, &reading, error, size);
    size_t used = strlen(error);
    if (status == THEMIS_OK)
        *config = fresh;
    else if (*reading.why && used < size)
        snprintf(error + used, size - used, " (%s)", reading.why);
    return status;
}

/* Equal but for '-' and '_'. */
static int is_option(const char *option, const char *name)
{
    while (*option && (*option == *name || (*option == '-' && *name == '_')))
        option++, name++;
    return *option == *name;
}

themis_status_t themis_server_config_set(themis_server_config_t *config, const char *option, const char *value,
                                         char *error, size_t size)
{
    char why[128];

    for (size_t i = 0; i < KEYS; i++) {
        if (!is_option(option, keys[i].name))
            continue;
        themis_status_t status = key_set(config, i, value, -1, why);
        if (status != THEMIS_OK)
            snprintf(error, size, "--%s %s: %s", option, value, why);
        return status;
    }
    snprintf(error, size, "--%s: no such option", option);
    return THEMIS_NO_ENTRY;
}

themis_status_t themis_server_config_address(const themis_server_config_t *config, uint32_t index, char host[256],
                                             uint16_t *port)
{
    const char *at = config->servers;
    int64_t number;
    char digits[8];

    for (; index && *at; index--) {
        at += strcspn(at, ",");
        at += *at == ',';
    }
    size_t length = strcspn(at, ",");
    if (length == 0)
        return THEMIS_RANGE;
    const char *colon = memrchr(at, ':', length);
    if (!colon || colon == at || colon - at > 255 || at + length - colon > 6)
        return THEMIS_PARSE;
    snprintf(digits, sizeof digits, "%.*s", (int)(at + length - colon - 1), colon + 1);
    if (themis_util_config_integer(digits, 1, 65535, &number) != THEMIS_OK)
        return THEMIS_PARSE;
    snprintf(host, 256, "%.*s", (int)(colon - at), at);
    *port = (uint16_t)number;
    return THEMIS_OK;
}

static size_t key_of(const themis_server_config_t *config, const void *member)
{
    size_t offset = (size_t)((const char *)member - (const char *)config), i = 0;

    while (i < KEYS - 1 && keys[i].offset != offset)
        i++;
    return i;
}

int themis_server_config_is_in_file(const themis_server_config_t *config, const void *member)
{
    return config->line[key_of(config, member)] > 0;
}

size_t themis_server_config_where(const themis_server_config_t *config, const void *member, char *text, size_t size)
{
    size_t i = key_of(config, member);
    char file[THEMIS_SERVER_CONFIG_TEXT + 16] = "";

    int line = config->line[i];
    if (line > 0)
        snprintf(file, sizeof file, "%s:%d: ", config->path, line);
    int used = snprintf(text, size, "%s[%s] %s: ", line < 0 ? "option " : file, keys[i].section, keys[i].name);
    return (size_t)used < size ? (size_t)used : size - 1;
}

void themis_server_config_reload(themis_server_config_t *config, const themis_server_config_t *fresh, char *kept,
                                 size_t size)
{
    size_t used = 0;

    *kept = 0;
    for (size_t i = 0; i < KEYS; i++) {
        void *to = (char *)config + keys[i].offset;
        const void *from = (const char *)fresh + keys[i].offset;
        int text = keys[i].kind == TEXT || keys[i].kind == CHOICE;
        if (text ? strcmp(to, from) == 0 : memcmp(to, from, keys[i].size) == 0)
            continue;
        if (to == config->name && !*fresh->name)
            continue; /* the name was made from the address */
        if (keys[i].reload)
            memcpy(to, from, keys[i].size);
        else if (used < size)
            used += (size_t)snprintf(kept + used, size - used, "%s%s", used ? ", " : "", keys[i].name);
    }
}

void themis_server_config_help(FILE *out)
{
    for (size_t i = 0; i < KEYS; i++) {
        char option[64];
        snprintf(option, sizeof option, "--%s", keys[i].name);
        for (char *at = option; *at; at++)
            *at = *at == '_' ? '-' : *at;
        fprintf(out, "  %-18s %s", option, keys[i].help);
        fprintf(out, keys[i].initial ? " (%s)\n" : "\n", keys[i].initial);
    }
}
