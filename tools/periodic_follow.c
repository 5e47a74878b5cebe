/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/periodic_follow.h"
#include <jansson.h>
#include <signal.h>
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
#include "tools/periodic_servers.h"
#include "tools/periodic_view.h"
#include "tools/plan_text.h"
#include "tools/sessions.h"
#include "util/clock.h"
#include "util/config.h"

typedef themis_persched_follow_decision_t decision_t;

typedef struct following {
    /* As given. */
    const char *hosts, *interval, *bandwidth, *node_bandwidth, *margin, *confidence, *tolerance;
    themis_tools_texts_t directories;
    int once, dry_run, json;
    /* What that means. */
    themis_persched_follow_options_t options;
    themis_tools_periodic_source_t source;
    uint64_t every; /* ns */
    double wait;    /* the tolerance in s; negative: the servers' own */
    themis_tools_periodic_servers_t servers;
    themis_persched_follow_t *follow;
    int said;    /* the cause told last, of what stays; -1: none */
    int failing; /* looks in a row that failed with a plan in force */
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
    const themis_tools_option_t options[] = {{'s', "servers", NULL, &f->hosts},
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
    int stays = d->action == THEMIS_PERSCHED_FOLLOW_STAY || f->dry_run;

    if (f->json)
        json_print(f, view, d);
    else if (!stays || f->said != (int)d->cause || f->once)
        text_print(f, d);
    f->said = stays ? (int)d->cause : -1;
    fflush(stdout);
}

/* ---- what is done ---- */

/* Not all servers have the plan: it is taken back from those that do. */
static void plan_fail(following_t *f, themis_tools_periodic_outcome_t outcome, int replaces, const char *other)
{
    themis_tools_periodic_servers_restore(&f->servers);
    if (outcome == THEMIS_TOOLS_PERIODIC_REFUSED)
        themis_persched_follow_fail(f->follow);
    else if (replaces && *other)
        themis_persched_follow_yield(f->follow, other);
    else
        themis_persched_follow_forget(f->follow);
}

static int plan_set(following_t *f, const decision_t *d)
{
    const themis_tools_periodic_report_t report = {.problem = d->problem, .plan = d->pattern};
    themis_tools_periodic_outcome_t outcome = THEMIS_TOOLS_PERIODIC_REFUSED;
    themis_tools_periodic_policy_t found = {.ours = 0};
    char identity[THEMIS_TOOLS_PLAN_IDENTITY_BYTES];
    char *text = themis_tools_plan_text(themis_tools_periodic_json(&report), d->policy, f->wait, identity);
    int replaces = *f->servers.plan != 0;

    if (text)
        outcome = themis_tools_periodic_servers_plan(&f->servers, text, identity,
                                                     themis_persched_follow_before(f->follow), &found);
    else
        themis_tools_error("the plan cannot be written: a job's name is not UTF-8, or out of memory");
    free(text);
    if (outcome == THEMIS_TOOLS_PERIODIC_SET)
        return THEMIS_TOOLS_OK;
    plan_fail(f, outcome, replaces, found.policy);
    return THEMIS_TOOLS_FAILED;
}

/* A plan is told before it is set, and anything else once it is done, since who reads may be slow. */
static int decision_do(following_t *f, const themis_persched_follow_view_t *view, const decision_t *d)
{
    int plans = d->action == THEMIS_PERSCHED_FOLLOW_PLAN, result = THEMIS_TOOLS_OK;

    if (d->action == THEMIS_PERSCHED_FOLLOW_RESTORE || d->action == THEMIS_PERSCHED_FOLLOW_YIELD)
        result = themis_tools_periodic_servers_restore(&f->servers);
    decision_tell(f, view, d);
    if (plans && f->dry_run)
        themis_persched_follow_forget(f->follow);
    else if (plans)
        result = plan_set(f, d);
    return result;
}

/* Servers have a plan that is not to be in force any more. */
static int is_pending(const following_t *f)
{
    return *f->servers.before && !themis_persched_follow_before(f->follow);
}

/* One look, and what follows from it. */
static int look(following_t *f)
{
    themis_tools_periodic_view_t view = {.job = NULL};
    decision_t decision;

    if (is_pending(f))
        return themis_tools_periodic_servers_restore(&f->servers);
    f->source.since = themis_persched_follow_since(f->follow);
    f->source.lenient = themis_persched_follow_before(f->follow) != NULL;
    int result = themis_tools_periodic_view_take(&view, &f->source);
    if (result == THEMIS_TOOLS_OK) {
        themis_status_t status = themis_persched_follow_decide(f->follow, &view.view, &decision);

        result = status == THEMIS_OK ? decision_do(f, &view.view, &decision)
                                     : themis_tools_error("%s", themis_status_string(status));
    }
    themis_tools_periodic_view_release(&view);
    return result;
}

/* ---- the service ---- */

/* The policy from before the plan, if servers may have it. */
static int plan_end(following_t *f, themis_persched_follow_cause_t cause, const char *reason)
{
    const themis_persched_follow_view_t nothing = {.jobs = 0};
    decision_t d = {.action = THEMIS_PERSCHED_FOLLOW_RESTORE, .cause = cause};

    if (!*f->servers.before)
        return THEMIS_TOOLS_OK;
    snprintf(d.reason, sizeof d.reason, "%s", reason);
    snprintf(d.policy, sizeof d.policy, "%s", f->servers.before);
    int result = themis_tools_periodic_servers_restore(&f->servers);
    decision_tell(f, &nothing, &d);
    return result;
}

/* A plan that cannot be judged for some time does not stay. */
static void look_again(following_t *f)
{
    enum { PATIENCE = 5 };
    int in_force = themis_persched_follow_before(f->follow) != NULL;

    f->failing = look(f) != THEMIS_TOOLS_OK && in_force ? f->failing + 1 : 0;
    if (f->failing < PATIENCE || !themis_persched_follow_before(f->follow))
        return;
    f->failing = 0;
    themis_persched_follow_forget(f->follow);
    plan_end(f, THEMIS_PERSCHED_FOLLOW_BLIND, "servers or their history could not be read for some time");
}

/* With --once, what a look leaves to be done is tried some times more. */
static int pending_finish(following_t *f, int result)
{
    enum { TRIES = 5 };

    for (int i = 0; i < TRIES && is_pending(f) && !themis_tools_interrupted(); i++) {
        themis_tools_interrupt_pause(themis_util_clock_now() + THEMIS_NS_PER_S);
        themis_tools_periodic_servers_restore(&f->servers);
    }
    return is_pending(f) ? THEMIS_TOOLS_FAILED : result;
}

static int following_run(following_t *f)
{
    uint64_t due = themis_util_clock_now();
    int result = look(f);

    if (f->once)
        return pending_finish(f, result);
    /* what is wrong from the beginning is a mistake, what goes wrong later is for the next look */
    if (result != THEMIS_TOOLS_OK && !*f->servers.before)
        return result;
    while (!themis_tools_interrupted()) {
        uint64_t now = themis_util_clock_now();

        due = due + f->every > now ? due + f->every : now + f->every;
        themis_tools_interrupt_pause(due);
        if (!themis_tools_interrupted())
            look_again(f);
    }
    return plan_end(f, THEMIS_PERSCHED_FOLLOW_STOPPED, "the service ends");
}

int themis_tools_periodic_follow(int argc, char **argv)
{
    following_t f = {.hosts = NULL};
    themis_session_info_t info;
    int result = options_read(&f, argc, argv);

    if (result != THEMIS_TOOLS_OK)
        return result;
    themis_tools_interrupt_watch_all(); /* who stops a service may send the signal to it and to its group */
    signal(SIGPIPE, SIG_IGN); /* who reads what it tells may end, and the plan has to be taken back all the same */
    themis_util_config_env_default("THEMIS_TIMEOUT", "5s"); /* a server that hangs does not hold up the others */
    if (themis_tools_session_get(f.hosts, &f.servers.session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    themis_session_info(f.servers.session, &info);
    f.servers.count = info.servers;
    f.source.servers = &f.servers;
    f.source.directories = &f.directories;
    if (themis_persched_follow_create(&f.options, &f.follow) != THEMIS_OK)
        return themis_tools_error("out of memory");
    result = following_run(&f);
    themis_persched_follow_destroy(f.follow);
    return result;
}
