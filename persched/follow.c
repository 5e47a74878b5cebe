/* SPDX-License-Identifier: BSD-3-Clause */
#include "persched/follow.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "persched/candidates.h"
#include "persched/follow_servers.h"

typedef themis_persched_follow_job_t job_t;
typedef themis_persched_follow_view_t view_t;
typedef themis_persched_follow_decision_t decision_t;
typedef themis_persched_candidates_t candidates_t;
typedef themis_persched_follow_servers_t servers_t;

/* A job of the plan, by what it was planned with. */
typedef struct planned {
    char *name; /* owned */
    uint32_t user;
    double compute, volume;
    double cycle; /* s of one repetition, without waiting */
    /* Since when it does not fit its windows while SysEff falls short of the plan, since when it has no windows, and
     * since when it does something else; 0: it does not. */
    double unfit_from, bare_from, other_from;
} planned_t;

struct themis_persched_follow {
    themis_persched_follow_options_t options;
    int in_force;                                      /* a plan is */
    int failed;                                        /* the last plan was given up since it was not good */
    double since, since_before;                        /* when the policy changed last, and before the plan did it */
    int partial;                                       /* some servers had left the plan at the last look */
    char before[THEMIS_PERSCHED_FOLLOW_POLICY_BYTES];  /* the policy before the plan */
    char policy[THEMIS_PERSCHED_FOLLOW_POLICY_BYTES];  /* the one that follows it */
    char yielded[THEMIS_PERSCHED_FOLLOW_POLICY_BYTES]; /* set by somebody else while a plan was; "": none */
    double measured;                                   /* SysEff before the plan, of its jobs */
    planned_t *planned;                                /* [count]; owned; of the last plan */
    themis_persched_application_t *application;        /* [count]; owned; names are those of `planned` */
    uint32_t count;
    uint32_t last_count; /* of candidates at the last look; UINT32_MAX: this is the first */
    themis_persched_problem_t problem;
    themis_persched_pattern_t *pattern; /* owned, or NULL */
};

typedef struct themis_persched_follow follow_t;

const themis_persched_follow_options_t themis_persched_follow_defaults = {.min_confidence = 0.5,
                                                                          .min_phases = 5,
                                                                          .margin = 0.05,
                                                                          .min_fit = 0.5,
                                                                          .change = 0.3,
                                                                          .headroom = 0.02,
                                                                          .patience = 3};

const char *themis_persched_follow_cause_name(themis_persched_follow_cause_t cause)
{
    static const char *const names[THEMIS_PERSCHED_FOLLOW_CAUSES] = {"few-periodic-jobs",
                                                                     "no-room",
                                                                     "gains-too-little",
                                                                     "failed-before",
                                                                     "unsettled",
                                                                     "policies-differ",
                                                                     "plan-of-others",
                                                                     "pays",
                                                                     "begins",
                                                                     "holds",
                                                                     "job-ended",
                                                                     "job-changed",
                                                                     "misfit",
                                                                     "worse",
                                                                     "overruled",
                                                                     "blind",
                                                                     "stopped"};

    return (unsigned)cause < THEMIS_PERSCHED_FOLLOW_CAUSES ? names[cause] : "unknown";
}

__attribute__((format(printf, 4, 5))) static void decide(decision_t *d, themis_persched_follow_action_t action,
                                                         themis_persched_follow_cause_t cause, const char *format, ...)
{
    va_list list;

    d->action = action;
    d->cause = cause;
    va_start(list, format);
    vsnprintf(d->reason, sizeof d->reason, format, list);
    va_end(list);
}

/* ---- life ---- */

themis_status_t themis_persched_follow_create(const themis_persched_follow_options_t *o, follow_t **follow)
{
    if (!(o->min_confidence >= 0 && o->min_confidence <= 1) || o->min_phases < 3 ||
        !(o->margin >= 0 && o->margin <= 1e6) || !(o->min_fit >= 0 && o->min_fit <= 1) ||
        !(o->change > 0 && o->change <= 1e6) || !(o->headroom >= 0 && o->headroom < 1))
        return THEMIS_INVALID;
    follow_t *made = calloc(1, sizeof *made);
    if (!made)
        return THEMIS_NO_MEMORY;
    made->options = *o;
    made->last_count = UINT32_MAX;
    *follow = made;
    return THEMIS_OK;
}

static void planned_free(planned_t *planned, uint32_t count)
{
    for (uint32_t i = 0; planned && i < count; i++)
        free(planned[i].name);
    free(planned);
}

static void plan_drop(follow_t *f)
{
    planned_free(f->planned, f->count);
    free(f->application);
    themis_persched_pattern_free(f->pattern);
    f->planned = NULL;
    f->application = NULL;
    f->pattern = NULL;
    f->count = 0;
}

void themis_persched_follow_destroy(follow_t *f)
{
    if (!f)
        return;
    plan_drop(f);
    free(f);
}

double themis_persched_follow_since(const follow_t *f)
{
    return f->since;
}

const char *themis_persched_follow_before(const follow_t *f)
{
    return f->in_force ? f->before : NULL;
}

void themis_persched_follow_forget(follow_t *f)
{
    plan_drop(f);
    f->in_force = f->failed = 0;
    f->since = f->since_before;
}

void themis_persched_follow_yield(follow_t *f, const char *policy)
{
    themis_persched_follow_forget(f);
    snprintf(f->yielded, sizeof f->yielded, "%s", policy);
}

void themis_persched_follow_fail(follow_t *f)
{
    f->in_force = 0;
    f->failed = 1;
}

/* ---- a plan ---- */

/* The same number of jobs was periodic at the look before: a job that is about to become known is waited for. */
static int candidates_are_settled(const follow_t *f, const candidates_t *c)
{
    return f->last_count == UINT32_MAX || c->count == f->last_count;
}

static int differs(const follow_t *f, double now, double then)
{
    return fabs(now / then - 1) > f->options.change;
}

static int is_job(const planned_t *p, const job_t *job)
{
    return p->user == job->user && job->name && strcmp(p->name, job->name) == 0;
}

/* The jobs are those of the last plan, and do the same. */
static int is_last_plan(const follow_t *f, const candidates_t *c)
{
    int same = f->count == c->count;

    for (uint32_t i = 0; same && i < c->count; i++) {
        const planned_t *p = &f->planned[i];
        const job_t *job = c->job[i];

        same = is_job(p, job) && !differs(f, job->compute, p->compute) && !differs(f, job->volume, p->volume);
    }
    return same;
}

/* NULL: no memory. */
static planned_t *planned_make(const candidates_t *c)
{
    planned_t *planned = calloc(c->count, sizeof *planned);
    int failed = planned == NULL;

    for (uint32_t i = 0; i < c->count && !failed; i++) {
        const job_t *job = c->job[i];

        planned[i] = (planned_t){.name = strdup(job->name),
                                 .user = job->user,
                                 .compute = job->compute,
                                 .volume = job->volume,
                                 .cycle = job->compute + themis_persched_io_time(&c->platform, &c->application[i])};
        failed = planned[i].name == NULL;
    }
    if (!failed)
        return planned;
    planned_free(planned, c->count);
    return NULL;
}

/* Takes over the pattern and the candidates' applications, on success. NO_MEMORY: the last plan is as it was. */
static themis_status_t plan_keep(follow_t *f, candidates_t *c, themis_persched_pattern_t *pattern)
{
    planned_t *planned = planned_make(c);

    if (!planned)
        return THEMIS_NO_MEMORY;
    plan_drop(f);
    f->application = c->application;
    c->application = NULL;
    for (uint32_t i = 0; i < c->count; i++)
        f->application[i].name = planned[i].name;
    f->planned = planned;
    f->pattern = pattern;
    f->count = c->count;
    f->problem = (themis_persched_problem_t){c->platform, f->application, c->count};
    return THEMIS_OK;
}

/* A chain of levels can follow a plan; other policies cannot. */
static void policy_make(char policy[THEMIS_PERSCHED_FOLLOW_POLICY_BYTES], const char *before)
{
    size_t length = strlen(before);
    int is_chain = length > 5 && strcmp(before + length - 5, "-fair") == 0;

    snprintf(policy, THEMIS_PERSCHED_FOLLOW_POLICY_BYTES, "periodic%s%.144s", is_chain ? "-then-" : "",
             is_chain ? before : "");
}

static int is_periodic_policy(const char *policy)
{
    return strncmp(policy, "periodic", 8) == 0;
}

static void plan_begin(follow_t *f, const view_t *view, const candidates_t *c, decision_t *d)
{
    if (!f->in_force)
        snprintf(f->before, sizeof f->before, "%s", view->server[0].policy);
    f->since_before = f->in_force ? view->now : f->since;
    policy_make(f->policy, f->before);
    f->in_force = 1;
    f->failed = f->partial = 0;
    f->since = view->now;
    f->measured = c->efficiency;
    d->problem = &f->problem;
    d->pattern = f->pattern;
    memcpy(d->policy, f->policy, sizeof d->policy);
    decide(d, THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS,
           "%u jobs are periodic; measured SysEff %.3f, dilation %.2f; planned %.3f, %.2f, in a period of %.4g s",
           c->count, c->efficiency, c->dilation, f->pattern->efficiency, f->pattern->dilation, f->pattern->period);
}

static int pays(const follow_t *f, const candidates_t *c, const themis_persched_pattern_t *pattern)
{
    return pattern->efficiency > c->efficiency * (1 + f->options.margin) &&
           pattern->dilation <= c->dilation * (1 + f->options.margin);
}

/* Whether a plan for the candidates, which are two at least, gains enough; STAY: it does not. */
static themis_status_t candidates_judge(follow_t *f, const view_t *view, candidates_t *c, decision_t *d)
{
    themis_persched_pattern_t *pattern = NULL;
    themis_status_t status = themis_persched_candidates_plan(c, &pattern);

    d->measured = c->efficiency;
    d->predicted = pattern ? pattern->efficiency : 0;
    int gains = pattern && pays(f, c, pattern);
    if (gains && (status = plan_keep(f, c, pattern)) == THEMIS_OK) {
        plan_begin(f, view, c, d);
        return THEMIS_OK;
    }
    if (pattern)
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_LITTLE,
               "%u jobs are periodic, and a plan gains too little: measured SysEff %.3f, dilation %.2f; planned %.3f, "
               "%.2f",
               c->count, c->efficiency, c->dilation, pattern->efficiency, pattern->dilation);
    else if (status == THEMIS_RANGE || status == THEMIS_INVALID)
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_NO_ROOM,
               "%u jobs are periodic, and no period that was tried has room for all of them", c->count);
    themis_persched_pattern_free(pattern);
    return status == THEMIS_RANGE || status == THEMIS_INVALID ? THEMIS_OK : status;
}

/* ---- without a plan ---- */

/* 1: what is in force is not to be touched, and d says why. */
static int policy_stays(follow_t *f, const view_t *view, const servers_t *s, decision_t *d)
{
    if (s->answer < view->servers)
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_DIFFER, "%u of %u servers do not answer",
               view->servers - s->answer, view->servers);
    else if (!s->policy)
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_DIFFER, "the servers have different policies");
    else if (is_periodic_policy(s->policy) || strlen(s->policy) + 16 > sizeof f->policy)
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_NOT_OURS,
               "the servers follow a plan that somebody else has set; it stays until another policy is set");
    else if (strcmp(s->policy, f->yielded) == 0)
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_OVERRULED,
               "%.64s was set while a plan was in force; it stays until another policy is set", s->policy);
    else
        return 0;
    return 1;
}

static themis_status_t standing_judge(follow_t *f, const view_t *view, const servers_t *s, candidates_t *c,
                                      decision_t *d)
{
    if (policy_stays(f, view, s, d))
        return THEMIS_OK;
    *f->yielded = 0;
    if (c->count < 2)
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_FEW,
               "%u of %u jobs %s known to be periodic; %s stays", c->count, view->jobs, c->count == 1 ? "is" : "are",
               s->policy);
    else if (!candidates_are_settled(f, c))
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_UNSETTLED,
               "%u of %u jobs are periodic, and were not all of them at the last look", c->count, view->jobs);
    else if (f->failed && is_last_plan(f, c))
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_REFUSED,
               "a plan for these %u jobs was given up before; %s stays until they change", c->count, s->policy);
    else
        return candidates_judge(f, view, c, d);
    return THEMIS_OK;
}

/* ---- with a plan ---- */

static const job_t *job_find(const view_t *view, const planned_t *p)
{
    for (uint32_t i = 0; i < view->jobs; i++)
        if (is_job(p, &view->job[i]))
            return &view->job[i];
    return NULL;
}

/* Since when something is so, and whether that is long enough to act upon. */
static int lasts(const follow_t *f, double *from, int is_so, double now)
{
    if (!is_so)
        *from = 0;
    else if (*from == 0)
        *from = now;
    return is_so && now - *from >= f->options.patience * f->pattern->period;
}

/* 1: the job does something else than it was planned with, and d says what. */
static int job_changed(const follow_t *f, planned_t *p, const job_t *job, double now, decision_t *d)
{
    enum { SILENT = 3 }; /* times as long as it takes to see the phases that are needed */
    int other = differs(f, job->compute, p->compute) || differs(f, job->volume, p->volume);

    if (lasts(f, &p->other_from, themis_persched_candidates_is_periodic(&f->options, job) && other, now)) {
        decide(d, THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_CHANGED,
               "job %.64s computes for %.4g s and moves %.4g bytes; it was planned with %.4g s and %.4g bytes", p->name,
               job->compute, job->volume, p->compute, p->volume);
        return 1;
    }
    if (job->phases < f->options.min_phases &&
        job->until - f->since > SILENT * f->options.min_phases * p->cycle * f->pattern->dilation) {
        decide(d, THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_CHANGED,
               "job %.64s is not periodic any more: %u phases of I/O in %.4g s", p->name, job->phases,
               job->until - f->since);
        return 1;
    }
    return 0;
}

/* 1: the job has been without windows, or without fitting them, for too long, and d says so. */
static int job_misfits(const follow_t *f, planned_t *p, const job_t *job, double now, decision_t *d)
{
    int falls_short = d->measured > 0 && d->measured < f->pattern->efficiency * (1 - f->options.margin);

    if (lasts(f, &p->bare_from, job->fit < 0, now)) {
        decide(d, THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_MISFIT,
               "job %.64s has had windows on no server for %.4g s", p->name, now - p->bare_from);
        return 1;
    }
    if (!lasts(f, &p->unfit_from, job->fit >= 0 && job->fit < f->options.min_fit && falls_short, now))
        return 0;
    decide(d, THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_MISFIT,
           "job %.64s has moved %.0f %% of its bytes in its windows, and too little of them for %.4g s", p->name,
           100 * job->fit, now - p->unfit_from);
    return 1;
}

/* 1: there is a reason to give the plan up, and d has it. */
static int jobs_judge(follow_t *f, const view_t *view, decision_t *d)
{
    for (uint32_t i = 0; i < f->count; i++) {
        const job_t *job = job_find(view, &f->planned[i]);

        if (!job) {
            decide(d, THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_ENDED, "job %.64s has ended",
                   f->planned[i].name);
            return 1;
        }
        if (job_changed(f, &f->planned[i], job, view->now, d) || job_misfits(f, &f->planned[i], job, view->now, d))
            return 1;
    }
    return 0;
}

/* SysEff of the planned jobs, by the computing that they were planned with; 0: not known of all. A phase of I/O that is
 * taken for two does not make it larger than it can be. */
static double planned_measure(const follow_t *f, const view_t *view)
{
    double sum = 0;

    for (uint32_t i = 0; i < f->count; i++) {
        const job_t *job = job_find(view, &f->planned[i]);

        if (!job || job->phases < f->options.min_phases || !(job->period > 0))
            return 0;
        sum += f->application[i].nodes * f->planned[i].compute / fmax(job->period, f->planned[i].cycle);
    }
    return sum / f->problem.platform.nodes;
}

/* How many of the candidates are planned. */
static uint32_t candidates_planned(const follow_t *f, const candidates_t *c)
{
    uint32_t known = 0;

    for (uint32_t i = 0; i < c->count; i++)
        for (uint32_t k = 0; k < f->count; k++)
            known += is_job(&f->planned[k], c->job[i]);
    return known;
}

static void plan_end(follow_t *f, const view_t *view, decision_t *d)
{
    if (d->action == THEMIS_PERSCHED_FOLLOW_RESTORE)
        memcpy(d->policy, f->before, sizeof d->policy);
    f->failed = d->cause == THEMIS_PERSCHED_FOLLOW_MISFIT || d->cause == THEMIS_PERSCHED_FOLLOW_WORSE;
    f->in_force = 0;
    f->since = view->now;
}

/* 1: not all servers follow the plan any more, and d says what follows from that. */
static int plan_was_left(follow_t *f, const servers_t *s, decision_t *d)
{
    const char *other = s->other ? s->other : f->before;
    int was_partial = f->partial;

    f->partial = s->ours < s->answer;
    if (!f->partial)
        return 0;
    if (s->ours == 0)
        decide(d, THEMIS_PERSCHED_FOLLOW_YIELD, THEMIS_PERSCHED_FOLLOW_OVERRULED,
               "the policy has been set to %.64s meanwhile; it stays", other);
    else if (!was_partial)
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_DIFFER,
               "%u of %u servers do not follow the plan any more, but %.64s; the next look decides",
               s->answer - s->ours, s->answer, other);
    else
        decide(d, THEMIS_PERSCHED_FOLLOW_RESTORE,
               s->other ? THEMIS_PERSCHED_FOLLOW_OVERRULED : THEMIS_PERSCHED_FOLLOW_DIFFER,
               "%u of %u servers do not follow the plan any more, but %.64s, which stays there", s->answer - s->ours,
               s->answer, other);
    if (d->cause == THEMIS_PERSCHED_FOLLOW_OVERRULED)
        snprintf(f->yielded, sizeof f->yielded, "%s", other);
    return 1;
}

/* The plan is in force on all servers that answer. */
static themis_status_t plan_judge(follow_t *f, const view_t *view, const servers_t *s, candidates_t *c, decision_t *d)
{
    if (jobs_judge(f, view, d))
        ;
    else if (d->measured > 0 && d->measured < f->measured * (1 - f->options.margin))
        decide(d, THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_WORSE,
               "SysEff is %.3f, and was %.3f before the plan", d->measured, f->measured);
    else if (c->count > f->count && candidates_planned(f, c) == f->count && candidates_are_settled(f, c) &&
             s->answer == view->servers)
        return candidates_judge(f, view, c, d); /* with those that are new */
    else if (d->measured > 0)
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS,
               "the plan of %u jobs holds; measured SysEff %.3f, planned %.3f, before %.3f", f->count, d->measured,
               f->pattern->efficiency, f->measured);
    else
        decide(d, THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_BEGINS,
               "the plan of %u jobs is in force, and not yet measured", f->count);
    return THEMIS_OK;
}

static themis_status_t following_judge(follow_t *f, const view_t *view, const servers_t *s, candidates_t *c,
                                       decision_t *d)
{
    themis_status_t status = THEMIS_OK;

    d->predicted = f->pattern->efficiency;
    d->measured = planned_measure(f, view);
    if (!plan_was_left(f, s, d))
        status = plan_judge(f, view, s, c, d);
    if (d->action == THEMIS_PERSCHED_FOLLOW_RESTORE || d->action == THEMIS_PERSCHED_FOLLOW_YIELD)
        plan_end(f, view, d);
    return status;
}

themis_status_t themis_persched_follow_decide(follow_t *f, const view_t *view, decision_t *decision)
{
    decision_t d = {.action = THEMIS_PERSCHED_FOLLOW_STAY};
    const servers_t s =
        themis_persched_follow_servers_see(view, f->in_force ? f->policy : NULL, f->in_force ? f->before : NULL);
    candidates_t c;

    if (!isfinite(view->bandwidth) || !(view->bandwidth > 0) || !isfinite(view->now) || s.answer == 0)
        return THEMIS_INVALID;
    themis_status_t status = themis_persched_candidates_find(&f->options, view, &c);
    if (status != THEMIS_OK)
        return status;
    status = f->in_force ? following_judge(f, view, &s, &c, &d) : standing_judge(f, view, &s, &c, &d);
    f->last_count = c.count;
    themis_persched_candidates_release(&c);
    if (status == THEMIS_OK)
        *decision = d;
    return status;
}
