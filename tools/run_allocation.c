/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/run_allocation.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/allocation.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/sessions.h"
#include "util/clock.h"
#include "util/config.h"

typedef themis_tools_run_allocation_t run_t;

/* How long a renewal or the release may hold up the command's signals and the end. */
#define LIMIT (3 * THEMIS_NS_PER_S)
#define MOST_PAUSE (30 * THEMIS_NS_PER_S) /* after a renewal that has failed */

static const char *const batch_jobs[] = {"THEMIS_JOB", "SLURM_JOB_ID", "PBS_JOBID", "FLUX_JOB_ID"};
static const char *const names[] = {"THEMIS_APPLICATION", "SLURM_JOB_NAME", "PBS_JOBNAME"};

static const char *first_set(const char *const *variable, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (themis_util_config_env(variable[i]))
            return themis_util_config_env(variable[i]);
    return NULL;
}

/* By what the history will know the command, and the servers its job. */
static void names_choose(run_t *run, char *const *command)
{
    const char *name = first_set(names, sizeof names / sizeof *names), *slash = strrchr(command[0], '/');
    char host[128] = "host";

    snprintf(run->application, sizeof run->application, "%s", name ? name : slash ? slash + 1 : command[0]);
    gethostname(host, sizeof host - 1);
    if (!first_set(batch_jobs, sizeof batch_jobs / sizeof *batch_jobs))
        snprintf(run->job, sizeof run->job, "run@%.128s/%d", host, (int)getpid());
}

static void lease_begin(run_t *run, const json_t *reply, uint64_t asked_at)
{
    double lease = themis_tools_json_number(reply, "lease_s");

    if (lease >= 1 && lease < UINT32_MAX)
        run->lease_s = (uint64_t)lease;
    run->lease_s = run->lease_s ? run->lease_s : 1;
    run->renew_at = asked_at + run->lease_s * (THEMIS_NS_PER_S / 2);
}

void themis_tools_run_allocation_make(run_t *run, const char *servers, char *const *command)
{
    json_t *reply = NULL;

    if (!run->wanted)
        return;
    if (themis_util_config_env("THEMIS_ALLOCATION") && themis_util_config_env("THEMIS_PLACEMENT")) {
        themis_tools_note("the command uses allocation %s", themis_util_config_env("THEMIS_ALLOCATION"));
        return;
    }
    run->servers = servers;
    names_choose(run, command);
    const themis_tools_allocation_wish_t wish = {
        .application = run->application, .nodes = run->nodes, .job = *run->job ? run->job : NULL, .lease = run->lease};
    uint64_t asked_at = themis_util_clock_now();
    if (themis_tools_allocation_make(servers, &wish, &reply) == THEMIS_TOOLS_OK) {
        run->id = themis_tools_allocation_id(reply);
        run->placement = themis_tools_allocation_placement(reply);
        lease_begin(run, reply, asked_at);
    }
    json_decref(reply);
    themis_tools_sessions_close();
    if (!run->placement)
        themis_tools_note("no servers are allocated; the command's files are on all");
}

void themis_tools_run_allocation_export(const run_t *run)
{
    char id[24];

    if (!run->placement)
        return;
    snprintf(id, sizeof id, "%" PRIu64, run->id);
    setenv("THEMIS_PLACEMENT", run->placement, 1);
    setenv("THEMIS_ALLOCATION", id, 1);
    if (!first_set(names, sizeof names / sizeof *names))
        setenv("THEMIS_APPLICATION", run->application, 1);
    if (*run->job)
        setenv("THEMIS_JOB", run->job, 1);
}

void themis_tools_run_allocation_renew(run_t *run)
{
    uint64_t asked_at = themis_util_clock_now(), pause = run->lease_s * (THEMIS_NS_PER_S / 16);
    json_t *reply = NULL;

    if (!run->id || run->is_gone || asked_at < run->renew_at)
        return;
    themis_status_t status = themis_tools_allocation_renew(run->servers, run->id, run->lease_s, LIMIT, &reply);
    if (status == THEMIS_OK) {
        lease_begin(run, reply, asked_at);
    } else if (status == THEMIS_NO_ENTRY) {
        themis_tools_note("allocation %" PRIu64 " has ended; the command's servers may be given to others", run->id);
        run->is_gone = 1;
    } else {
        themis_tools_note("allocation %" PRIu64 " is not renewed; it is tried again", run->id);
        run->renew_at = themis_util_clock_now() + (pause < MOST_PAUSE ? pause : MOST_PAUSE);
    }
    json_decref(reply);
    themis_tools_sessions_close();
}

void themis_tools_run_allocation_release(run_t *run)
{
    json_t *reply = NULL;

    if (run->id && !run->is_gone) {
        themis_tools_allocation_release(run->servers, run->id, LIMIT, &reply);
        json_decref(reply);
        themis_tools_sessions_close();
    }
    free(run->placement);
    run->placement = NULL;
    run->id = 0;
}
