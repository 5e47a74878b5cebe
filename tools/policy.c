/* SPDX-License-Identifier: BSD-3-Clause */
/* themis policy: shows or sets the policy, or shows the tree of shares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "tools/json.h"
#include "tools/policies.h"
#include "tools/sessions.h"

static int policy_show(themis_t *session, uint32_t servers, int explain)
{
    themis_tools_policies_t policies = {.differ = 0};
    int result = THEMIS_TOOLS_OK;

    for (uint32_t s = 0; s < servers; s++) {
        const char *error;
        json_t *json = themis_tools_json_query(session, s, "policy", &error);
        if (!json) {
            result = themis_tools_error("server %u: %s", s, error);
            continue;
        }
        themis_tools_policies_add(&policies, json);
        if (explain)
            printf("server %u, draw %s: %s", s, themis_tools_json_text(json, "draw"),
                   themis_tools_json_text(json, "tree"));
        else
            printf("server %u: %s (%s)\n", s, themis_tools_json_text(json, "policy"),
                   themis_tools_json_text(json, "draw"));
        json_decref(json);
    }
    themis_tools_policies_tell(&policies);
    return result;
}

/* A policy that one server rejects as wrong is rejected by all. Any other failure of a server does not keep the others
 * from getting the new policy. */
static int policy_set(themis_t *session, uint32_t servers, const char *policy)
{
    uint32_t failed = 0;

    for (uint32_t s = 0; s < servers; s++) {
        char *text;
        themis_status_t status = themis_policy_set(session, s, policy, &text);
        if (status == THEMIS_OK) {
            printf("server %u: %s\n", s, text);
            free(text);
            continue;
        }
        failed++;
        themis_tools_error("server %u: %s", s, themis_last_error());
        if (status == THEMIS_PARSE)
            return THEMIS_TOOLS_FAILED;
    }
    if (failed && failed < servers)
        themis_tools_error("the policy was not set on %u of %u servers", failed, servers);
    return failed ? THEMIS_TOOLS_FAILED : THEMIS_TOOLS_OK;
}

/* What is wrong with the verb and its policy (NULL: none given); NULL if nothing is. */
static const char *arguments_fault(const char *verb, const char *policy)
{
    int sets = strcmp(verb, "set") == 0;

    if (!sets && strcmp(verb, "get") != 0 && strcmp(verb, "explain") != 0)
        return "expected get, explain or set POLICY";
    if (sets && !policy)
        return "needs a policy";
    return !sets && policy ? "takes no policy" : NULL;
}

/* Options are allowed before and after the verb. Returns 0 after an error message if the arguments are wrong. */
static int arguments_parse(int argc, char **argv, const char **servers, const char **verb, const char **policy)
{
    const themis_tools_option_t options[] = {{'s', "servers", NULL, servers}, {0}};
    int at = themis_tools_options(argc, argv, options);

    *verb = at >= 0 && at < argc ? argv[at] : "get";
    if (at < 0 || at == argc)
        return at >= 0;
    int more = themis_tools_options(argc - at, argv + at, options);
    if (more < 0)
        return 0;
    at += more;
    *policy = at < argc ? argv[at++] : NULL;
    const char *fault = at < argc ? "takes one policy" : arguments_fault(*verb, *policy);
    if (fault)
        themis_tools_misuse("%s: %s", *verb, fault);
    return fault == NULL;
}

static int run_policy(int argc, char **argv)
{
    const char *servers = NULL, *verb, *policy = NULL;
    themis_session_info_t info;
    themis_t *session;

    if (!arguments_parse(argc, argv, &servers, &verb, &policy))
        return themis_tools_usage();
    if (themis_tools_session_get(servers, &session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    themis_session_info(session, &info);
    if (policy)
        return policy_set(session, info.servers, policy);
    return policy_show(session, info.servers, strcmp(verb, "explain") == 0);
}

const themis_tools_command_t themis_tools_policy = {
    "policy", "[-s HOST:PORT,...] [get | explain | set POLICY]",
    "Shows or sets the policy by which servers share; explain prints the tree with every share.",
    "  -s LIST  these servers instead of those configured\n"
    "  POLICY   fifo, job-fair, user-fair, size-fair, group-fair, priority-fair, and chains such as\n"
    "           user-then-size-fair or group-then-user-then-size-fair; gift and tbf for comparison\n",
    run_policy};
