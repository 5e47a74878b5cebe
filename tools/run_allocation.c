/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/run_allocation.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tools/allocation.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/sessions.h"
#include "util/clock.h"
#include "util/config.h"

typedef themis_tools_run_allocation_t run_t;

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

void themis_tools_run_allocation_make(run_t *run, const char *servers, char *const *command)
{
    json_t *reply = NULL;

    if (!run->wanted)
        return;
    run->servers = servers;
    names_choose(run, command);
    const themis_tools_allocation_wish_t wish = {
        .application = run->application, .nodes = run->nodes, .job = *run->job ? run->job : NULL, .lease = run->lease};
    if (themis_tools_allocation_make(servers, &wish, &reply) == THEMIS_TOOLS_OK) {
        double left = themis_tools_json_number(reply, "expires") - (double)time(NULL);

        run->id = themis_tools_allocation_id(reply);
        run->placement = themis_tools_allocation_placement(reply);
        run->length = left > 1 ? (uint64_t)left : 1;
        run->renew_at = themis_util_clock_now() + run->length * (THEMIS_NS_PER_S / 2);
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
    json_t *reply = NULL;

    if (!run->id || themis_util_clock_now() < run->renew_at)
        return;
    if (themis_tools_allocation_renew(run->servers, run->id, run->length, &reply) != THEMIS_TOOLS_OK)
        themis_tools_note("allocation %" PRIu64 " is not renewed; it is tried again", run->id);
    json_decref(reply);
    themis_tools_sessions_close();
    run->renew_at = themis_util_clock_now() + run->length * (THEMIS_NS_PER_S / 2);
}

void themis_tools_run_allocation_release(run_t *run)
{
    json_t *reply = NULL;

    if (run->id) {
        themis_tools_allocation_release(run->servers, run->id, &reply);
        json_decref(reply);
        themis_tools_sessions_close();
    }
    free(run->placement);
    run->placement = NULL;
    run->id = 0;
}
