/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/periodic_servers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "tools/json.h"

typedef themis_tools_periodic_servers_t servers_t;
typedef themis_tools_periodic_policy_t policy_t;
typedef themis_tools_periodic_outcome_t outcome_t;

static int is_ours(const servers_t *servers, const char *plan)
{
    return *plan && (strcmp(plan, servers->plan) == 0 || strcmp(plan, servers->replaced) == 0);
}

int themis_tools_periodic_servers_get(const servers_t *servers, uint32_t server, policy_t *policy)
{
    const char *error;
    json_t *json = themis_tools_json_query(servers->session, server, "policy", &error);

    *policy = (policy_t){.ours = 0};
    if (!json)
        return themis_tools_error("server %u: %s", server, error);
    snprintf(policy->policy, sizeof policy->policy, "%s", themis_tools_json_text(json, "policy"));
    policy->ours = is_ours(servers, themis_tools_json_text(json, "plan"));
    policy->bandwidth = themis_tools_json_number(json, "store_bandwidth_bytes_per_s");
    json_decref(json);
    return THEMIS_TOOLS_OK;
}

/* 1: the server has what the plan is to replace. `replaces`: an earlier plan. */
static int is_expected(const servers_t *servers, uint32_t server, const char *before, int replaces, policy_t *found)
{
    if (themis_tools_periodic_servers_get(servers, server, found) != THEMIS_TOOLS_OK)
        return 0;
    if (replaces ? found->ours : strcmp(found->policy, before) == 0)
        return 1;
    themis_tools_error("server %u has been given the policy %s meanwhile; it stays", server, found->policy);
    return 0;
}

outcome_t themis_tools_periodic_servers_plan(servers_t *servers, const char *text, const char *identity,
                                             const char *before, policy_t *found)
{
    int replaces = *servers->plan != 0;
    char *taken;

    for (uint32_t i = 0; i < servers->count; i++)
        if (!is_expected(servers, i, before, replaces, found))
            return THEMIS_TOOLS_PERIODIC_CHANGED;
    memcpy(servers->replaced, servers->plan, sizeof servers->replaced);
    snprintf(servers->plan, sizeof servers->plan, "%s", identity);
    snprintf(servers->before, sizeof servers->before, "%s", before);
    for (uint32_t i = 0; i < servers->count; i++) {
        if (!is_expected(servers, i, before, replaces, found))
            return THEMIS_TOOLS_PERIODIC_CHANGED;
        if (themis_plan_set(servers->session, i, text, &taken) != THEMIS_OK) {
            themis_tools_error("server %u does not take the plan: %s", i, themis_last_error());
            return THEMIS_TOOLS_PERIODIC_REFUSED;
        }
        free(taken);
    }
    return THEMIS_TOOLS_PERIODIC_SET;
}

int themis_tools_periodic_servers_restore(servers_t *servers)
{
    int result = THEMIS_TOOLS_OK;
    policy_t policy;
    char *taken;

    for (uint32_t i = 0; *servers->before && i < servers->count; i++) {
        if (themis_tools_periodic_servers_get(servers, i, &policy) != THEMIS_TOOLS_OK) {
            result = THEMIS_TOOLS_FAILED;
            continue;
        }
        if (!policy.ours)
            continue;
        if (themis_policy_set(servers->session, i, servers->before, &taken) == THEMIS_OK)
            free(taken);
        else
            result = themis_tools_error("server %u: policy %s: %s", i, servers->before, themis_last_error());
    }
    if (result == THEMIS_TOOLS_OK)
        *servers->before = *servers->plan = *servers->replaced = 0;
    return result;
}
