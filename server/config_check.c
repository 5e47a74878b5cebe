/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the configuration over several keys, and against what this machine has. */
#include <errno.h>
#include <libgen.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "sched/policy.h"
#include "server/allocator.h"
#include "server/auth.h"
#include "server/periodic_plan.h"
#include "server/server_config.h"
#include "store/space.h"
#include "util/clock.h"
#include "util/memory_limit.h"

#define MAX_LIFETIME (8784 * 3600 * THEMIS_NS_PER_S) /* a leap year */

typedef struct checking {
    themis_server_config_t *config;
    char *error;
    size_t size;
} checking_t;

/* Reports what is wrong with the key of `member`, and where its value comes from. Returns THEMIS_CONFIG. */
__attribute__((format(printf, 3, 4))) static themis_status_t check_failed(const checking_t *checking,
                                                                          const void *member, const char *format, ...)
{
    size_t used = themis_server_config_where(checking->config, member, checking->error, checking->size);
    va_list list;

    va_start(list, format);
    vsnprintf(checking->error + used, checking->size - used, format, list);
    va_end(list);
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
        return check_failed(checking, config->servers,
                            "this server, %s:%lld by listen and port, is not in the list; set index if it is one of "
                            "them by another name",
                            *config->listen ? config->listen : "(listen is not set)", (long long)config->port);
    if (config->index < 0)
        config->index = 0;
    if (config->index >= config->count)
        return check_failed(checking, &config->index, "%lld is not below the number of servers, %lld",
                            (long long)config->index, (long long)config->count);
    if (config->count > 1 && !*config->servers)
        return check_failed(checking, &config->count, "the servers' addresses are needed: set servers instead");
    return THEMIS_OK;
}

/* What one server signs, the others have to check. */
static themis_status_t check_key(const checking_t *checking)
{
    const themis_server_config_t *config = checking->config;

    if (config->count > 1 && !*config->key && config->key_fd < 0)
        return check_failed(checking, config->key,
                            "needed by several servers: a file that has the same bytes, 32 or more, for each of them, "
                            "or none, where clients' rights to bytes need not be checked");
    if (config->capability_lifetime < THEMIS_NS_PER_S || config->capability_lifetime > MAX_LIFETIME)
        return check_failed(checking, &config->capability_lifetime, "expected a time from 1s to 8784h");
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

static themis_status_t check_plan(const checking_t *checking)
{
    const themis_server_config_t *config = checking->config;
    const themis_server_periodic_plan_clock_t clock = {0};
    themis_sched_policy_t policy = {.periodic = 0};
    themis_sched_periodic_t *plan = NULL;
    char why[512];

    if (themis_sched_policy_parse(config->policy, &policy, why, sizeof why) == THEMIS_OK && policy.periodic &&
        !*config->plan)
        return check_failed(checking, config->policy, "%s: the key plan is needed, with the file of its plan",
                            config->policy);
    if (*config->plan &&
        themis_server_periodic_plan_read_file(config->plan, &clock, &plan, why, sizeof why) != THEMIS_OK)
        return check_failed(checking, config->plan, "%s", why);
    themis_sched_periodic_destroy(plan);
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

/* Pages are allocated as they are used: too large an arena would end this process then, not at the start. */
static themis_status_t check_memory(const checking_t *checking)
{
    const themis_server_config_t *config = checking->config;
    int cgroup;
    uint64_t limit = themis_util_memory_limit("", &cgroup);

    if (strcmp(config->store, "arena") != 0 || *config->file || *config->directory || config->size <= limit)
        return THEMIS_OK;
    return check_failed(checking, &config->size,
                        "%llu MiB are more than the %llu MiB of memory that %s; use less, or a file",
                        (unsigned long long)(config->size >> 20), (unsigned long long)(limit >> 20),
                        cgroup ? "the cgroup of this process has" : "this machine has");
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
    if (!posix && *config->directory && !*config->state)
        return check_failed(checking, config->state,
                            "needed by an arena in a directory, so that names last as long as "
                            "bytes");
    if (!posix && *config->directory && *config->file)
        return check_failed(checking, config->file, "an arena is in a directory, or in a file that does not last");
    snprintf(parent, sizeof parent, "%s", config->file);
    if (!posix && config->size > THEMIS_STORE_SPACE_MAX_BYTES)
        return check_failed(checking, &config->size, "an arena of %llu bytes is not possible: use 4 KiB to 16 TiB",
                            (unsigned long long)config->size);
    if (!posix && *config->file && access(dirname(parent), W_OK) != 0)
        return check_failed(checking, config->file, "%s: %s", config->file, strerror(errno));
    return THEMIS_OK;
}

static themis_status_t check_history(const checking_t *checking)
{
    const themis_server_config_t *config = checking->config;
    char parent[THEMIS_SERVER_CONFIG_TEXT];

    if (config->history_interval < 10 * THEMIS_NS_PER_MS || config->history_interval > 3600 * THEMIS_NS_PER_S)
        return check_failed(checking, &config->history_interval, "must be from 10ms to 1h");
    if (config->history_update < config->history_interval)
        return check_failed(checking, &config->history_update, "must not be below history_interval");
    if (config->history_keep < 3600 * THEMIS_NS_PER_S)
        return check_failed(checking, &config->history_keep, "must be at least 1h");
    snprintf(parent, sizeof parent, "%s", config->history);
    if (strlen(config->history) > THEMIS_SERVER_CONFIG_TEXT - 1024)
        return check_failed(checking, config->history, "the path is too long");
    if (*config->history && access(config->history, F_OK) != 0 && access(dirname(parent), F_OK) != 0)
        return check_failed(checking, config->history, "%s: %s", config->history, strerror(errno));
    return THEMIS_OK;
}

static themis_status_t check_allocate(const checking_t *checking)
{
    const themis_server_config_t *config = checking->config;
    themis_dfra_named_site_t site = {0};
    char why[THEMIS_SERVER_CONFIG_TEXT] = "";

    if (config->allocate_lease < THEMIS_NS_PER_S)
        return check_failed(checking, &config->allocate_lease, "must be at least 1s");
    if (!*config->allocate)
        return THEMIS_OK;
    if (!*config->servers)
        return check_failed(checking, config->allocate, "needs the key servers, whose names the site has");
    themis_status_t status = themis_server_allocator_read_site(config, &site, NULL, why, sizeof why);
    themis_dfra_site_release(&site);
    if (status != THEMIS_OK)
        return check_failed(checking, config->allocate, "%s", *why ? why : themis_status_string(status));
    return THEMIS_OK;
}

themis_status_t themis_server_config_check(themis_server_config_t *config, char *error, size_t size)
{
    const checking_t checking = {config, error, size};
    themis_status_t status = check_servers(&checking);

    if (status == THEMIS_OK)
        status = check_key(&checking);
    if (status == THEMIS_OK)
        status = themis_server_auth_check(config, error, size);
    if (status == THEMIS_OK)
        status = check_store(&checking);
    if (status == THEMIS_OK)
        status = check_memory(&checking);
    if (status == THEMIS_OK)
        status = check_policies(&checking, config->policy, "");
    if (status == THEMIS_OK)
        status = check_policies(&checking, config->policies, ", ");
    if (status == THEMIS_OK)
        status = check_plan(&checking);
    if (status == THEMIS_OK)
        status = check_address(&checking, config->listen);
    if (status == THEMIS_OK && config->metrics_port)
        status = check_address(&checking, config->metrics_listen);
    if (status == THEMIS_OK)
        status = check_history(&checking);
    if (status == THEMIS_OK)
        status = check_allocate(&checking);
    if (status == THEMIS_OK && config->heartbeat == 0)
        status = check_failed(&checking, &config->heartbeat, "must not be 0");
    return status;
}
