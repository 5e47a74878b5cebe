/* SPDX-License-Identifier: BSD-3-Clause */
/* themis policy: what is in force, the tree of shares, and another policy for all servers. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"

static json_t *ask(const themis_tools_command_t *self, themis_t *session, uint32_t server)
{
    char *text;

    if (themis_query(session, server, "policy", &text) != THEMIS_OK) {
        themis_tools_failed(self);
        return NULL;
    }
    json_t *json = json_loads(text, 0, NULL);
    free(text);
    if (json == NULL)
        themis_tools_complain(self, "server %u: the answer is not JSON", server);
    return json;
}

static const char *word(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));

    return text ? text : "";
}

static int show(const themis_tools_command_t *self, themis_t *session, uint32_t servers, int explain)
{
    int result = THEMIS_TOOLS_OK;

    for (uint32_t s = 0; s < servers; s++) {
        json_t *json = ask(self, session, s);
        if (json == NULL) {
            result = THEMIS_TOOLS_FAILED;
            continue;
        }
        if (explain)
            printf("server %u, draw %s: %s", s, word(json, "draw"), word(json, "tree"));
        else
            printf("server %u: %s (%s)\n", s, word(json, "policy"), word(json, "draw"));
        json_decref(json);
    }
    return result;
}

/* A policy that one server refuses as wrong is refused by all. A server that fails otherwise does not keep the others
 * on the old policy. */
static int set(const themis_tools_command_t *self, themis_t *session, uint32_t servers, const char *policy)
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
        themis_tools_complain(self, "server %u: %s", s, themis_last_error());
        if (status == THEMIS_PARSE)
            return THEMIS_TOOLS_FAILED;
    }
    if (failed && failed < servers)
        themis_tools_complain(self, "not set on %u of %u servers", failed, servers);
    return failed ? THEMIS_TOOLS_FAILED : THEMIS_TOOLS_OK;
}

/* What is wrong with the verb and the policy behind it, which is NULL if there is none; NULL if nothing is. */
static const char *fault_of(const char *verb, const char *policy)
{
    int sets = strcmp(verb, "set") == 0;

    if (!sets && strcmp(verb, "get") != 0 && strcmp(verb, "explain") != 0)
        return "expected get, explain or set POLICY";
    if (sets && !policy)
        return "needs a policy";
    return !sets && policy ? "takes no policy" : NULL;
}

/* Options may stand before and behind the verb. Returns 0 after a complaint if the arguments are wrong. */
static int take_arguments(const themis_tools_command_t *self, int argc, char **argv, const char **servers,
                          const char **verb, const char **policy)
{
    const themis_tools_option_t options[] = {{'s', "servers", NULL, servers}, {0}};
    int at = themis_tools_options(self, argc, argv, options);

    *verb = at >= 0 && at < argc ? argv[at] : "get";
    if (at < 0 || at == argc)
        return at >= 0;
    int behind = themis_tools_options(self, argc - at, argv + at, options);
    if (behind < 0)
        return 0;
    at += behind;
    *policy = at < argc ? argv[at++] : NULL;
    const char *fault = at < argc ? "takes one policy" : fault_of(*verb, *policy);
    if (fault)
        themis_tools_misused(self, "%s: %s", *verb, fault);
    return fault == NULL;
}

static int run_policy(const themis_tools_command_t *self, int argc, char **argv)
{
    const char *servers = NULL, *verb, *policy = NULL;
    themis_session_info_t info;
    themis_t *session;

    if (!take_arguments(self, argc, argv, &servers, &verb, &policy))
        return themis_tools_usage(self);
    if (themis_tools_session(self, servers, &session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    themis_session_info(session, &info);
    if (policy != NULL)
        return set(self, session, info.servers, policy);
    return show(self, session, info.servers, strcmp(verb, "explain") == 0);
}

const themis_tools_command_t themis_tools_policy = {
    "policy", "[-s HOST:PORT,...] [get | explain | set POLICY]",
    "Shows or sets the policy by which servers share; explain prints the tree with every share.",
    "  -s LIST  these servers instead of those configured\n"
    "  POLICY   fifo, job-fair, user-fair, size-fair, group-fair, priority-fair, and chains such as\n"
    "           user-then-size-fair or group-then-user-then-size-fair; gift and tbf for comparison\n",
    run_policy};
