/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/config.h"
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

typedef struct key {
    const char *section, *name;
    kind_t kind;
    size_t offset, size; /* of the member */
    int64_t low, high;
    const char *choices; /* CHOICE of texts or, for an int, of numbers from 0: "a|b" */
    int reload;
    const char *help;
} config_key_t;

#define MEMBER(member) offsetof(themis_server_config_t, member), sizeof(((themis_server_config_t *)0)->member)
#define MAX_BYTES INT64_MAX

static const config_key_t keys[] = {
    {"server", "name", TEXT, MEMBER(name), 0, 0, NULL, 0, "name in messages (host:port)"},
    {"server", "listen", TEXT, MEMBER(listen), 0, 0, NULL, 0, "host or address to listen at (all)"},
    {"server", "port", INTEGER, MEMBER(port), 0, 65535, NULL, 0, "port, 0 for any (7711)"},
    {"server", "servers", TEXT, MEMBER(servers), 0, 0, NULL, 0, "host:port,... of all servers, in the clients' order"},
    {"server", "count", INTEGER, MEMBER(count), 1, THEMIS_PROTO_MAX_SERVERS, NULL, 0,
     "number of servers if they are not listed (1)"},
    {"server", "index", INTEGER, MEMBER(index), 0, THEMIS_PROTO_MAX_SERVERS - 1, NULL, 0,
     "place of this server in the list (found by listen and port, or 0)"},
    {"server", "state", TEXT, MEMBER(state), 0, 0, NULL, 0, "directory of the namespace (none: in memory)"},
    {"server", "workers", INTEGER, MEMBER(workers), 0, 1024, NULL, 0, "threads, 0 for one per core, at least 2 (0)"},
    {"server", "log", CHOICE, MEMBER(log), 0, 0, "error|warn|info|debug", 1, "level of messages (info)"},
    {"server", "drain", DURATION, MEMBER(drain), 0, 0, NULL, 1, "time for queued requests at the end (10s)"},
    {"server", "lease", DURATION, MEMBER(lease), 0, 0, NULL, 1, "time that locks outlive a lost connection (15s)"},
    {"server", "stall_limit", DURATION, MEMBER(stall_limit), 0, 0, NULL, 1,
     "that a client may keep a transfer waiting before its connection is closed (30s)"},
    {"store", "store", CHOICE, MEMBER(store), 0, 0, "arena|posix", 0, "where bytes are kept (arena)"},
    {"store", "size", BYTES, MEMBER(size), 4096, MAX_BYTES, NULL, 0, "of the arena (1 GiB)"},
    {"store", "directory", TEXT, MEMBER(directory), 0, 0, NULL, 0, "of the posix store"},
    {"store", "file", TEXT, MEMBER(file), 0, 0, NULL, 0, "that the arena maps (none: memory)"},
    {"store", "warm", BYTES, MEMBER(warm), 0, MAX_BYTES, NULL, 0, "of the arena kept touched ahead of use (256 MiB)"},
    {"layout", "stripe_size", BYTES, MEMBER(stripe_size), 4096, INT64_C(1) << 32, NULL, 1, "of new files (1 MiB)"},
    {"layout", "stripe_count", INTEGER, MEMBER(stripe_count), 0, THEMIS_PROTO_MAX_SERVERS, NULL, 1,
     "servers of a new file, 0 for all (0)"},
    {"sharing", "policy", TEXT, MEMBER(policy), 0, 0, NULL, 1, "size-fair, user-then-job-fair, fifo, ... (job-fair)"},
    {"sharing", "policies", TEXT, MEMBER(policies), 0, 0, NULL, 1,
     "that a job may wish for, with commas, or any (none)"},
    {"sharing", "draw", CHOICE, MEMBER(draw), 0, 0, "stride|statistical", 1, "how the next job is drawn (stride)"},
    {"sharing", "quantum", BYTES, MEMBER(quantum), 4096, INT64_C(1) << 30, NULL, 0, "bytes served at a time (1 MiB)"},
    {"sharing", "store_bandwidth", BYTES, MEMBER(store_bandwidth), 0, MAX_BYTES, NULL, 0,
     "bytes/s that the store is to move at most, 0 for no limit (0)"},
    {"sharing", "lambda", DURATION, MEMBER(lambda), 0, 0, NULL, 1, "between exchanges of servers, 0 for none (500ms)"},
    {"sharing", "heartbeat", DURATION, MEMBER(heartbeat), 0, 0, NULL, 1, "between signs of life of a job (5s)"},
    {"sharing", "heartbeat_limit", INTEGER, MEMBER(heartbeat_limit), 1, 1000000, NULL, 1,
     "missed ones after which a job is inactive (3)"},
    {"sharing", "expired", CHOICE, MEMBER(drop), 0, 0, "drain|drop", 1, "what is done with its requests (drain)"},
    {"sharing", "max_nodes", INTEGER, MEMBER(max_nodes), 1, UINT32_MAX, NULL, 1,
     "that a job may claim to have (16384)"},
    {"sharing", "max_priority", INTEGER, MEMBER(max_priority), 1, UINT32_MAX, NULL, 1,
     "that a job may claim to have (100)"},
    {"sharing", "gift_interval", DURATION, MEMBER(gift_interval), 0, 0, NULL, 0, "of the policy gift (500ms)"},
    {"sharing", "tbf_rate", INTEGER, MEMBER(tbf_rate), 1, 1000000000, NULL, 0, "requests/s of the policy tbf (10000)"},
    {"metrics", "metrics_listen", TEXT, MEMBER(metrics_listen), 0, 0, NULL, 0, "address of the metrics (127.0.0.1)"},
    {"metrics", "metrics_port", INTEGER, MEMBER(metrics_port), 0, 65535, NULL, 0, "port of the metrics, 0 for off (0)"},
};
enum { KEYS = sizeof keys / sizeof *keys };
static_assert(sizeof keys / sizeof *keys <= (size_t)THEMIS_SERVER_KEYS, "a line for each key");

void themis_server_config_init(themis_server_config_t *config)
{
    *config = (themis_server_config_t){.port = 7711,
                                       .count = 1,
                                       .index = -1,
                                       .log = "info",
                                       .drain = 10 * THEMIS_NS_PER_S,
                                       .lease = 15 * THEMIS_NS_PER_S,
                                       .stall_limit = 30 * THEMIS_NS_PER_S,
                                       .store = "arena",
                                       .size = UINT64_C(1) << 30,
                                       .warm = 256 << 20,
                                       .stripe_size = 1 << 20,
                                       .policy = "job-fair",
                                       .draw = "stride",
                                       .quantum = 1 << 20,
                                       .lambda = 500 * THEMIS_NS_PER_MS,
                                       .heartbeat = 5 * THEMIS_NS_PER_S,
                                       .heartbeat_limit = 3,
                                       .max_nodes = 16384,
                                       .max_priority = 100,
                                       .gift_interval = 500 * THEMIS_NS_PER_MS,
                                       .tbf_rate = 10000,
                                       .metrics_listen = "127.0.0.1"};
}

/* Number of `value` among "a|b|c", or -1. */
static int choice_of(const char *choices, const char *value)
{
    size_t length = strlen(value);

    for (int number = 0;; number++) {
        size_t part = strcspn(choices, "|");
        if (part == length && strncmp(choices, value, part) == 0)
            return number;
        if (!choices[part])
            return -1;
        choices += part + 1;
    }
}

static themis_status_t set_choice(const config_key_t *key, void *member, const char *value)
{
    int number = choice_of(key->choices, value);

    if (number < 0)
        return THEMIS_PARSE;
    if (key->size == sizeof(int))
        *(int *)member = number;
    else
        snprintf(member, key->size, "%s", value);
    return THEMIS_OK;
}

static themis_status_t set_key(themis_server_config_t *config, const config_key_t *key, const char *value)
{
    void *member = (char *)config + key->offset;
    themis_status_t status;
    uint64_t bytes;

    switch (key->kind) {
    case INTEGER:
        return themis_util_config_integer(value, key->low, key->high, member);
    case DURATION:
        return themis_util_config_duration(value, member);
    case BYTES:
        status = themis_util_config_bytes(value, &bytes);
        if (status == THEMIS_OK && (bytes < (uint64_t)key->low || bytes > (uint64_t)key->high))
            status = THEMIS_RANGE;
        if (status == THEMIS_OK)
            *(uint64_t *)member = bytes;
        return status;
    case CHOICE:
        return set_choice(key, member, value);
    case TEXT:
        break;
    }
    if (strlen(value) >= key->size)
        return THEMIS_RANGE;
    strcpy(member, value);
    return THEMIS_OK;
}

/* What a value of the key looks like, for who gave another one. */
static void say_expected(const config_key_t *key, char *text, size_t size)
{
    switch (key->kind) {
    case INTEGER:
        snprintf(text, size, "expected a number from %lld to %lld", (long long)key->low, (long long)key->high);
        return;
    case DURATION:
        snprintf(text, size, "expected a time such as 500ms, 10s or 1m");
        return;
    case BYTES:
        snprintf(text, size, "expected a size such as 64k, 1m or 2g");
        if (key->low > 0)
            snprintf(text + strlen(text), size - strlen(text), ", at least %lld bytes", (long long)key->low);
        if (key->high < MAX_BYTES)
            snprintf(text + strlen(text), size - strlen(text), " and at most %lld", (long long)key->high);
        return;
    case CHOICE:
        snprintf(text, size, "expected one of %s", key->choices);
        return;
    case TEXT:
        snprintf(text, size, "longer than %zu bytes", key->size - 1);
        return;
    }
}

/* Sections of other readers of the same file. */
static int foreign_section(const char *section)
{
    return strcmp(section, "client") == 0 || strcmp(section, "hints") == 0;
}

typedef struct reading {
    themis_server_config_t *config;
    char why[128]; /* more than the status says */
} reading_t;

static themis_status_t on_entry(void *arg, const char *section, const char *name, const char *value, int line)
{
    reading_t *reading = arg;
    themis_server_config_t *config = reading->config;

    if (foreign_section(section))
        return THEMIS_OK;
    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].section, section) != 0 || strcmp(keys[i].name, name) != 0)
            continue;
        if (config->line[i] > 0) {
            snprintf(reading->why, sizeof reading->why, "it is in line %d already", config->line[i]);
            return THEMIS_CONFIG;
        }
        config->line[i] = line;
        themis_status_t status = set_key(config, &keys[i], value);
        if (status != THEMIS_OK)
            say_expected(&keys[i], reading->why, sizeof reading->why);
        return status;
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

    if (status == THEMIS_OK) {
        *config = fresh;
        return THEMIS_OK;
    }
    size_t used = strlen(error);
    if (*reading.why && used < size)
        snprintf(error + used, size - used, " (%s)", reading.why);
    return status;
}

/* Equal but for '-' and '_'. */
static int same_name(const char *option, const char *name)
{
    while (*option && (*option == *name || (*option == '-' && *name == '_')))
        option++, name++;
    return *option == *name;
}

themis_status_t themis_server_config_set(themis_server_config_t *config, const char *option, const char *value,
                                         char *error, size_t size)
{
    char expected[128];

    for (size_t i = 0; i < KEYS; i++) {
        if (!same_name(option, keys[i].name))
            continue;
        themis_status_t status = set_key(config, &keys[i], value);
        if (status == THEMIS_OK) {
            config->line[i] = -1;
            return THEMIS_OK;
        }
        say_expected(&keys[i], expected, sizeof expected);
        snprintf(error, size, "--%s %s: %s", option, value, expected);
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

/* --- what single keys cannot tell --------------------------------------------------------------------------------- */

typedef struct checking {
    themis_server_config_t *config;
    char *error;
    size_t size;
} checking_t;

/* Says what is wrong with the key of `member`, and where its value is from. Returns THEMIS_CONFIG. */
__attribute__((format(printf, 3, 4))) static themis_status_t complain(const checking_t *checking, const void *member,
                                                                      const char *format, ...)
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

/* Counts the list, checks its addresses and finds this server in it if it was not told. */
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
        return complain(checking, config->servers, "entry %u is not host:port", count + 1);
    if (count)
        config->count = count;
    if (config->index < 0 && config->count > 1)
        return complain(checking, &config->index, "needed: listen and port are none of servers");
    if (config->index < 0)
        config->index = 0;
    if (config->index >= config->count)
        return complain(checking, &config->index, "%lld: there are %lld servers", (long long)config->index,
                        (long long)config->count);
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
            return complain(checking, member, "%.200s: %s", name, fits ? why : "too long");
    }
    return THEMIS_OK;
}

/* An IPv4 address that can be listened at, or the name of a host that has one. */
static themis_status_t check_address(const checking_t *checking, const char *member)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    int failed = *member ? getaddrinfo(member, NULL, &wanted, &found) : EAI_NONAME;

    if (!*member)
        return THEMIS_OK;
    if (failed)
        return complain(checking, member, "%s: %s", member, gai_strerror(failed));
    freeaddrinfo(found);
    return THEMIS_OK;
}

static themis_status_t check_store(const checking_t *checking)
{
    const themis_server_config_t *config = checking->config;
    int posix = strcmp(config->store, "posix") == 0;
    char parent[THEMIS_SERVER_TEXT];

    if (config->stripe_size % 4096)
        return complain(checking, &config->stripe_size, "is to be a multiple of 4 KiB");
    if (posix && !*config->directory)
        return complain(checking, config->directory, "needed by the posix store");
    if (posix && !*config->state)
        return complain(checking, config->state, "needed with the posix store: names must live as long as the bytes");
    snprintf(parent, sizeof parent, "%s", config->file);
    if (!posix && config->size > THEMIS_STORE_SPACE_MAX_BYTES)
        return complain(checking, &config->size, "an arena of %llu bytes cannot be: 4 KiB to 16 TiB are possible",
                        (unsigned long long)config->size);
    if (!posix && *config->file && access(dirname(parent), W_OK) != 0)
        return complain(checking, config->file, "%s: %s", config->file, strerror(errno));
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
        status = complain(&checking, &config->heartbeat, "cannot be 0");
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
        int text = keys[i].kind == TEXT || (keys[i].kind == CHOICE && keys[i].size != sizeof(int));
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
        fprintf(out, "  %-18s %s\n", option, keys[i].help);
    }
}
