/* SPDX-License-Identifier: BSD-3-Clause */
/* themis policy: shows or sets the policy, or shows the tree of shares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "tools/json.h"
#include "tools/plan_text.h"
#include "tools/policies.h"
#include "tools/sessions.h"

/* Prints a line, or the tree, for each server, or adds what it says to `rows` if that is not NULL. */
static int policy_show(themis_t *session, uint32_t servers, int explain, json_t *rows)
{
    themis_tools_policies_t policies = {.differ = 0};
    int result = THEMIS_TOOLS_OK;

    for (uint32_t s = 0; s < servers; s++) {
        const char *error;
        json_t *json = themis_tools_json_query(session, s, "policy", &error);
        if (!json) {
            result = themis_tools_error("server %u: %s", s, error);
            if (rows)
                json_array_append_new(rows, json_null());
            continue;
        }
        themis_tools_policies_add(&policies, json);
        if (rows)
            json_array_append(rows, json);
        else if (explain)
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
static int policy_set(themis_t *session, uint32_t servers, const char *policy, const char *plan)
{
    uint32_t failed = 0;

    for (uint32_t s = 0; s < servers; s++) {
        char *text;
        themis_status_t status =
            plan ? themis_plan_set(session, s, plan, &text) : themis_policy_set(session, s, policy, &text);
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

typedef struct arguments {
    const char *servers, *verb, *policy, *plan, *tolerance;
    int as_json;
} arguments_t;

/* The plan of the file as servers take it. NULL after an error message; owned by the caller. */
static char *plan_read(const arguments_t *given)
{
    json_error_t fault;
    json_t *plan = json_load_file(given->plan, 0, &fault);
    char *end = NULL;
    char identity[THEMIS_TOOLS_PLAN_IDENTITY_BYTES];
    double tolerance = given->tolerance ? strtod(given->tolerance, &end) : -1;

    if (!json_is_object(plan) || (end && *end) || (given->tolerance && !(tolerance >= 0))) {
        if (!plan)
            themis_tools_error("%s: line %d: %s", given->plan, fault.line, fault.text);
        else
            themis_tools_error("%s",
                               json_is_object(plan) ? "--tolerance: expected seconds" : "the plan is no JSON object");
        json_decref(plan);
        return NULL;
    }
    char *text = themis_tools_plan_text(plan, given->policy, tolerance, identity);
    if (!text)
        themis_tools_error("%s: not a plan in UTF-8, or no memory", given->plan);
    return text;
}

/* What is wrong with the verb and its policy (NULL: none given); NULL if nothing is. */
static const char *arguments_fault(const arguments_t *given)
{
    const char *verb = given->verb, *policy = given->policy;
    int sets = strcmp(verb, "set") == 0;

    if (!sets && strcmp(verb, "get") != 0 && strcmp(verb, "explain") != 0)
        return "expected get, explain or set POLICY";
    if (sets && !policy)
        return "needs a policy";
    if (given->tolerance && !given->plan)
        return "--tolerance goes with --plan";
    if (!sets && given->plan)
        return "takes no plan";
    if (sets && given->as_json)
        return "--json goes with get and explain";
    return !sets && policy ? "takes no policy" : NULL;
}

/* Options are allowed anywhere. Returns 0 after an error message if the arguments are wrong. */
static int arguments_parse(int argc, char **argv, arguments_t *given)
{
    const themis_tools_option_t options[] = {{'s', "servers", NULL, &given->servers},
                                             {0, "plan", NULL, &given->plan},
                                             {0, "tolerance", NULL, &given->tolerance},
                                             {0, "json", &given->as_json, NULL},
                                             {0}};
    const char *word[3] = {"get"};
    int words = 0, at = themis_tools_options(argc, argv, options), next = at;

    for (; next >= 0 && at < argc && words < 3; at += next) {
        word[words++] = argv[at];
        next = themis_tools_options(argc - at, argv + at, options);
    }
    if (next < 0)
        return 0;
    given->verb = word[0];
    given->policy = words > 1 ? word[1] : NULL;
    const char *fault = words > 2 ? "takes one policy" : arguments_fault(given);
    if (fault)
        themis_tools_misuse("%s: %s", given->verb, fault);
    return fault == NULL;
}

static int run_policy(int argc, char **argv)
{
    arguments_t given = {NULL};
    themis_session_info_t info;
    char *plan = NULL;
    themis_t *session;
    int result;

    if (!arguments_parse(argc, argv, &given))
        return themis_tools_usage();
    if (given.plan && !(plan = plan_read(&given)))
        return THEMIS_TOOLS_FAILED;
    if (themis_tools_session_get(given.servers, &session) != THEMIS_TOOLS_OK) {
        free(plan);
        return THEMIS_TOOLS_FAILED;
    }
    themis_session_info(session, &info);
    json_t *rows = given.as_json ? json_array() : NULL;
    if (given.policy)
        result = policy_set(session, info.servers, given.policy, plan);
    else
        result = policy_show(session, info.servers, strcmp(given.verb, "explain") == 0, rows);
    if (rows)
        themis_tools_json_print(rows);
    free(plan);
    return result;
}

const themis_tools_command_t themis_tools_policy = {
    "policy", "[-s HOST:PORT,...] [--json] [get | explain | set POLICY [--plan FILE [--tolerance SECONDS]]]",
    "Shows or sets the policy by which servers share; explain prints the tree with every share.",
    "  -s LIST  these servers instead of those configured\n"
    "  --json   get and explain: an array with an object for each server, null for one that does not answer\n"
    "  POLICY   fifo, min-dilation, job-fair, user-fair, size-fair, group-fair, priority-fair, and chains such as\n"
    "           user-then-size-fair or group-then-user-then-size-fair; gift and tbf for comparison;\n"
    "           periodic, or periodic-then- before a chain, follows a plan\n"
    "  --plan FILE          the plan: what themis periodic plan --json has written\n"
    "  --tolerance SECONDS  by which jobs may be early or late (a fiftieth of the plan's period)\n",
    run_policy};
