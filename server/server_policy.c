/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/server_policy.h"
#include <stdio.h>
#include <string.h>
#include "sched/policy.h"
#include "util/clock.h"
#include "util/log.h"

themis_status_t themis_server_policy_set(themis_server_t *server, const char *policy,
                                         const themis_sched_job_identity_t *who, char *error, size_t size)
{
    char old[THEMIS_PROTO_MAX_POLICY + 1];

    snprintf(old, sizeof old, "%s", themis_sched_policy(server->sched));
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
