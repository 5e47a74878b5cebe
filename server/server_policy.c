/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/server_policy.h"
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* The configuration's policy, which was found valid, is as short. */
static void text_copy(char to[THEMIS_SCHED_POLICY_TEXT_BYTES], const char *policy)
{
    snprintf(to, THEMIS_SCHED_POLICY_TEXT_BYTES, "%.*s", THEMIS_SCHED_POLICY_TEXT_BYTES - 1, policy);
}

/* Makes it the scheduler's. `source`: who asks, for the log. */
static themis_status_t policy_apply(themis_server_t *server, const char *policy, const char *source, char *error,
                                    size_t size)
{
    char old[THEMIS_PROTO_MAX_POLICY + 1];

    snprintf(old, sizeof old, "%s", themis_sched_policy(server->sched));
    if (!themis_sched_plan(server->sched) && is_periodic(policy)) {
        snprintf(error, size, "policy \"%s\" needs a plan: themis policy set %s --plan FILE", policy, policy);
        return THEMIS_PARSE;
    }
    themis_status_t status =
        themis_sched_set_policy(server->sched, policy, server->config.draw, themis_util_clock_now(), error, size);
    if (status != THEMIS_OK)
        return status;
    snprintf(server->config.policy, sizeof server->config.policy, "%s", themis_sched_policy(server->sched));
    if (strcmp(old, policy) != 0)
        themis_info("policy %s set by %s; it was %s", policy, source, old);
    return THEMIS_OK;
}

/* Later than whatever was set before, also where clocks differ. */
static void policy_stamp(themis_server_sharing_t *sharing)
{
    uint64_t now = themis_util_clock_wall();

    sharing->set_at = now > sharing->set_at ? now : sharing->set_at + 1;
    sharing->unkept = 1;
}

/* A clock that is wrong by more is not to decide for good. */
static int is_possible(uint64_t set_at)
{
    return set_at <= themis_util_clock_wall() + 24 * 3600 * THEMIS_NS_PER_S;
}

themis_status_t themis_server_policy_set(themis_server_t *server, const char *policy,
                                         const themis_sched_job_identity_t *who, char *error, size_t size)
{
    char source[sizeof who->id + 40];

    snprintf(source, sizeof source, "job %s of user %u", who->id, who->uid);
    themis_status_t status = policy_apply(server, policy, source, error, size);
    if (status == THEMIS_OK)
        policy_stamp(&server->sharing);
    return status;
}

themis_status_t themis_server_policy_reload(themis_server_t *server, const char *before, char *error, size_t size)
{
    themis_server_sharing_t *sharing = &server->sharing;
    char configured[sizeof sharing->configured];

    text_copy(configured, server->config.policy);
    int is_changed = strcmp(configured, sharing->configured) != 0;
    themis_status_t status = policy_apply(server, is_changed ? configured : before, "the configuration", error, size);
    if (status == THEMIS_OK && is_changed) {
        memcpy(sharing->configured, configured, sizeof configured);
        policy_stamp(sharing);
    }
    return status;
}

/* Of two that were set at the same time the one that is later by its text counts. */
static int is_later(const themis_server_t *server, uint64_t set_at, const char *policy)
{
    if (set_at == 0 || set_at < server->sharing.set_at || !is_possible(set_at))
        return 0;
    return set_at > server->sharing.set_at || strcmp(policy, themis_sched_policy(server->sched)) > 0;
}

void themis_server_policy_adopt(themis_server_t *server, const themis_proto_text_t *policy, uint64_t set_at,
                                uint32_t index)
{
    char text[THEMIS_SCHED_POLICY_TEXT_BYTES], source[40], error[512];

    if (policy->length >= sizeof text)
        return;
    snprintf(text, sizeof text, "%.*s", (int)policy->length, policy->length ? policy->bytes : "");
    snprintf(source, sizeof source, "server %u, where it was set later", index);
    if (!is_later(server, set_at, text) || is_periodic(text) ||
        policy_apply(server, text, source, error, sizeof error) != THEMIS_OK)
        return;
    server->sharing.set_at = set_at;
    server->sharing.unkept = 1;
}

/*
 * --- the record ---------------------------------------------------------------------------------------------------
 *
 * When it was set, what the configuration said then, and the policy, the texts ended by NUL. No policy: that of the
 * configuration, because none was set, or one with a plan, which is not kept.
 */

enum { RECORD_BYTES = sizeof(uint64_t) + 2 * THEMIS_SCHED_POLICY_TEXT_BYTES };
static const char record_key[] = {THEMIS_SERVER_NAME_DB_POLICY};

/* Returns 0 if it is none. The texts are borrowed. */
static int record_read(const char *record, size_t length, uint64_t *set_at, const char **configured,
                       const char **policy)
{
    const char *end = record + length, *texts = record + sizeof *set_at;

    if (length <= sizeof *set_at || length > RECORD_BYTES || end[-1] != '\0')
        return 0;
    memcpy(set_at, record, sizeof *set_at);
    *set_at = le64toh(*set_at);
    *configured = texts;
    *policy = texts + strlen(texts) + 1;
    return *policy < end && *policy + strlen(*policy) + 1 == end;
}

/* When the configuration was changed last, ns since 1970: now, where it is not in a file. */
static uint64_t configuration_time(const themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;
    struct stat file;

    if (!themis_server_config_is_in_file(config, config->policy) || stat(config->path, &file) != 0)
        return themis_util_clock_wall();
    return (uint64_t)file.st_mtim.tv_sec * THEMIS_NS_PER_S + (uint64_t)file.st_mtim.tv_nsec;
}

/* The administrator has changed the configuration's policy since the record was written: the later one counts. */
static int is_outdated(themis_server_t *server, const char *configured)
{
    themis_server_sharing_t *sharing = &server->sharing;
    uint64_t changed = configuration_time(server);

    if (strcmp(configured, sharing->configured) == 0)
        return 0;
    sharing->unkept = 1;
    if (changed <= sharing->set_at || !is_possible(changed))
        return 0;
    sharing->set_at = changed;
    return 1;
}

static void record_apply(themis_server_t *server, const char *record, size_t length)
{
    themis_server_sharing_t *sharing = &server->sharing;
    const char *configured, *policy;
    char error[512] = "the policy that was set before the restart cannot be read";
    themis_status_t status = THEMIS_CORRUPT;

    if (record_read(record, length, &sharing->set_at, &configured, &policy) && is_possible(sharing->set_at)) {
        sharing->unkept = 0;
        if (is_outdated(server, configured) || *policy == '\0')
            return;
        status = policy_apply(server, policy, "what was set before the restart", error, sizeof error);
    }
    if (status == THEMIS_OK)
        return;
    themis_warn("%s; %s of the configuration is in force", error, server->config.policy);
    sharing->set_at = 0;
}

themis_status_t themis_server_policy_load(themis_server_t *server)
{
    themis_server_name_db_t *db = themis_server_namespace_db(server->names);
    themis_status_t status = THEMIS_OK;
    void *record = NULL;
    size_t length = 0;

    text_copy(server->sharing.configured, server->config.policy);
    server->sharing.unkept = 1; /* a first record says what the configuration was */
    if (db)
        status = themis_server_name_db_read(db, record_key, sizeof record_key, &record, &length);
    if (status == THEMIS_OK && record)
        record_apply(server, record, length);
    free(record);
    themis_server_policy_keep(server);
    return status;
}

/* With the lock: what is to be written, in `record`; returns its length. */
static size_t record_make(const themis_server_t *server, char record[RECORD_BYTES])
{
    const themis_server_sharing_t *sharing = &server->sharing;
    const char *policy = themis_sched_policy(server->sched);
    uint64_t word = htole64(sharing->set_at);
    int is_kept = sharing->set_at > 0 && !is_periodic(policy);

    memcpy(record, &word, sizeof word);
    size_t length = sizeof word;
    length += (size_t)snprintf(record + length, THEMIS_SCHED_POLICY_TEXT_BYTES, "%s", sharing->configured) + 1;
    return length + (size_t)snprintf(record + length, THEMIS_SCHED_POLICY_TEXT_BYTES, "%s", is_kept ? policy : "") + 1;
}

void themis_server_policy_keep(themis_server_t *server)
{
    themis_server_name_db_t *db = themis_server_namespace_db(server->names);
    char record[RECORD_BYTES];

    if (!db)
        return;
    pthread_mutex_lock(&server->lock);
    int is_mine = !server->sharing.keeping; /* who keeps one looks again */
    server->sharing.keeping = 1;
    while (is_mine && server->sharing.unkept) {
        themis_server_name_db_record_t written = {record_key, record, sizeof record_key, record_make(server, record),
                                                  NULL};
        server->sharing.unkept = 0;
        pthread_mutex_unlock(&server->lock);
        themis_status_t status = themis_server_name_db_write(db, &written);
        if (status == THEMIS_OK)
            status = themis_server_name_db_sync(db);
        if (status != THEMIS_OK)
            themis_warn("the policy that was set will not outlive this server: %s", themis_status_string(status));
        pthread_mutex_lock(&server->lock);
    }
    if (is_mine)
        server->sharing.keeping = 0;
    pthread_mutex_unlock(&server->lock);
}

/* --- plans, and requests of jobs ---------------------------------------------------------------------------------- */

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
    char policy[THEMIS_PROTO_MAX_POLICY + 1], source[sizeof who->id + 60];
    themis_sched_policy_t parsed;

    snprintf(source, sizeof source, "the hint of job %s of user %u", who->id, who->uid);
    snprintf(policy, sizeof policy, "%.*s", (int)requested->length, requested->length ? requested->bytes : "");
    if (!*policy || strcmp(themis_sched_policy(server->sched), policy) == 0)
        return 1;
    return themis_sched_policy_parse(policy, &parsed, error, size) == THEMIS_OK &&
           is_allowed(server->config.policies, policy) &&
           policy_apply(server, policy, source, error, size) == THEMIS_OK;
}
