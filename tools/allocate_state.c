/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/allocate_state.h"
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "tools/json.h"

typedef themis_tools_allocate_state_t state_t;

static int server_read(const themis_dfra_named_site_t *site, const json_t *name, const char *path, uint32_t *server)
{
    const char *text = json_string_value(name);

    *server = text ? themis_dfra_site_find(site, text) : UINT32_MAX;
    if (*server != UINT32_MAX)
        return THEMIS_TOOLS_OK;
    return themis_tools_misuse("%s: '%s' is not a server of the site", path, text ? text : "(not a text)");
}

/* What is missing is 0. */
static int observation_read(const json_t *now, const char *path, uint32_t job, themis_dfra_observation_t *o)
{
    static const char *const names[] = {"duration",       "bytes",     "operations",
                                        "peak_bandwidth", "peak_iops", "metadata_waiting"};
    double *const values[] = {&o->duration,       &o->volume,    &o->operations,
                              &o->peak_bandwidth, &o->peak_iops, &o->metadata_waiting};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *value = json_object_get(now, names[i]);

        *values[i] = json_number_value(value);
        if (value && (!json_is_number(value) || !(*values[i] >= 0)))
            return themis_tools_misuse("%s: running job %u: %s is not a number from 0 on", path, job + 1, names[i]);
    }
    o->shared_file = json_is_true(json_object_get(now, "shared_file"));
    return THEMIS_TOOLS_OK;
}

/* A name or a uid, or "" if there is none. */
static int user_read(const json_t *json, const char *path, uint32_t job, char *user, size_t size)
{
    *user = '\0';
    if (!json)
        return THEMIS_TOOLS_OK;
    if (json_is_integer(json))
        snprintf(user, size, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
    else if (json_is_string(json) && *json_string_value(json) && strlen(json_string_value(json)) < size)
        snprintf(user, size, "%s", json_string_value(json));
    else
        return themis_tools_misuse("%s: the user of running job %u is no name or uid", path, job + 1);
    return THEMIS_TOOLS_OK;
}

static int job_read(state_t *state, const themis_dfra_named_site_t *site,
                    const themis_tools_allocate_history_t *history, const char *path, uint32_t job)
{
    const json_t *json = json_array_get(json_object_get(state->json, "jobs"), job);
    const json_t *servers = json_object_get(json, "servers"), *nodes = json_object_get(json, "nodes");
    const char *application = json_string_value(json_object_get(json, "application"));
    json_int_t number = json_integer_value(nodes);
    themis_dfra_running_t *running = &state->running[job];
    int result = THEMIS_TOOLS_OK;
    char user[256];

    if (!application || !*application || number < 1 || number > UINT32_MAX || json_array_size(servers) == 0 ||
        json_array_size(servers) > THEMIS_DFRA_MOST_SERVERS)
        return themis_tools_misuse("%s: running job %u has no application, nodes or servers", path, job + 1);
    uint32_t *list = calloc(json_array_size(servers), sizeof *list);
    if (!list)
        return themis_tools_error("out of memory");
    running->server = list;
    for (; running->servers < json_array_size(servers) && result == THEMIS_TOOLS_OK; running->servers++)
        result = server_read(site, json_array_get(servers, running->servers), path, &list[running->servers]);
    running->alone = json_is_true(json_object_get(json, "alone"));
    if (result == THEMIS_TOOLS_OK)
        result = observation_read(json_object_get(json, "now"), path, job, &running->now);
    if (result == THEMIS_TOOLS_OK)
        result = user_read(json_object_get(json, "user"), path, job, user, sizeof user);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_allocate_history_find(history, application, *user ? user : NULL, (uint32_t)number,
                                                    &state->known[job]);
    running->known = state->known[job].records > 0 ? &state->known[job] : NULL;
    return result;
}

int themis_tools_allocate_state_read(state_t *state, const themis_dfra_named_site_t *site,
                                     const themis_tools_allocate_history_t *history, const char *path)
{
    json_error_t error;
    int result = THEMIS_TOOLS_OK;

    state->json = json_load_file(path, 0, &error);
    if (!json_is_object(state->json))
        return themis_tools_misuse("%s:%d: %s", path, error.line, state->json ? "not a JSON object" : error.text);
    const json_t *jobs = json_object_get(state->json, "jobs"), *slow = json_object_get(state->json, "anomalous");
    size_t count = json_array_size(jobs);
    if ((jobs && !json_is_array(jobs)) || (slow && !json_is_array(slow)) || count > THEMIS_DFRA_MOST_JOBS)
        return themis_tools_misuse("%s: jobs and anomalous are lists", path);
    state->anomalous = calloc(site->site.servers, 1);
    state->running = calloc(count + 1, sizeof *state->running);
    state->known = calloc(count + 1, sizeof *state->known);
    if (!state->anomalous || !state->running || !state->known)
        return themis_tools_error("out of memory");
    for (size_t i = 0; i < json_array_size(slow) && result == THEMIS_TOOLS_OK; i++) {
        uint32_t server;

        result = server_read(site, json_array_get(slow, i), path, &server);
        if (result == THEMIS_TOOLS_OK)
            state->anomalous[server] = 1;
    }
    state->pool = (themis_dfra_pool_t){state->anomalous, state->running, (uint32_t)count};
    for (uint32_t i = 0; i < count && result == THEMIS_TOOLS_OK; i++)
        result = job_read(state, site, history, path, i);
    return result;
}

void themis_tools_allocate_state_release(state_t *state)
{
    for (uint32_t i = 0; i < state->pool.jobs; i++)
        free((void *)(uintptr_t)state->running[i].server);
    free(state->running);
    free(state->known);
    free(state->anomalous);
    json_decref(state->json);
}
