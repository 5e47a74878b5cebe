/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/periodic_follow.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/command.h"
#include "tools/format.h"
#include "tools/interrupt.h"
#include "tools/json.h"
#include "tools/options.h"
#include "tools/periodic_report.h"
#include "tools/periodic_view.h"
#include "tools/plan_text.h"
#include "tools/sessions.h"
#include "util/clock.h"
#include "util/config.h"

typedef themis_persched_follow_decision_t decision_t;

typedef struct following {
    /* As given. */
    const char *servers, *interval, *bandwidth, *node_bandwidth, *margin, *confidence, *tolerance;
    themis_tools_texts_t directories;
    int once, dry_run, json;
    /* What that means. */
    themis_persched_follow_options_t options;
    themis_tools_periodic_source_t source;
    uint64_t every; /* ns */
    double wait;    /* the tolerance in s; negative: the servers' own */
    uint32_t count; /* of servers */
    themis_persched_follow_t *follow;
    int said;                                          /* the cause told last, of what stays; -1: none */
    char pending[THEMIS_PERSCHED_FOLLOW_POLICY_BYTES]; /* a policy that not all servers have got back; "": none */
    char plan[THEMIS_TOOLS_PLAN_IDENTITY_BYTES];       /* the plan that was set last */
} following_t;

/* ---- options ---- */

static int number_read(const char *name, const char *text, double low, double high, double *value)
{
    char *end;

    if (!text)
        return THEMIS_TOOLS_OK;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= low && number <= high))
        return themis_tools_misuse("--%s %s: not a number from %g to %g", name, text, low, high);
    *value = number;
    return THEMIS_TOOLS_OK;
}

static int bytes_read(const char *name, const char *text, double *value)
{
    uint64_t bytes;

    if (!text)
        return THEMIS_TOOLS_OK;
    if (themis_util_config_bytes(text, &bytes) != THEMIS_OK || bytes == 0)
        return themis_tools_misuse("--%s %s: expected bytes per second above 0, such as 3GB", name, text);
    *value = (double)bytes;
    return THEMIS_TOOLS_OK;
}

static int options_check(following_t *f)
{
    int result;

    f->options = themis_persched_follow_defaults;
    f->every = 60 * THEMIS_NS_PER_S;
    f->wait = -1;
    f->said = -1;
    if (f->interval && (themis_util_config_duration(f->interval, &f->every) != THEMIS_OK ||
                        f->every < THEMIS_NS_PER_MS * 100 || f->every > THEMIS_NS_PER_S * 86400))
        return themis_tools_misuse("--interval %s: expected a time from 100ms to 24h", f->interval);
    result = number_read("margin", f->margin, 0, 10, &f->options.margin);
    if (result == THEMIS_TOOLS_OK)
        result = number_read("confidence", f->confidence, 0, 1, &f->options.min_confidence);
    if (result == THEMIS_TOOLS_OK)
        result = number_read("tolerance", f->tolerance, 0, 1e8, &f->wait);
    if (result == THEMIS_TOOLS_OK)
        result = bytes_read("bandwidth", f->bandwidth, &f->source.bandwidth);
    if (result == THEMIS_TOOLS_OK)
        result = bytes_read("node-bandwidth", f->node_bandwidth, &f->source.node_bandwidth);
    return result;
}

static int options_read(following_t *f, int argc, char **argv)
{
    const themis_tools_option_t options[] = {{'s', "servers", NULL, &f->servers},
                                             {0, "directory", NULL, NULL, &f->directories},
                                             {0, "interval", NULL, &f->interval},
                                             {0, "bandwidth", NULL, &f->bandwidth},
                                             {0, "node-bandwidth", NULL, &f->node_bandwidth},
                                             {0, "margin", NULL, &f->margin},
                                             {0, "confidence", NULL, &f->confidence},
                                             {0, "tolerance", NULL, &f->tolerance},
                                             {0, "once", &f->once, NULL},
                                             {0, "dry-run", &f->dry_run, NULL},
                                             {0, "json", &f->json, NULL},
                                             {0}};

    return themis_tools_options(argc, argv, options) == argc ? options_check(f) : themis_tools_usage();
}

/* ---- what is told ---- */

/* The jobs of a plan, a line for each. */
static void jobs_print(const decision_t *d)
{
    char volume[8];

    for (uint32_t i = 0; d->problem && i < d->problem->applications; i++) {
        const themis_persched_application_t *a = &d->problem->application[i];

        printf("  job %s, %g node%s: computes for %.4g s, moves %s\n", a->name, a->nodes, a->nodes == 1 ? "" : "s",
               a->compute, themis_tools_format_bytes(a->volume, volume));
    }
}

static void text_print(const following_t *f, const decision_t *d)
{
    static const char *const words[] = {"stays", "plan", "restore", "yields"};
    time_t now = time(NULL);
    char when[32] = "";
    struct tm local;

    if (localtime_r(&now, &local))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
    printf("%s %s%s: %s", when, f->dry_run ? "dry run, " : "", words[d->action], d->reason);
    printf(*d->policy ? "; policy %s\n" : "\n", d->policy);
    jobs_print(d);
}

static json_t *jobs_json(const themis_persched_problem_t *problem)
{
    json_t *jobs = json_array();

    for (uint32_t i = 0; i < problem->applications; i++) {
        const themis_persched_application_t *a = &problem->application[i];

        json_array_append_new(jobs, json_pack("{s:o, s:f, s:f, s:f}", "job", themis_tools_json_name(a->name), "nodes",
                                              a->nodes, "compute_s", a->compute, "volume_bytes", a->volume));
    }
    return jobs;
}

static json_t *seen_json(const themis_persched_follow_view_t *view)
{
    json_t *jobs = json_array();

    for (uint32_t i = 0; i < view->jobs; i++) {
        const themis_persched_follow_job_t *job = &view->job[i];
        json_t *fit = job->fit < 0 ? json_null() : json_real(job->fit);

        json_array_append_new(jobs, json_pack("{s:o, s:I, s:f, s:f, s:f, s:f, s:I, s:f, s:f, s:o}", "job",
                                              themis_tools_json_name(job->name), "user", (json_int_t)job->user, "nodes",
                                              job->nodes, "compute_s", job->compute, "volume_bytes", job->volume,
                                              "period_s", job->period, "phases", (json_int_t)job->phases, "confidence",
                                              job->confidence, "own_bytes_per_s", job->rate, "plan_fit", fit));
    }
    return jobs;
}

static void json_print(const following_t *f, const themis_persched_follow_view_t *view, const decision_t *d)
{
    static const char *const words[] = {"stay", "plan", "restore", "yield"};
    json_t *json = json_pack("{s:f, s:s, s:s, s:o, s:f, s:f, s:b}", "time_s", (double)themis_util_clock_wall() / 1e9,
                             "action", words[d->action], "cause", themis_persched_follow_cause_name(d->cause), "reason",
                             themis_tools_json_name(d->reason), "measured_efficiency", d->measured,
                             "planned_efficiency", d->predicted, "dry_run", f->dry_run);

    if (*d->policy)
        json_object_set_new(json, "policy", json_string(d->policy));
    if (d->problem)
        json_object_set_new(json, "planned", jobs_json(d->problem));
    json_object_set_new(json, "seen", seen_json(view));
    json_dumpf(json, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(json);
}

/* What stays as it is for the same cause as before is told once, but for JSON. */
static void decision_tell(following_t *f, const themis_persched_follow_view_t *view, const decision_t *d)
{
    int stays = d->action == THEMIS_PERSCHED_FOLLOW_STAY;

    if (f->json)
        json_print(f, view, d);
    else if (!stays || f->said != (int)d->cause || f->once)
        text_print(f, d);
    f->said = stays ? (int)d->cause : -1;
    fflush(stdout);
}

/* ---- what is done ---- */

/* Sets a policy, or if `plan` is none NULL a plan, on all servers; each failure is told. Returns how many failed. */
static uint32_t servers_set(const following_t *f, const char *policy, const char *plan)
{
    uint32_t failed = 0;

    for (uint32_t i = 0; i < f->count; i++) {
        char *text;
        themis_status_t status = plan ? themis_plan_set(f->source.session, i, plan, &text)
                                      : themis_policy_set(f->source.session, i, policy, &text);

        if (status == THEMIS_OK)
            free(text);
        else
            themis_tools_error("server %u: policy %s: %s", i, policy, themis_last_error());
        failed += status != THEMIS_OK;
    }
    return failed;
}

/* Tried again at the next look, if a server does not take it. */
static int policy_restore(following_t *f, const char *policy)
{
    char wanted[THEMIS_PERSCHED_FOLLOW_POLICY_BYTES];

    snprintf(wanted, sizeof wanted, "%s", policy);
    int failed = servers_set(f, wanted, NULL) > 0;
    snprintf(f->pending, sizeof f->pending, "%s", failed ? wanted : "");
    return failed ? THEMIS_TOOLS_FAILED : THEMIS_TOOLS_OK;
}

static int plan_set(following_t *f, const decision_t *d)
{
    const themis_tools_periodic_report_t report = {.problem = d->problem, .plan = d->pattern};
    char *plan = themis_tools_plan_text(themis_tools_periodic_json(&report), d->policy, f->wait, f->plan);

    if (plan && servers_set(f, d->policy, plan) == 0) {
        free(plan);
        return THEMIS_TOOLS_OK;
    }
    if (!plan)
        themis_tools_error("the plan cannot be written: a job's name is not UTF-8, or out of memory");
    policy_restore(f, themis_persched_follow_before(f->follow));
    themis_persched_follow_forget(f->follow);
    free(plan);
    return THEMIS_TOOLS_FAILED;
}

static int decision_do(following_t *f, const decision_t *d)
{
    if (f->dry_run) {
        themis_persched_follow_forget(f->follow);
        return THEMIS_TOOLS_OK;
    }
    switch (d->action) {
    case THEMIS_PERSCHED_FOLLOW_PLAN:
        return plan_set(f, d);
    case THEMIS_PERSCHED_FOLLOW_RESTORE:
        return policy_restore(f, d->policy);
    default:
        return THEMIS_TOOLS_OK;
    }
}

/* One look, and what follows from it. */
static int look(following_t *f)
{
    themis_tools_periodic_view_t view = {.job = NULL};
    decision_t decision;

    if (*f->pending)
        return policy_restore(f, f->pending);
    f->source.since = themis_persched_follow_since(f->follow);
    int result = themis_tools_periodic_view_take(&view, &f->source);
    if (result == THEMIS_TOOLS_OK) {
        themis_status_t status = themis_persched_follow_decide(f->follow, &view.view, &decision);

        if (status == THEMIS_OK) {
            decision_tell(f, &view.view, &decision);
            result = decision_do(f, &decision);
        } else {
            result = themis_tools_error("%s", themis_status_string(status));
        }
    }
    themis_tools_periodic_view_release(&view);
    return result;
}

/* ---- the service ---- */

static void pause_until(uint64_t due)
{
    const struct timespec step = {.tv_nsec = 50000000};

    while (!themis_tools_interrupted() && themis_util_clock_now() < due)
        nanosleep(&step, NULL);
}

/* The policy from before the plan, if one is in force. */
static int following_end(following_t *f)
{
    const char *before = *f->pending ? f->pending : themis_persched_follow_before(f->follow);

    if (!before)
        return THEMIS_TOOLS_OK;
    const themis_persched_follow_view_t nothing = {.jobs = 0};
    decision_t d = {.action = THEMIS_PERSCHED_FOLLOW_RESTORE, .cause = THEMIS_PERSCHED_FOLLOW_STOPPED};
    snprintf(d.reason, sizeof d.reason, "%s", "the service ends");
    snprintf(d.policy, sizeof d.policy, "%s", before);
    decision_tell(f, &nothing, &d);
    return policy_restore(f, d.policy);
}

static int following_run(following_t *f)
{
    uint64_t due = themis_util_clock_now();
    int result = look(f);

    /* what is wrong from the beginning is a mistake, what goes wrong later is for the next look */
    if (result != THEMIS_TOOLS_OK || f->once)
        return result;
    while (!themis_tools_interrupted()) {
        uint64_t now = themis_util_clock_now();

        due = due + f->every > now ? due + f->every : now + f->every;
        pause_until(due);
        if (!themis_tools_interrupted())
            look(f);
    }
    return following_end(f);
}

int themis_tools_periodic_follow(int argc, char **argv)
{
    following_t f = {.servers = NULL};
    themis_session_info_t info;
    int result = options_read(&f, argc, argv);

    if (result != THEMIS_TOOLS_OK)
        return result;
    themis_tools_interrupt_watch_all(); /* who stops a service may send the signal to it and to its group */
    themis_util_config_env_default("THEMIS_TIMEOUT", "5s"); /* a server that hangs does not hold up the others */
    if (themis_tools_session_get(f.servers, &f.source.session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    themis_session_info(f.source.session, &info);
    f.count = info.servers;
    f.source.directories = &f.directories;
    if (themis_persched_follow_create(&f.options, &f.follow) != THEMIS_OK)
        return themis_tools_error("out of memory");
    result = following_run(&f);
    themis_persched_follow_destroy(f.follow);
    return result;
}
