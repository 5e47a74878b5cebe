/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/server_config.h"
#include <assert.h>
#include <errno.h>
#include <libgen.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "proto/proto.h"
#include "sched/policy.h"
#include "store/space.h"
#include "util/clock.h"
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
    {TIME_KEY("server", drain), RELOAD, "10s", "time for queued requests when the server stops"},
    {TIME_KEY("server", lease), RELOAD, "15s", "time that locks outlive a lost connection"},
    {TIME_KEY("server", lock_wait), RELOAD, "10m",
     "time that a request may wait for a lock that another holds, 0 for no limit"},
    {TIME_KEY("server", stall_limit), RELOAD, "30s",
     "time that a client may delay its transfer before it is disconnected"},
    {CHOICE_KEY("store", store, "arena|posix"), RESTART, "arena", "where bytes are kept"},
    {BYTES_KEY("store", size, 4096, MAX_BYTES), RESTART, "1GiB", "size of the arena"},
    {TEXT_KEY("store", directory), RESTART, NULL, "directory of the posix store"},
    {TEXT_KEY("store", file), RESTART, NULL, "file that the arena maps (none: memory)"},
    {BYTES_KEY("store", warm, 0, MAX_BYTES), RESTART, "256MiB", "bytes of the arena touched ahead of use"},
    {CHOICE_KEY("store", direct, "auto|on|off"), RELOAD, "auto",
     "do clients on this host use the arena's memory: while one job is active, always or never"},
    {BYTES_KEY("layout", stripe_size, 4096, INT64_C(1) << 32), RELOAD, "1MiB", "stripe size of new files"},
    {NUMBER_KEY("layout", stripe_count, 0, THEMIS_PROTO_MAX_SERVERS), RELOAD, "0", "servers of a new file, 0 for all"},
    {TEXT_KEY("sharing", policy), RELOAD, "job-fair", "size-fair, user-then-job-fair, fifo, ..."},
    {TEXT_KEY("sharing", policies), RELOAD, NULL,
     "policies that jobs may request: names separated by commas, or any (none)"},
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
    {TIME_KEY("sharing", gift_interval), RESTART, "500ms", "interval of the policy gift"},
    {NUMBER_KEY("sharing", tbf_rate, 1, 1000000000), RESTART, "10000", "requests/s of the policy tbf"},
    {TEXT_KEY("metrics", metrics_listen), RESTART, "127.0.0.1", "address of the metrics"},
    {NUMBER_KEY("metrics", metrics_port, 0, 65535), RESTART, "0", "port of the metrics, 0 for off"},
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
    config->index = -1;
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
    snprintf(reading->why, sizeof reading->why, "no such key");
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

/* --- checks over several keys ------------------------------------------------------------------------------------ */

typedef struct checking {
    themis_server_config_t *config;
    char *error;
    size_t size;
} checking_t;

/* Reports what is wrong with the key of `member`, and where its value comes from. Returns THEMIS_CONFIG. */
__attribute__((format(printf, 3, 4))) static themis_status_t check_failed(const checking_t *checking,
                                                                          const void *member, const char *format, ...)
{
    size_t offset = (size_t)((const char *)member - (const char *)checking->config), i = 0;
    char why[512];
    va_list list;

    while (i < KEYS - 1 && keys[i].offset != offset)
        i++;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    int line = checking->config->line[i];
    if (line > 0)
        snprintf(checking->error, checking->size, "%s:%d: [%s] %s: %s", checking->config->path, line, keys[i].section,
                 keys[i].name, why);
    else
        snprintf(checking->error, checking->size, "%s[%s] %s: %s", line < 0 ? "option " : "", keys[i].section,
                 keys[i].name, why);
    return THEMIS_CONFIG;
}

/* Counts the servers, checks their addresses and finds this one among them if `index` is not given. */
static themis_status_t check_servers(const checking_t *checking)
{
    themis_server_config_t *config = checking->config;
    char host[256];
    uint16_t port;
    uint32_t count = 0;
    themis_status_t status;

    while ((status = themis_server_config_address(config, count, host, &port)) == THEMIS_OK) {
        if (config->index < 0 && port == config->port && strcmp(host, config->listen) == 0)
            config->index = count;
        count++;
    }
    if (status != THEMIS_RANGE || (count == 0 && *config->servers))
        return check_failed(checking, config->servers, "entry %u is not host:port", count + 1);
    if (count)
        config->count = count;
    if (config->index < 0 && config->count > 1)
        return check_failed(checking, &config->index, "needed, since listen and port match none of servers");
    if (config->index < 0)
        config->index = 0;
    if (config->index >= config->count)
        return check_failed(checking, &config->index, "%lld is not below the number of servers, %lld",
                            (long long)config->index, (long long)config->count);
    return THEMIS_OK;
}

/* `member`: policies with `separators` between them, or "any" where there are separators. */
static themis_status_t check_policies(const checking_t *checking, const char *member, const char *separators)
{
    char name[sizeof checking->config->policy], why[256];
    themis_sched_policy_t policy;

    for (const char *at = member; *at; at += strspn(at, separators)) {
        size_t length = strcspn(at, separators);
        int fits = length < sizeof name;
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        at += length;
        if (*separators && strcmp(name, "any") == 0)
            continue;
        if (!fits || themis_sched_policy_parse(name, &policy, why, sizeof why) != THEMIS_OK)
            return check_failed(checking, member, "%.200s: %s", name, fits ? why : "too long");
    }
    return THEMIS_OK;
}

/* An IPv4 address that can be listened at, or the name of a host that has one. */
static themis_status_t check_address(const checking_t *checking, const char *member)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    int failed = *member ? getaddrinfo(member, NULL, &wanted, &found) : 0;

    if (failed)
        return check_failed(checking, member, "%s: %s", member, gai_strerror(failed));
    if (found)
        freeaddrinfo(found);
    return THEMIS_OK;
}

static themis_status_t check_store(const checking_t *checking)
{
    const themis_server_config_t *config = checking->config;
    int posix = strcmp(config->store, "posix") == 0;
    char parent[THEMIS_SERVER_CONFIG_TEXT];

    if (config->stripe_size % 4096)
        return check_failed(checking, &config->stripe_size, "must be a multiple of 4 KiB");
    if (posix && !*config->directory)
        return check_failed(checking, config->directory, "needed by the posix store");
    if (posix && !*config->state)
        return check_failed(checking, config->state, "needed by the posix store, so that names last as long as bytes");
    snprintf(parent, sizeof parent, "%s", config->file);
    if (!posix && config->size > THEMIS_STORE_SPACE_MAX_BYTES)
        return check_failed(checking, &config->size, "an arena of %llu bytes is not possible: use 4 KiB to 16 TiB",
                            (unsigned long long)config->size);
    if (!posix && *config->file && access(dirname(parent), W_OK) != 0)
        return check_failed(checking, config->file, "%s: %s", config->file, strerror(errno));
    return THEMIS_OK;
}

themis_status_t themis_server_config_check(themis_server_config_t *config, char *error, size_t size)
{
    const checking_t checking = {config, error, size};
    themis_status_t status = check_servers(&checking);

    if (status == THEMIS_OK)
        status = check_store(&checking);
    if (status == THEMIS_OK)
        status = check_policies(&checking, config->policy, "");
    if (status == THEMIS_OK)
        status = check_policies(&checking, config->policies, ", ");
    if (status == THEMIS_OK)
        status = check_address(&checking, config->listen);
    if (status == THEMIS_OK && config->metrics_port)
        status = check_address(&checking, config->metrics_listen);
    if (status == THEMIS_OK && config->heartbeat == 0)
        status = check_failed(&checking, &config->heartbeat, "must not be 0");
    return status;
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
