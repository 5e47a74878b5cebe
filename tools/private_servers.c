/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/private_servers.h"
#include "tools/command.h"
#include "util/config.h"

/* How many processes the launcher that has started this one has started, or 0: each of them would have own servers. */
static int64_t tasks_count(void)
{
    static const char *const variables[] = {"SLURM_STEP_NUM_TASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};
    static const char *const ranks[] = {"SLURM_PROCID", "PMI_RANK", "OMPI_COMM_WORLD_RANK"};
    int64_t count = 0;

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = themis_util_config_env(variables[i]);
        if (text && themis_util_config_env(ranks[i]) &&
            themis_util_config_integer(text, 0, INT32_MAX, &count) == THEMIS_OK && count > 1)
            return count;
    }
    return 0;
}

int themis_tools_private_servers_check(themis_tools_private_servers_t *servers)
{
    int64_t tasks = servers->options.number ? 0 : tasks_count();

    if (tasks > 1)
        return themis_tools_misuse("each of the %lld tasks that were launched would have servers of its own, and other "
                                   "files than the rest: launch within it, as in 'themis run -- srun PROGRAM'; -s 1 "
                                   "does it nevertheless",
                                   (long long)tasks);
    int result = themis_tools_hosts_find(servers->hosts_given, &servers->hosts);
    if (result != THEMIS_TOOLS_OK)
        return result;
    const themis_tools_hosts_t *hosts = &servers->hosts;
    servers->is_local = hosts->count == 0 || (hosts->count == 1 && themis_tools_host_is_this(hosts->names[0]));
    if (!servers->is_local && !servers->options.number)
        servers->options.per_node = 1;
    return THEMIS_TOOLS_OK;
}

int themis_tools_private_servers_start(themis_tools_private_servers_t *servers, const char **list)
{
    if (servers->is_local) {
        *list = servers->local.list;
        return themis_tools_local_servers_start(&servers->options, &servers->local);
    }
    servers->host_options =
        (themis_tools_host_servers_options_t){&servers->options, &servers->hosts, servers->launcher, servers->network};
    int result = themis_tools_host_servers_start(&servers->host_options, &servers->remote);
    if (result == THEMIS_TOOLS_OK)
        *list = themis_tools_host_servers_list(servers->remote);
    return result;
}

const char *themis_tools_private_servers_secret(const themis_tools_private_servers_t *servers)
{
    return servers->remote ? themis_tools_host_servers_secret(servers->remote) : NULL;
}

int themis_tools_private_servers_are_local(const themis_tools_private_servers_t *servers)
{
    return servers->is_local;
}

void themis_tools_private_servers_tell(const themis_tools_private_servers_t *servers)
{
    int count = servers->is_local ? servers->local.count : themis_tools_host_servers_count(servers->remote);
    const char *list = servers->is_local ? servers->local.list : themis_tools_host_servers_list(servers->remote);

    themis_tools_note("%d server%s of its own, %s: what %s at the end is gone", count, count == 1 ? "" : "s", list,
                      count == 1 ? "it holds" : "they hold");
}

int themis_tools_private_servers_own(const themis_tools_private_servers_t *servers, pid_t child)
{
    if (servers->remote)
        return themis_tools_host_servers_own(servers->remote, child);
    for (int i = 0; i < servers->local.count; i++)
        if (servers->local.pids[i] == child)
            return 1;
    return 0;
}

void themis_tools_private_servers_ended(themis_tools_private_servers_t *servers, pid_t child, int status)
{
    int number = servers->remote ? -1 : themis_tools_local_servers_ended(&servers->local, child);

    if (servers->remote)
        themis_tools_host_servers_ended(servers->remote, child, status);
    if (number >= 0)
        themis_tools_server_ended_tell(number, NULL, status);
}

void themis_tools_private_servers_look(themis_tools_private_servers_t *servers)
{
    if (servers->remote)
        themis_tools_host_servers_look(servers->remote);
}

void themis_tools_private_servers_stop(themis_tools_private_servers_t *servers, int (*cancelled)(void))
{
    if (servers->is_local)
        themis_tools_local_servers_stop(&servers->local, cancelled);
    themis_tools_host_servers_stop(servers->remote, cancelled);
    servers->remote = NULL;
}

void themis_tools_private_servers_free(themis_tools_private_servers_t *servers)
{
    themis_tools_hosts_free(&servers->hosts);
}
