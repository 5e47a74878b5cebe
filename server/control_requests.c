/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/control_requests.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sched/policy.h"
#include "server/access.h"
#include "server/allocation_requests.h"
#include "server/check.h"
#include "server/direct.h"
#include "server/drain.h"
#include "server/monitoring.h"
#include "server/peers.h"
#include "server/reply.h"
#include "server/report.h"
#include "server/server_policy.h"
#include "server/settle.h"
#include "util/clock.h"

static json_t *policy_json(themis_server_t *server)
{
    char differs[512];

    themis_server_peers_differ(server, differs, sizeof differs);
    return json_pack("{s:s, s:f, s:s, s:s, s:I, s:I, s:o}", "policy", themis_sched_policy(server->sched), "set_s",
                     (double)server->sharing.set_at / 1e9, "plan", themis_sched_plan_identity(server->sched), "draw",
                     themis_sched_draw(server->sched), "quantum_bytes", (json_int_t)server->config.quantum,
                     "store_bandwidth_bytes_per_s", (json_int_t)server->config.store_bandwidth, "differs",
                     themis_server_report_string(differs));
}

/* An answer is one message: of a tree that is too large the first lines are shown. */
static void tree_shorten(char *tree)
{
    static const char more[] = "  (and more)\n";
    size_t max = THEMIS_PROTO_MAX_MESSAGE * 3 / 4;

    if (strlen(tree) <= max)
        return;
    tree[max - sizeof more] = 0;
    char *line = strrchr(tree, '\n');
    strcpy(line ? line + 1 : tree, more);
}

/* The same with the tree of shares, in words. */
static json_t *policy_tree_json(themis_server_t *server)
{
    char *tree = themis_sched_explain(server->sched, themis_util_clock_now());
    json_t *json = policy_json(server);

    if (tree)
        tree_shorten(tree);
    json_object_set_new(json, "tree", themis_server_report_string(tree ? tree : ""));
    free(tree);
    return json;
}

/* With the lock. */
static json_t *direct_json(const themis_server_t *server, const themis_store_usage_t *usage)
{
    const char *pages = usage->huge ? "huge" : strcmp(server->config.store, "arena") == 0 ? "4 KiB" : "none";
    themis_server_direct_usage_t direct;

    themis_server_direct_usage(server, &direct);
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:I}", "mode", direct.mode, "grants", (json_int_t)direct.grants,
                     "revoked", (json_int_t)direct.revoked, "bytes_read", (json_int_t)direct.read, "bytes_written",
                     (json_int_t)direct.written, "pages", pages, "huge_bytes", (json_int_t)usage->huge);
}

/* The servers that this one cannot reach. */
static json_t *unreachable_json(const themis_server_t *server)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < server->config.count; i++) {
        uint64_t since = themis_server_peers_lost(server, i);
        if (since)
            json_array_append_new(list,
                                  json_pack("{s:I, s:f}", "index", (json_int_t)i, "since_s", (double)since * 1e-9));
    }
    return list;
}

/* With the lock. */
static json_t *server_json(themis_server_t *server, const themis_store_usage_t *usage)
{
    uint64_t read = server->totals.left_read, written = server->totals.left_written, held, waiting, rounds = 0;
    uint32_t known = 0;

    for (themis_sched_job_t *job = themis_sched_job_table_first(server->jobs); job;
         job = themis_sched_job_table_next(server->jobs, job)) {
        read += job->bytes_read;
        written += job->bytes_written;
    }
    themis_server_locks_usage(server->locks, &held, &waiting);
    themis_server_peers_progress(server, &known, &rounds);
    json_t *json = json_pack(
        "{s:o, s:I, s:I, s:I, s:f, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:I, "
        "s:I, "
        "s:I, s:o}",
        "name", themis_server_report_string(server->config.name), "index", (json_int_t)server->config.index, "servers",
        (json_int_t)server->config.count, "port", (json_int_t)server->port, "uptime_s",
        (double)(themis_util_clock_now() - server->started) * 1e-9, "store", themis_store_type(server->store),
        "capacity_bytes", (json_int_t)usage->capacity, "used_bytes", (json_int_t)usage->used, "warm_bytes",
        (json_int_t)usage->warm, "objects", (json_int_t)usage->objects, "bytes_read", (json_int_t)read, "bytes_written",
        (json_int_t)written, "jobs", (json_int_t)themis_server_report_count(server->jobs, server->sched), "sessions",
        (json_int_t)themis_server_sessions_count(server->sessions), "queued",
        (json_int_t)themis_sched_queued(server->sched), "in_service", (json_int_t)server->slices.in_service,
        "locks_held", (json_int_t)held, "locks_waiting", (json_int_t)waiting, "draining", (int)server->drain.active,
        "sharing", policy_json(server), "heartbeats", (json_int_t)server->totals.heartbeats, "servers_known",
        (json_int_t)known, "exchange_rounds", (json_int_t)rounds, "direct", direct_json(server, usage));
    json_object_set_new(json, "unreachable", unreachable_json(server));
    return json;
}

static int is_text(const themis_proto_text_t *text, const char *word)
{
    return text->length == strlen(word) && memcmp(text->bytes, word, text->length) == 0;
}

/* "jobs", or "jobs N" to go on after the job of that number. */
static int is_jobs(const themis_proto_text_t *text, uint64_t *after)
{
    const char *digits = text->bytes + sizeof "jobs";

    *after = 0;
    if (text->length < sizeof "jobs" || memcmp(text->bytes, "jobs ", sizeof "jobs") != 0)
        return is_text(text, "jobs");
    for (; digits < text->bytes + text->length && *digits >= '0' && *digits <= '9'; digits++)
        *after = 10 * *after + (uint64_t)(*digits - '0');
    return digits == text->bytes + text->length;
}

/* Takes the text over; NULL: memory is short. */
static void text_reply(themis_server_request_t *request, char *text)
{
    themis_proto_text_body_t body;

    if (text)
        body.text = (themis_proto_text_t){.bytes = text, .length = (uint32_t)strlen(text)};
    themis_server_reply_send(request, text ? THEMIS_OK : THEMIS_NO_MEMORY, &body, NULL);
    free(text);
}

static void status_serve(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_text_t *what = &request->body.text.text;
    themis_store_usage_t usage = {0};
    json_t *json = NULL;
    char *text = NULL;
    uint64_t after;

    if (is_text(what, "metrics")) {
        text_reply(request, themis_server_monitoring_text(server));
        return;
    }
    themis_store_usage(server->store, &usage);
    pthread_mutex_lock(&server->lock);
    int known = 1;
    if (is_text(what, "server"))
        json = server_json(server, &usage);
    else if (is_text(what, "policy"))
        json = policy_tree_json(server);
    else if (is_jobs(what, &after))
        text = themis_server_report_jobs(server->jobs, server->sched, after);
    else if (is_text(what, "instance")) /* a number that no other process of a server has */
        text = asprintf(&text, "%016" PRIx64, server->incarnation) < 0 ? NULL : text;
    else
        known = 0;
    pthread_mutex_unlock(&server->lock);
    if (known)
        text_reply(request, json ? json_dumps(json, JSON_COMPACT) : text);
    else
        themis_server_reply_send(request, THEMIS_INVALID, NULL,
                                 "STATUS knows \"server\", \"jobs\", \"jobs NUMBER\", \"policy\", \"metrics\" and "
                                 "\"instance\"");
    json_decref(json);
}

/* The policy in force, or why it is not the one that was asked for. */
static void policy_reply(themis_server_request_t *request, themis_status_t status, const char *policy,
                         const char *error)
{
    if (status == THEMIS_OK)
        text_reply(request, strdup(policy));
    else
        themis_server_reply_send(request, status, NULL, *error ? error : NULL);
}

static void policy_serve(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_sched_job_identity_t *who = &request->session->identity;
    const themis_proto_text_t *requested = &request->body.text.text;
    char policy[THEMIS_PROTO_MAX_POLICY + 1], error[512] = "";

    themis_status_t status = themis_server_access_admin(who);
    if (status == THEMIS_OK && requested->length > THEMIS_PROTO_MAX_POLICY)
        status = THEMIS_RANGE;
    if (status == THEMIS_OK) {
        snprintf(policy, sizeof policy, "%.*s", (int)requested->length, requested->length ? requested->bytes : "");
        pthread_mutex_lock(&server->lock);
        status = themis_server_policy_set(server, policy, who, error, sizeof error);
        pthread_mutex_unlock(&server->lock);
        themis_server_policy_keep(server);
    }
    policy_reply(request, status, policy, error);
}

static void plan_serve(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_sched_job_identity_t *who = &request->session->identity;
    char policy[THEMIS_SCHED_POLICY_TEXT_BYTES], error[512] = "";
    themis_status_t status = themis_server_access_admin(who);

    if (status == THEMIS_OK) {
        pthread_mutex_lock(&server->lock);
        status = themis_server_policy_set_plan(server, &request->body.text.text, who, policy, error, sizeof error);
        pthread_mutex_unlock(&server->lock);
    }
    policy_reply(request, status, policy, error);
}

static void shutdown_serve(themis_server_request_t *request)
{
    themis_status_t status = themis_server_access_admin(&request->session->identity);

    themis_server_reply_send(request, status, NULL, NULL);
    if (status == THEMIS_OK)
        themis_server_drain_start(request->server);
}

static void table_serve(themis_server_request_t *request)
{
    themis_status_t status = themis_server_access_admin(&request->session->identity);

    if (status == THEMIS_OK && request->session->role != THEMIS_SERVER_ROLE_SERVER)
        status = THEMIS_ACCESS;
    if (status == THEMIS_OK)
        status = themis_server_peers_take(request->server, &request->body.table);
    themis_server_reply_send(request, status, NULL, NULL);
}

void themis_server_control_requests_serve(themis_server_request_t *request)
{
    switch (request->header.opcode) {
    case THEMIS_OP_STATUS:
        status_serve(request);
        return;
    case THEMIS_OP_POLICY:
        policy_serve(request);
        return;
    case THEMIS_OP_PLAN:
        plan_serve(request);
        return;
    case THEMIS_OP_JOB_SERVERS:
        themis_server_allocation_requests_serve(request);
        return;
    case THEMIS_OP_SHUTDOWN:
        shutdown_serve(request);
        return;
    case THEMIS_OP_CHECK:
        themis_server_check_serve(request);
        return;
    case THEMIS_OP_TABLE:
        table_serve(request);
        return;
    case THEMIS_OP_SETTLE:
        themis_server_settle_serve(request);
        return;
    default:
        themis_server_reply_send(request, THEMIS_UNSUPPORTED, NULL, NULL);
    }
}
