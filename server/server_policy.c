/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/server_policy.h"
#include <stdio.h>
#include <string.h>
#include "sched/policy.h"
#include "server/periodic_plan.h"
#include "util/clock.h"
#include "util/log.h"

static int is_periodic(const char *policy)
{
    themis_sched_policy_t parsed;
    char error[256];

    return themis_sched_policy_parse(policy, &parsed, error, sizeof error) == THEMIS_OK && parsed.periodic;
}

themis_status_t themis_server_policy_set(themis_server_t *server, const char *policy,
                                         const themis_sched_job_identity_t *who, char *error, size_t size)
{
    char old[THEMIS_PROTO_MAX_POLICY + 1];

    snprintf(old, sizeof old, "%s", themis_sched_policy(server->sched));
    if (!themis_sched_plan(server->sched) && is_periodic(policy)) {
        snprintf(error, size, "policy \"%s\" needs a plan: themis policy set %s --plan FILE", policy, policy);
        return THEMIS_PARSE;
    }
    themis_status_t status =
        themis_sched_set_policy(server->sched, policy, server->config.draw, themis_util_clock_now(), error, size);
    if (status != THEMIS_OK || strcmp(old, policy) == 0)
        return status;
    if (who == NULL)
        themis_info("policy %s set by the configuration; it was %s", policy, old);
    else
        themis_info("policy %s set by job %s of user %u; it was %s", policy, who->id, who->uid, old);
    return THEMIS_OK;
}

static themis_server_periodic_plan_clock_t plan_clock(void)
{
    return (themis_server_periodic_plan_clock_t){.now = themis_util_clock_now(), .wall = themis_util_clock_wall()};
}

static void plan_tell(const themis_sched_periodic_t *plan, const char *source)
{
    themis_info("plan of %u applications and %u windows in %g s, %s", plan->lanes, plan->windows,
                (double)plan->period / (double)THEMIS_NS_PER_S, source);
}

themis_status_t themis_server_policy_set_plan(themis_server_t *server, const themis_proto_text_t *text,
                                              const themis_sched_job_identity_t *who, char *policy, char *error,
                                              size_t size)
{
    themis_server_periodic_plan_clock_t clock = plan_clock();
    themis_sched_periodic_t *plan;
    themis_status_t status =
        themis_server_periodic_plan_read(text->bytes, text->length, &clock, &plan, policy, error, size);

    if (status != THEMIS_OK)
        return status;
    plan_tell(plan, "set by a client");
    themis_sched_set_plan(server->sched, plan, clock.now);
    return themis_server_policy_set(server, policy, who, error, size);
}

void themis_server_policy_load_plan(themis_server_t *server)
{
    themis_server_periodic_plan_clock_t clock = plan_clock();
    themis_sched_periodic_t *plan;
    char error[512];

    if (!*server->config.plan)
        return;
    if (themis_server_periodic_plan_read_file(server->config.plan, &clock, &plan, error, sizeof error) != THEMIS_OK) {
        themis_error("%s; there is no new plan", error);
        return;
    }
    plan_tell(plan, server->config.plan);
    themis_sched_set_plan(server->sched, plan, clock.now);
}

/* `allowed`: names separated by commas, or "any". */
static int is_allowed(const char *allowed, const char *policy)
{
    while (*allowed) {
        size_t length = strcspn(allowed, ", ");
        if ((length == 3 && memcmp(allowed, "any", 3) == 0) ||
            (length == strlen(policy) && memcmp(allowed, policy, length) == 0))
            return 1;
        allowed += length;
        allowed += strspn(allowed, ", ");
    }
    return 0;
}

int themis_server_policy_request(themis_server_t *server, const themis_proto_text_t *requested,
                                 const themis_sched_job_identity_t *who, char *error, size_t size)
{
    char policy[THEMIS_PROTO_MAX_POLICY + 1];
    themis_sched_policy_t parsed;

    snprintf(policy, sizeof policy, "%.*s", (int)requested->length, requested->length ? requested->bytes : "");
    if (!*policy || strcmp(themis_sched_policy(server->sched), policy) == 0)
        return 1;
    return themis_sched_policy_parse(policy, &parsed, error, size) == THEMIS_OK &&
           is_allowed(server->config.policies, policy) &&
           themis_server_policy_set(server, policy, who, error, size) == THEMIS_OK;
}
