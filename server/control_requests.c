/* SPDX-License-Identifier: BSD-3-Clause */
/* STATUS, POLICY, SHUTDOWN and TABLE: what administers the server. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "server/access.h"
#include "server/report.h"
#include "server/server.h"
#include "server/monitoring.h"
#include "util/clock.h"
#include "util/log.h"

#define S_PER_NS 1e-9

static json_t *policy_json(themis_server_t *server)
{
    return json_pack("{s:s, s:s, s:I, s:I}", "policy", themis_sched_policy(server->sched), "draw",
                     themis_sched_draw(server->sched), "quantum_bytes", (json_int_t)server->config.quantum,
                     "store_bandwidth_bytes_per_s", (json_int_t)server->config.store_bandwidth);
}

/* An answer is one message: of a tree that is too large the first lines are shown. */
static void shorten(char *tree)
{
    static const char more[] = "  (and more)\n";
    size_t most = THEMIS_PROTO_MAX_MESSAGE * 3 / 4;

    if (strlen(tree) <= most)
        return;
    tree[most - sizeof more] = 0;
    char *line = strrchr(tree, '\n');
    strcpy(line ? line + 1 : tree, more);
}

/* The same with the tree of shares, in words. */
static json_t *policy_tree_json(themis_server_t *server)
{
    char *tree = themis_sched_explain(server->sched, themis_util_clock_now());
    json_t *json = policy_json(server);

    if (tree)
        shorten(tree);

    json_object_set_new(json, "tree", json_string_nocheck(tree ? tree : ""));
    free(tree);
    return json;
}

static json_t *server_json(themis_server_t *server)
{
    themis_store_usage_t usage = {0};
    uint64_t held, waiting;

    themis_store_usage(server->store, &usage);
    pthread_mutex_lock(&server->lock);
    uint64_t read = server->left_read, written = server->left_written;
    for (themis_sched_job_t *job = themis_sched_job_table_first(server->jobs); job;
         job = themis_sched_job_table_next(server->jobs, job)) {
        read += job->bytes_read;
        written += job->bytes_written;
    }
    themis_server_locks_usage(server->locks, &held, &waiting);
    json_t *json = json_pack(
        "{s:s, s:I, s:I, s:I, s:f, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "name",
        server->config.name, "index", (json_int_t)server->config.index, "servers", (json_int_t)server->config.count,
        "port", (json_int_t)server->port, "uptime_s", (double)(themis_util_clock_now() - server->began) * S_PER_NS,
        "store", themis_store_type(server->store), "capacity_bytes", (json_int_t)usage.capacity, "used_bytes",
        (json_int_t)usage.used, "warm_bytes", (json_int_t)usage.warm, "objects", (json_int_t)usage.objects,
        "bytes_read", (json_int_t)read, "bytes_written", (json_int_t)written, "jobs",
        (json_int_t)themis_server_report_count(server->jobs, server->sched), "sessions",
        (json_int_t)themis_server_sessions_count(server->sessions), "queued",
        (json_int_t)themis_sched_queued(server->sched), "in_service", (json_int_t)server->in_service, "locks_held",
        (json_int_t)held, "locks_waiting", (json_int_t)waiting, "draining", (int)server->draining);
    json_object_set_new(json, "sharing", policy_json(server));
    themis_server_report_server_t about = {0};
    themis_server_peers_report(server, &about);
    json_object_set_new(json, "heartbeats", json_integer((json_int_t)server->heartbeats));
    json_object_set_new(json, "servers_known", json_integer(about.known));
    json_object_set_new(json, "exchange_rounds", json_integer((json_int_t)about.rounds));
    pthread_mutex_unlock(&server->lock);
    return json;
}

static int is_text(const themis_proto_text_t *text, const char *word)
{
    return text->length == strlen(word) && memcmp(text->bytes, word, text->length) == 0;
}

/* A number that no other process of a server has. */
static char *instance_text(const themis_server_t *server)
{
    char text[17];

    snprintf(text, sizeof text, "%016" PRIx64, server->incarnation);
    return strdup(text);
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

static void answer_text(themis_request_t *request, char *text)
{
    themis_proto_text_body_t body;

    if (text)
        body.text = (themis_proto_text_t){.bytes = text, .length = (uint32_t)strlen(text)};
    themis_server_request_reply(request, text ? THEMIS_OK : THEMIS_NO_MEMORY, &body, NULL);
    free(text);
}

static void serve_status(themis_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_text_t *what = &request->body.text.text;
    json_t *json = NULL;
    char *text = NULL;
    uint64_t after;

    if (is_text(what, "server")) {
        json = server_json(server);
    } else if (is_text(what, "policy")) {
        pthread_mutex_lock(&server->lock);
        json = policy_tree_json(server);
        pthread_mutex_unlock(&server->lock);
    } else if (is_jobs(what, &after)) {
        pthread_mutex_lock(&server->lock);
        text = themis_server_report_jobs(server->jobs, server->sched, after);
        pthread_mutex_unlock(&server->lock);
    } else if (is_text(what, "metrics")) {
        text = themis_server_watch_metrics(server);
    } else if (is_text(what, "instance")) {
        text = instance_text(server);
    } else {
        themis_server_request_reply(request, THEMIS_INVALID, NULL,
                                    "STATUS knows \"server\", \"jobs\", \"jobs NUMBER\", \"policy\", \"metrics\" and "
                                    "\"instance\"");
        return;
    }
    answer_text(request, json ? json_dumps(json, JSON_COMPACT) : text);
    json_decref(json);
}

themis_status_t themis_server_set_policy(themis_server_t *server, const char *policy,
                                         const themis_sched_job_identity_t *who, char *error, size_t size)
{
    char old[THEMIS_PROTO_MAX_POLICY + 1];

    snprintf(old, sizeof old, "%s", themis_sched_policy(server->sched));
    themis_status_t status =
        themis_sched_set_policy(server->sched, policy, server->config.draw, themis_util_clock_now(), error, size);
    if (status != THEMIS_OK || strcmp(old, policy) == 0)
        return status;
    if (who == NULL)
        themis_info("policy %s, from the configuration; it was %s", policy, old);
    else
        themis_info("policy %s, by job %s of user %u; it was %s", policy, who->id, who->uid, old);
    return THEMIS_OK;
}

static void serve_policy(themis_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_text_t *wish = &request->body.text.text;
    char policy[THEMIS_PROTO_MAX_POLICY + 1], error[512] = "";

    themis_status_t status = themis_server_access_admin(&request->session->identity);
    if (status == THEMIS_OK && wish->length > THEMIS_PROTO_MAX_POLICY)
        status = THEMIS_RANGE;
    if (status != THEMIS_OK) {
        themis_server_request_reply(request, status, NULL, NULL);
        return;
    }
    memcpy(policy, wish->bytes, wish->length);
    policy[wish->length] = 0;
    pthread_mutex_lock(&server->lock);
    status = themis_server_set_policy(server, policy, &request->session->identity, error, sizeof error);
    if (status == THEMIS_OK)
        snprintf(server->config.policy, sizeof server->config.policy, "%s", policy);
    pthread_mutex_unlock(&server->lock);
    if (status == THEMIS_OK)
        answer_text(request, strdup(policy));
    else
        themis_server_request_reply(request, status, NULL, *error ? error : NULL);
}

static void serve_shutdown(themis_request_t *request)
{
    static const themis_proto_none_t none;
    themis_status_t status = themis_server_access_admin(&request->session->identity);

    themis_server_request_reply(request, status, &none, NULL);
    if (status == THEMIS_OK)
        themis_server_stop(request->server);
}

static void serve_table(themis_request_t *request)
{
    static const themis_proto_none_t none;
    themis_status_t status = themis_server_access_admin(&request->session->identity);

    if (status == THEMIS_OK && request->session->role != THEMIS_SERVER_ROLE_SERVER)
        status = THEMIS_ACCESS;
    if (status == THEMIS_OK)
        status = themis_server_peers_take(request->server, &request->body.table);
    themis_server_request_reply(request, status, &none, NULL);
}

void themis_server_control_serve(themis_request_t *request)
{
    switch (request->header.opcode) {
    case THEMIS_OP_STATUS:
        serve_status(request);
        return;
    case THEMIS_OP_POLICY:
        serve_policy(request);
        return;
    case THEMIS_OP_SHUTDOWN:
        serve_shutdown(request);
        return;
    case THEMIS_OP_TABLE:
        serve_table(request);
        return;
    default:
        themis_server_request_reply(request, THEMIS_UNSUPPORTED, NULL, NULL);
    }
}
