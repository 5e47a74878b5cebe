/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/allocation_requests.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "server/access.h"
#include "server/allocator.h"
#include "server/reply.h"
#include "util/clock.h"

enum { QUESTION_MOST = 64 << 10, MOST_RANGES = 4096, LIST_BYTES = THEMIS_PROTO_MAX_MESSAGE / 2, ERROR_BYTES = 512 };
/* s; the longest lease */
static const uint64_t lease_most = UINT64_C(366) * 24 * 3600;

/* A question that is being answered. */
typedef struct asked {
    themis_server_t *server;
    const themis_sched_job_identity_t *who;
    const json_t *json;
    uint64_t lease; /* s, of who names none */
    int for_users;  /* 1: not only administrators allocate */
    json_t *reply;
    char error[ERROR_BYTES]; /* "": the status says it */
} asked_t;

static themis_status_t refuse(asked_t *asked, themis_status_t status, const char *reason)
{
    snprintf(asked->error, sizeof asked->error, "%s", reason);
    return status;
}

static int is_admin(const asked_t *asked)
{
    return themis_server_access_admin(asked->who) == THEMIS_OK;
}

/* A number that may be missing, and is then as it was. */
static themis_status_t number_get(asked_t *asked, const char *name, uint64_t least, uint64_t most, uint64_t *number)
{
    const json_t *value = json_object_get(asked->json, name);

    if (!value)
        return THEMIS_OK;
    json_int_t given = json_integer_value(value);
    if (!json_is_integer(value) || given < 0 || (uint64_t)given < least || (uint64_t)given > most) {
        snprintf(asked->error, sizeof asked->error, "%s is not a number from %llu to %llu", name,
                 (unsigned long long)least, (unsigned long long)most);
        return THEMIS_INVALID;
    }
    *number = (uint64_t)given;
    return THEMIS_OK;
}

/* A name without control characters; NULL: it is none, or missing. */
static const char *name_get(const asked_t *asked, const char *name, const char *missing)
{
    const json_t *value = json_object_get(asked->json, name);
    const char *text = value ? json_string_value(value) : missing;

    if (!text || strlen(text) >= THEMIS_HISTORY_NAME_BYTES)
        return NULL;
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return NULL;
    return text;
}

static themis_status_t wish_read(asked_t *asked, themis_server_allocation_wish_t *wish, themis_dfra_range_t *range)
{
    const char *nodes = json_string_value(json_object_get(asked->json, "nodes"));
    uint64_t user = asked->who->uid;

    wish->application = name_get(asked, "application", NULL);
    wish->job = name_get(asked, "job", "");
    if (!wish->application || !*wish->application || !wish->job)
        return refuse(asked, THEMIS_INVALID, "application or job is no name of at most 255 bytes");
    if (!nodes || themis_dfra_nodes_parse(nodes, range, MOST_RANGES, &wish->ranges, &wish->nodes) != THEMIS_OK)
        return refuse(asked, THEMIS_INVALID, "nodes are not numbers in ascending order, such as 0-255,600");
    themis_status_t status = number_get(asked, "lease_s", 1, lease_most, &wish->lease);
    if (status == THEMIS_OK)
        status = number_get(asked, "token", 1, INT64_MAX, &wish->token);
    if (status == THEMIS_OK)
        status = number_get(asked, "user", 0, UINT32_MAX, &user);
    if (status == THEMIS_OK && user != asked->who->uid && !is_admin(asked))
        return refuse(asked, THEMIS_ACCESS, "only administrators allocate for another user");
    wish->user = (uint32_t)user;
    wish->is_limited = !is_admin(asked);
    wish->is_once = json_is_true(json_object_get(asked->json, "once"));
    wish->range = range;
    return status;
}

static themis_status_t allocate_answer(asked_t *asked)
{
    themis_server_t *server = asked->server;
    themis_server_allocation_wish_t wish = {.lease = asked->lease};

    if (!asked->for_users && !is_admin(asked))
        return refuse(asked, THEMIS_ACCESS, "only administrators allocate servers here");
    themis_dfra_range_t *range = calloc(MOST_RANGES, sizeof *range);
    if (!range)
        return THEMIS_NO_MEMORY;
    themis_status_t status = wish_read(asked, &wish, range);
    if (status == THEMIS_OK)
        status = themis_server_allocator_allocate(server, &wish, &asked->reply, asked->error, sizeof asked->error);
    if (status == THEMIS_QUOTA)
        refuse(asked, status, "too many allocations are in force");
    free(range);
    return status;
}

/* With the allocator's lock. That of another user is not there for who is no administrator. */
static themis_status_t allocation_get(asked_t *asked, themis_server_allocation_t **allocation)
{
    uint64_t id = 0;
    themis_status_t status = number_get(asked, "id", 1, INT64_MAX, &id);

    if (status != THEMIS_OK)
        return status;
    *allocation = themis_server_allocations_find(asked->server->allocator->allocations, id);
    if (*allocation && ((*allocation)->user == asked->who->uid || is_admin(asked)))
        return THEMIS_OK;
    snprintf(asked->error, sizeof asked->error, "there is no allocation %llu of this user", (unsigned long long)id);
    return THEMIS_NO_ENTRY;
}

/* With the allocator's lock: what a job has, or what was asked for with a token. */
static themis_status_t release_all(asked_t *asked)
{
    themis_server_allocations_t *allocations = asked->server->allocator->allocations;
    const char *job = name_get(asked, "job", "");
    uint64_t user = asked->who->uid, token = 0;
    themis_server_allocation_t *a = NULL;
    json_int_t released = 0;
    themis_status_t status = job ? number_get(asked, "token", 1, INT64_MAX, &token) : THEMIS_INVALID;

    if (status == THEMIS_OK)
        status = number_get(asked, "user", 0, UINT32_MAX, &user);
    if (status == THEMIS_OK && !*job && !token)
        return refuse(asked, THEMIS_INVALID, "a release has an id, a job or a token");
    if (status == THEMIS_OK && user != asked->who->uid && !is_admin(asked))
        return refuse(asked, THEMIS_ACCESS, "only administrators release what another user has");
    while (status == THEMIS_OK && (a = token ? themis_server_allocations_find_token(allocations, (uint32_t)user, token)
                                             : themis_server_allocations_find_job(allocations, (uint32_t)user, job))) {
        status = themis_server_allocations_remove(allocations, a);
        released++;
    }
    if (status == THEMIS_OK)
        asked->reply = json_pack("{s:I}", "released", released);
    return status;
}

static themis_status_t release_answer(asked_t *asked)
{
    struct themis_server_allocator *allocator = asked->server->allocator;
    themis_server_allocation_t *allocation;

    if (!json_object_get(asked->json, "id"))
        return release_all(asked);
    themis_status_t status = allocation_get(asked, &allocation);

    if (status != THEMIS_OK)
        return status;
    asked->reply = themis_server_allocation_json(allocation, &allocator->site);
    return themis_server_allocations_remove(allocator->allocations, allocation);
}

static themis_status_t renew_answer(asked_t *asked)
{
    struct themis_server_allocator *allocator = asked->server->allocator;
    uint64_t lease = asked->lease;
    themis_server_allocation_t *allocation;
    themis_status_t status = number_get(asked, "lease_s", 1, lease_most, &lease);

    if (status == THEMIS_OK)
        status = allocation_get(asked, &allocation);
    if (status == THEMIS_OK)
        status = themis_server_allocations_extend(allocator->allocations, allocation,
                                                  themis_util_clock_wall() / THEMIS_NS_PER_S + lease);
    if (status == THEMIS_OK)
        asked->reply = themis_server_allocation_json(allocation, &allocator->site);
    if (asked->reply)
        json_object_set_new(asked->reply, "lease_s", json_integer((json_int_t)lease));
    return status;
}

static size_t json_bytes(const json_t *json)
{
    return json_dumpb(json, NULL, 0, JSON_COMPACT);
}

static json_t *anomalous_json(const struct themis_server_allocator *allocator)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < allocator->site.site.servers; i++)
        if (allocator->slow[allocator->listed[i]])
            json_array_append_new(list, json_string(allocator->site.name[i]));
    return list;
}

static themis_status_t list_answer(asked_t *asked)
{
    const struct themis_server_allocator *allocator = asked->server->allocator;
    json_t *list = json_array();
    uint64_t after = 0;
    size_t bytes = 0;
    themis_status_t status = number_get(asked, "after", 0, INT64_MAX, &after);
    const themis_server_allocation_t *a =
        status == THEMIS_OK ? themis_server_allocations_next(allocator->allocations, after) : NULL;

    for (; a && bytes < LIST_BYTES; a = a->next) {
        if (a->user != asked->who->uid && !is_admin(asked))
            continue;
        json_t *json = themis_server_allocation_json(a, &allocator->site);
        bytes += json ? json_bytes(json) : 0;
        json_array_append_new(list, json);
    }
    asked->reply =
        json_pack("{s:o, s:o, s:b}", "allocations", list, "anomalous", anomalous_json(allocator), "more", a != NULL);
    return status;
}

/* All but a decision, with the lock. */
static themis_status_t answer_locked(asked_t *asked, themis_status_t (*answer)(asked_t *asked))
{
    struct themis_server_allocator *allocator = asked->server->allocator;

    pthread_mutex_lock(&allocator->lock);
    themis_server_allocations_expire(allocator->allocations, themis_util_clock_wall() / THEMIS_NS_PER_S);
    themis_status_t status = answer(asked);
    pthread_mutex_unlock(&allocator->lock);
    return status;
}

/* The configuration may be read anew meanwhile. */
static void settings_take(asked_t *asked)
{
    themis_server_t *server = asked->server;

    pthread_mutex_lock(&server->lock);
    asked->lease = server->config.allocate_lease / THEMIS_NS_PER_S;
    asked->for_users = strcmp(server->config.allocate_by, "users") == 0;
    pthread_mutex_unlock(&server->lock);
}

static themis_status_t question_answer(asked_t *asked)
{
    const char *action = json_string_value(json_object_get(asked->json, "action"));

    settings_take(asked);
    if (!action)
        return refuse(asked, THEMIS_PARSE, "not a JSON object with an action");
    if (strcmp(action, "allocate") == 0)
        return allocate_answer(asked);
    if (strcmp(action, "release") == 0)
        return answer_locked(asked, release_answer);
    if (strcmp(action, "renew") == 0)
        return answer_locked(asked, renew_answer);
    if (strcmp(action, "list") == 0)
        return answer_locked(asked, list_answer);
    return refuse(asked, THEMIS_INVALID, "the actions are allocate, release, renew and list");
}

void themis_server_allocation_requests_serve(themis_server_request_t *request)
{
    const themis_proto_text_t *text = &request->body.text.text;
    asked_t asked = {.server = request->server, .who = &request->session->identity};
    themis_status_t status = THEMIS_OK;
    json_t *json = NULL;
    char *answer = NULL;

    if (!request->server->allocator)
        status = refuse(&asked, THEMIS_UNSUPPORTED, "this server allocates none: its key allocate is not set");
    else if (text->length > QUESTION_MOST)
        status = THEMIS_RANGE;
    else
        asked.json = json = json_loadb(text->length ? text->bytes : "", text->length, JSON_REJECT_DUPLICATES, NULL);
    if (status == THEMIS_OK)
        status = question_answer(&asked);
    if (status == THEMIS_OK && (!asked.reply || !(answer = json_dumps(asked.reply, JSON_COMPACT))))
        status = THEMIS_NO_MEMORY;
    const themis_proto_text_body_t body = {{answer, answer ? (uint32_t)strlen(answer) : 0}};
    themis_server_reply_send(request, status, &body, *asked.error ? asked.error : NULL);
    json_decref(asked.reply);
    json_decref(json);
    free(answer);
}
