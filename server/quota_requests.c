/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/quota_requests.h"
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "server/access.h"
#include "server/peers.h"
#include "server/quota.h"
#include "server/reply.h"
#include "util/log.h"

enum { MAX_STATES = 2048, MAX_WORDS = 4 };

/* A question as words. */
typedef struct question {
    char *text; /* owned */
    char *words[MAX_WORDS];
    int count;
} question_t;

/* 0: it is no question. */
static int question_read(const themis_proto_text_t *asked, question_t *question)
{
    char *rest = NULL;

    question->text = asked->length ? strndup(asked->bytes, asked->length) : NULL;
    question->count = 0;
    if (!question->text || asked->length != strlen(question->text))
        return 0;
    for (char *word = strtok_r(question->text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (question->count == MAX_WORDS)
            return 0;
        question->words[question->count++] = word;
    }
    return question->count > 0;
}

/* 0: it is no number of at most `max`. */
static int number_read(const char *word, uint64_t max, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(word, &end, 10);
    return *word >= '0' && *word <= '9' && !*end && errno == 0 && *number <= max;
}

static int user_read(const char *word, uint32_t *uid)
{
    uint64_t number;

    if (!number_read(word, THEMIS_PROTO_USAGE_DEFAULT - 1, &number))
        return 0;
    *uid = (uint32_t)number;
    return 1;
}

static int who_read(const char *word, uint32_t *uid)
{
    if (strcmp(word, "default") != 0)
        return user_read(word, uid);
    *uid = THEMIS_PROTO_USAGE_DEFAULT;
    return 1;
}

static int limit_read(const char *word, uint64_t *limit)
{
    *limit = strcmp(word, "none") == 0 ? UINT64_MAX : THEMIS_SERVER_QUOTA_KEEP;
    return *limit == UINT64_MAX || strcmp(word, "-") == 0 || number_read(word, INT64_MAX - 1, limit);
}

static json_t *limit_json(uint64_t limit)
{
    return limit == UINT64_MAX ? json_null() : json_integer((json_int_t)limit);
}

static json_t *state_json(const themis_server_quota_state_t *state)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o}", "uid", (json_int_t)state->uid, "bytes",
                     (json_int_t)state->bytes, "files", (json_int_t)state->names, "known_bytes",
                     (json_int_t)state->total_bytes, "known_files", (json_int_t)state->total_names, "own",
                     state->is_own, "limit_bytes", limit_json(state->limits.bytes), "limit_files",
                     limit_json(state->limits.names));
}

static json_t *default_json(themis_server_quota_t *quota)
{
    themis_server_quota_limits_t limits;

    return themis_server_quota_default(quota, &limits)
               ? json_pack("{s:o, s:o}", "limit_bytes", limit_json(limits.bytes), "limit_files",
                           limit_json(limits.names))
               : json_null();
}

/* Of users from `first` to `last`. */
static json_t *users_json(themis_server_t *server, uint32_t first, uint32_t last)
{
    themis_server_quota_state_t *states = malloc(MAX_STATES * sizeof *states);
    themis_server_quota_version_t version = themis_server_quota_version(server->quota);
    size_t count = states ? themis_server_quota_list(server->quota, first, states, MAX_STATES) : 0;
    json_t *users = json_array(), *next = json_null();
    char text[64];

    for (size_t i = 0; i < count && states[i].uid <= last; i++)
        json_array_append_new(users, state_json(&states[i]));
    if (count == MAX_STATES && states[count - 1].uid < last)
        next = json_integer((json_int_t)states[count - 1].uid + 1);
    free(states);
    snprintf(text, sizeof text, "%llu.%u", (unsigned long long)version.time, version.setter);
    return json_pack("{s:s, s:b, s:o, s:o, s:o}", "version", text, "counting", (int)atomic_load(&server->recounting),
                     "default", default_json(server->quota), "users", users, "next", next);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

static themis_status_t show(themis_server_request_t *request, const question_t *question, json_t **json)
{
    const themis_sched_job_identity_t *who = &request->session->identity;
    uint32_t uid = who->uid;

    if (question->count > 2 || (question->count == 2 && !user_read(question->words[1], &uid)))
        return THEMIS_INVALID;
    if (uid != who->uid && themis_server_access_admin(who) != THEMIS_OK)
        return THEMIS_ACCESS;
    *json = users_json(request->server, uid, uid);
    return THEMIS_OK;
}

static themis_status_t all(themis_server_request_t *request, const question_t *question, json_t **json)
{
    themis_status_t status = themis_server_access_admin(&request->session->identity);
    uint64_t uid = 0;

    if (question->count > 2 || (question->count == 2 && !number_read(question->words[1], UINT32_MAX, &uid)))
        return THEMIS_INVALID;
    if (status == THEMIS_OK)
        *json = users_json(request->server, (uint32_t)uid, THEMIS_STORE_NOBODY);
    return status;
}

/* `limits` NULL: unset. */
static themis_status_t change(themis_server_request_t *request, uint32_t uid,
                              const themis_server_quota_limits_t *limits, json_t **json)
{
    const themis_sched_job_identity_t *who = &request->session->identity;
    themis_server_t *server = request->server;
    themis_status_t status = themis_server_access_admin(who);

    if (status == THEMIS_OK)
        status = themis_server_quota_set(server->quota, uid, limits);
    if (status != THEMIS_OK)
        return status;
    if (uid == THEMIS_PROTO_USAGE_DEFAULT)
        themis_info("limits of all users without their own %s by user %u", limits ? "set" : "removed", who->uid);
    else
        themis_info("limits of user %u %s by user %u", uid, limits ? "set" : "removed", who->uid);
    pthread_mutex_lock(&server->lock);
    themis_server_peers_tell_usage(server);
    pthread_mutex_unlock(&server->lock);
    *json = users_json(server, uid, uid);
    return THEMIS_OK;
}

static themis_status_t set(themis_server_request_t *request, const question_t *question, json_t **json)
{
    themis_server_quota_limits_t limits;
    uint32_t uid;

    if (question->count != 4 || !who_read(question->words[1], &uid) || !limit_read(question->words[2], &limits.bytes) ||
        !limit_read(question->words[3], &limits.names))
        return THEMIS_INVALID;
    return change(request, uid, &limits, json);
}

static themis_status_t unset(themis_server_request_t *request, const question_t *question, json_t **json)
{
    uint32_t uid;

    return question->count == 2 && who_read(question->words[1], &uid) ? change(request, uid, NULL, json)
                                                                      : THEMIS_INVALID;
}

typedef struct verb {
    const char *word;
    themis_status_t (*answer)(themis_server_request_t *request, const question_t *question, json_t **json);
} verb_t;

static const verb_t verbs[] = {{"show", show}, {"all", all}, {"set", set}, {"unset", unset}};

void themis_server_quota_requests_serve(themis_server_request_t *request)
{
    themis_status_t status = THEMIS_INVALID;
    themis_proto_text_body_t body = {{NULL, 0}};
    json_t *json = NULL;
    char *text = NULL;
    question_t question;

    int is_sound = question_read(&request->body.text.text, &question);
    for (size_t i = 0; is_sound && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(question.words[0], verbs[i].word) == 0)
            status = verbs[i].answer(request, &question, &json);
    free(question.text);
    if (status == THEMIS_OK && !(text = json ? json_dumps(json, JSON_COMPACT) : NULL))
        status = THEMIS_NO_MEMORY;
    if (text)
        body.text = (themis_proto_text_t){text, (uint32_t)strlen(text)};
    themis_server_reply_send(request, status, &body,
                             status == THEMIS_INVALID ? "QUOTA knows \"show [UID]\", \"all [UID]\", \"set WHO BYTES "
                                                        "FILES\" and \"unset WHO\""
                                                      : NULL);
    free(text);
    json_decref(json);
}

/* Whoever gets other limits tells the others at once that it has them. */
static themis_status_t usage_take(themis_server_t *server, const themis_proto_usage_t *usage)
{
    uint64_t before = themis_server_quota_version(server->quota).time;
    themis_status_t status = themis_server_quota_take(server->quota, usage);

    if (themis_server_quota_version(server->quota).time == before)
        return status;
    pthread_mutex_lock(&server->lock);
    themis_server_peers_tell_usage(server);
    pthread_mutex_unlock(&server->lock);
    return status;
}

void themis_server_quota_requests_take(themis_server_request_t *request)
{
    themis_status_t status = themis_server_access_admin(&request->session->identity);

    if (status == THEMIS_OK && request->session->role != THEMIS_SERVER_ROLE_SERVER)
        status = THEMIS_ACCESS;
    if (status == THEMIS_OK)
        status = usage_take(request->server, &request->body.usage);
    themis_server_reply_send(request, status, NULL, NULL);
}
