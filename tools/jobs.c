/* SPDX-License-Identifier: BSD-3-Clause */
/* themis jobs: the jobs of all servers. */
#include <stdio.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json.h"
#include "tools/sessions.h"
#include "tools/statistics.h"

static void print_jobs(const themis_tools_statistics_t *sample)
{
    char read_s[8], written_s[8], read[8], written[8], queued[8];

    printf("%-24s %8s %8s %5s %8s %6s %7s %7s %8s %8s %9s %6s %7s\n", "JOB", "UID", "GID", "NODES", "PRIORITY", "DUE%",
           "READ/S", "WRITE/S", "READ", "WRITTEN", "REQUESTS", "QUEUED", "BYTES");
    for (uint32_t i = 0; i < sample->count; i++) {
        const themis_tools_job_t *job = &sample->job[i];
        printf("%-24.24s %8u %8u %5u %8u %6.2f %7s %7s %8s %8s %9.0f %6.0f %7s%s\n", job->id, job->uid, job->gid,
               job->nodes, job->priority, 100 * job->due, themis_tools_format_bytes(job->read_s, read_s),
               themis_tools_format_bytes(job->written_s, written_s), themis_tools_format_bytes(job->bytes_read, read),
               themis_tools_format_bytes(job->bytes_written, written), job->requests, job->queued,
               themis_tools_format_bytes(job->queued_bytes, queued), job->active ? "" : "  inactive");
    }
}

/* Rates need two samples, half a second apart; where there is no job one will do. Returns 0, or -1 if out of memory. */
static int jobs_take(themis_t *session, themis_tools_statistics_t *sample)
{
    themis_tools_statistics_t before = {0};
    int failed = themis_tools_statistics_take(session, NULL, 0, &before);

    if (failed || before.count == 0) {
        *sample = before;
        return failed;
    }
    usleep(500000);
    failed = themis_tools_statistics_take(session, &before, 0, sample);
    themis_tools_statistics_release(&before);
    return failed;
}

static int run_jobs(int argc, char **argv)
{
    int as_json = 0, result = THEMIS_TOOLS_OK;
    const char *servers = NULL;
    const themis_tools_option_t options[] = {{0, "json", &as_json, NULL}, {'s', "servers", NULL, &servers}, {0}};
    char since[THEMIS_TOOLS_SINCE_BYTES];
    themis_tools_statistics_t sample;
    themis_t *session;

    if (themis_tools_options(argc, argv, options) != argc)
        return themis_tools_usage();
    if (themis_tools_session_get(servers, &session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    if (jobs_take(session, &sample) != 0) {
        result = themis_tools_error("out of memory");
    } else if (as_json) {
        json_t *json = themis_tools_statistics_json(&sample);
        themis_tools_json_print(json_incref(json_object_get(json, "jobs")));
        json_decref(json);
    } else {
        print_jobs(&sample);
    }
    for (uint32_t s = 0; s < sample.servers && result == THEMIS_TOOLS_OK; s++)
        if (!sample.server[s].reachable)
            result = themis_tools_error("server %u, %s, is down%s: %s", s, sample.server[s].name,
                                        themis_tools_format_since(sample.server[s].down_since, since),
                                        sample.server[s].error);
    themis_tools_statistics_release(&sample);
    return result;
}

const themis_tools_command_t themis_tools_jobs = {
    "jobs", "[--json] [-s HOST:PORT,...]",
    "Lists the jobs of all servers with their shares, those that move most first.",
    "  --json   as JSON: an array with an object for each job\n  -s LIST  these servers instead of those configured\n",
    run_jobs};
