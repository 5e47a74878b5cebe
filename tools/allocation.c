/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/allocation.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "dfra/decision_json.h"
#include "tools/command.h"
#include "tools/hosts.h"
#include "tools/json.h"
#include "tools/owner.h"
#include "tools/sessions.h"
#include "util/clock.h"
#include "util/config.h"

/* How long the service may read its history before it decides. */
#define PATIENCE (60 * THEMIS_NS_PER_S)
#define RELEASE_LIMIT (5 * THEMIS_NS_PER_S)
enum { PAUSE_US = 200000, MOST_RANGES = 4096 };

/* --- questions ---------------------------------------------------------------------------------------------------- */

static json_t *reply_parse(char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, 0, &error);

    free(text);
    if (json_is_object(json))
        return json;
    themis_tools_error("the allocation service has answered what is no JSON object");
    json_decref(json);
    return NULL;
}

/* One server; while it reads its history it is asked again. */
static themis_status_t server_ask(themis_t *session, uint32_t server, const char *question, char **text)
{
    uint64_t until = themis_util_clock_now() + PATIENCE;
    themis_status_t status;

    while ((status = themis_allocation_ask(session, server, question, text)) == THEMIS_BUSY &&
           themis_util_clock_now() < until)
        usleep(PAUSE_US);
    return status;
}

/* A question to the servers of a list. */
typedef struct question {
    const char *servers, *text;
    uint64_t limit; /* ns; 0: none */
    char cause[512];
} question_t;

/* One after the other, until one has the service. */
static themis_status_t servers_ask(question_t *q, themis_t *session, char **answer)
{
    uint64_t begun = themis_util_clock_now();
    themis_session_info_t info;
    themis_status_t status = themis_session_info(session, &info), silent = THEMIS_OK;

    if (status != THEMIS_OK) {
        snprintf(q->cause, sizeof q->cause, "%s", themis_last_error());
        return status;
    }
    for (uint32_t i = 0; i < info.servers; i++) {
        status = server_ask(session, i, q->text, answer);
        if (status == THEMIS_UNSUPPORTED || status == THEMIS_OPCODE)
            continue;
        snprintf(q->cause, sizeof q->cause, "%s", status == THEMIS_OK ? "" : themis_last_error());
        /* one that does not answer may have the service, or another one after it */
        if ((status != THEMIS_UNREACHABLE && status != THEMIS_TIMED_OUT) ||
            (q->limit && themis_util_clock_now() - begun > q->limit))
            return status;
        silent = status;
    }
    if (!*q->cause)
        snprintf(q->cause, sizeof q->cause, "none of the servers has the allocation service (key allocate)");
    return silent != THEMIS_OK ? silent : status;
}

/* Releases the question; prints errors. */
static themis_status_t ask_within(const char *servers, json_t *question, uint64_t limit, json_t **reply)
{
    char *text = question ? json_dumps(question, JSON_COMPACT) : NULL, *answer = NULL;
    question_t q = {.servers = servers, .text = text, .limit = limit};
    themis_t *session;
    themis_status_t status = THEMIS_NO_MEMORY;

    json_decref(question);
    if (!text) {
        themis_tools_error("out of memory");
        return status;
    }
    if (limit)
        themis_tools_sessions_limit(limit);
    if (themis_tools_session_get(servers, &session) != THEMIS_TOOLS_OK) {
        status = THEMIS_CONFIG; /* it was not asked */
    } else {
        status = servers_ask(&q, session, &answer);
        if (status != THEMIS_OK)
            themis_tools_error("%s", q.cause);
        else if (!(*reply = reply_parse(answer)))
            status = THEMIS_PARSE;
    }
    if (limit)
        themis_tools_sessions_limit(0);
    free(text);
    return status;
}

static int result_of(themis_status_t status)
{
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : THEMIS_TOOLS_FAILED;
}

static int ask(const char *servers, json_t *question, json_t **reply)
{
    return result_of(ask_within(servers, question, 0, reply));
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static int number_compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* node17.site.org is 17, a host without a number 0. */
static uint32_t host_number(const char *name)
{
    size_t end = strcspn(name, "."), at = end;

    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    unsigned long number = at < end ? strtoul(name + at, NULL, 10) : 0;
    return number < UINT32_MAX ? (uint32_t)number : 0;
}

/* Sorted numbers as "0-3,7"; the caller's. */
static char *numbers_text(uint32_t *number, size_t count)
{
    char *text = NULL;
    size_t size, last;
    FILE *out = open_memstream(&text, &size);

    qsort(number, count, sizeof *number, number_compare);
    for (size_t i = 0; out && i < count; i = last + 1) {
        for (last = i; last + 1 < count && number[last + 1] - number[last] <= 1; last++)
            ;
        fprintf(out, "%s%u", i ? "," : "", number[i]);
        if (number[last] > number[i])
            fprintf(out, "-%u", number[last]);
    }
    if (out)
        fclose(out);
    return text;
}

static int is_numbers(const char *text)
{
    return text && text[strspn(text, "0123456789,-")] == '\0';
}

static int nodes_check(const char *given)
{
    themis_dfra_range_t *range = calloc(MOST_RANGES, sizeof *range);
    uint32_t ranges, count;
    int good = !is_numbers(given) ||
               (range && themis_dfra_nodes_parse(given, range, MOST_RANGES, &ranges, &count) == THEMIS_OK);

    free(range);
    return good ? THEMIS_TOOLS_OK
                : themis_tools_misuse("--nodes %s: not numbers of nodes in ascending order, such as 0-255,600", given);
}

static int nodes_find(const char *given, char **nodes)
{
    themis_tools_hosts_t hosts = {0};
    char own[256] = "";
    int result = nodes_check(given);

    if (result != THEMIS_TOOLS_OK)
        return result;
    if (is_numbers(given)) {
        *nodes = strdup(given);
        return *nodes ? THEMIS_TOOLS_OK : themis_tools_error("out of memory");
    }
    result = given ? themis_tools_hosts_parse(given, &hosts) : themis_tools_hosts_find(NULL, &hosts);
    gethostname(own, sizeof own - 1);
    size_t count = hosts.count > 0 ? (size_t)hosts.count : 1;
    uint32_t *number = calloc(count, sizeof *number);
    for (size_t i = 0; number && i < count; i++)
        number[i] = host_number(hosts.count > 0 ? hosts.names[i] : own);
    *nodes = result == THEMIS_TOOLS_OK && number ? numbers_text(number, count) : NULL;
    if (result == THEMIS_TOOLS_OK && !*nodes)
        result = themis_tools_error("out of memory");
    free(number);
    themis_tools_hosts_free(&hosts);
    return result;
}

/* --- the service -------------------------------------------------------------------------------------------------- */

/* `question` may be NULL. */
static int lease_read(const char *text, json_t *question)
{
    uint64_t ns;

    if (!text)
        return THEMIS_TOOLS_OK;
    if (themis_util_config_duration(text, &ns) != THEMIS_OK || ns < THEMIS_NS_PER_S)
        return themis_tools_misuse("--lease %s: not a time of 1s or more, such as 12h", text);
    json_object_set_new(question, "lease_s", json_integer((json_int_t)(ns / THEMIS_NS_PER_S)));
    return THEMIS_TOOLS_OK;
}

int themis_tools_allocation_check(const char *nodes, const char *lease)
{
    int result = nodes_check(nodes);

    return result == THEMIS_TOOLS_OK ? lease_read(lease, NULL) : result;
}

static int user_read(const char *text, json_t *question)
{
    uint32_t uid, gid;
    int result = text ? themis_tools_owner_parse(text, &uid, &gid) : THEMIS_TOOLS_OK;

    if (text && result == THEMIS_TOOLS_OK)
        json_object_set_new(question, "user", json_integer(uid));
    return result;
}

/* As programs that are started from here call their job. */
static int job_set(const char *servers, const char *given, json_t *question)
{
    themis_session_info_t info;
    themis_t *session;

    if (!given) {
        int result = themis_tools_session_get(servers, &session);
        if (result != THEMIS_TOOLS_OK)
            return result;
        if (themis_session_info(session, &info) != THEMIS_OK)
            return themis_tools_error_last();
        given = info.job;
    }
    json_object_set_new(question, "job", json_string(given));
    return THEMIS_TOOLS_OK;
}

/* The answer may have been lost, and there may be an allocation that nobody knows of. */
static int is_unclear(themis_status_t status)
{
    return status == THEMIS_TIMED_OUT || status == THEMIS_UNREACHABLE || status == THEMIS_DISCONNECTED ||
           status == THEMIS_PARSE;
}

static int question_ask(const char *servers, json_t *question, json_t **reply)
{
    uint64_t token = 0;
    json_t *released = NULL;

    /* asked again after a lost connection it is the same allocation */
    if (getrandom(&token, sizeof token, 0) == sizeof token && (token &= INT64_MAX) != 0)
        json_object_set_new(question, "token", json_integer((json_int_t)token));
    themis_status_t status = ask_within(servers, json_incref(question), 0, reply);
    if (is_unclear(status) && token) {
        json_t *release = json_pack("{s:s, s:I}", "action", "release", "token", (json_int_t)token);

        if (json_object_get(question, "user"))
            json_object_set(release, "user", json_object_get(question, "user"));
        ask_within(servers, release, RELEASE_LIMIT, &released);
        json_decref(released);
    }
    return result_of(status);
}

int themis_tools_allocation_make(const char *servers, const themis_tools_allocation_wish_t *wish, json_t **reply)
{
    char *nodes = NULL;
    json_t *question = json_pack("{s:s, s:s}", "action", "allocate", "application", wish->application);
    int result =
        question ? nodes_find(wish->nodes, &nodes) : themis_tools_misuse("the name of the application is not UTF-8");

    if (result == THEMIS_TOOLS_OK)
        result = lease_read(wish->lease, question);
    if (result == THEMIS_TOOLS_OK)
        result = user_read(wish->user, question);
    if (result == THEMIS_TOOLS_OK)
        result = job_set(servers, wish->job, question);
    if (result == THEMIS_TOOLS_OK) {
        json_object_set_new(question, "nodes", json_string(nodes));
        json_object_set_new(question, "once", json_boolean(wish->once));
        result = question_ask(servers, question, reply);
    }
    json_decref(question);
    free(nodes);
    return result;
}

int themis_tools_allocation_release(const char *servers, uint64_t id, uint64_t limit, json_t **reply)
{
    return result_of(
        ask_within(servers, json_pack("{s:s, s:I}", "action", "release", "id", (json_int_t)id), limit, reply));
}

int themis_tools_allocation_release_job(const char *servers, const char *job, const char *user, json_t **reply)
{
    json_t *question = json_pack("{s:s, s:s}", "action", "release", "job", job);
    int result = question ? user_read(user, question) : themis_tools_misuse("the name of the job is not UTF-8");

    if (result == THEMIS_TOOLS_OK)
        return ask(servers, question, reply);
    json_decref(question);
    return result;
}

themis_status_t themis_tools_allocation_renew(const char *servers, uint64_t id, uint64_t lease, uint64_t limit,
                                              json_t **reply)
{
    json_t *question = json_pack("{s:s, s:I}", "action", "renew", "id", (json_int_t)id);

    if (lease)
        json_object_set_new(question, "lease_s", json_integer((json_int_t)lease));
    return ask_within(servers, question, limit, reply);
}

int themis_tools_allocation_list(const char *servers, json_t **list, json_t **anomalous)
{
    json_t *all = json_array(), *reply = NULL;
    uint64_t after = 0;
    int result = all ? THEMIS_TOOLS_OK : themis_tools_error("out of memory"), more = 1;

    *anomalous = NULL;
    while (result == THEMIS_TOOLS_OK && more) {
        result = ask(servers, json_pack("{s:s, s:I}", "action", "list", "after", (json_int_t)after), &reply);
        if (result != THEMIS_TOOLS_OK)
            break;
        const json_t *found = json_object_get(reply, "allocations");
        size_t count = json_array_size(found);
        uint64_t last = count > 0 ? themis_tools_allocation_id(json_array_get(found, count - 1)) : 0;
        more = json_is_true(json_object_get(reply, "more")) && last > after;
        after = last;
        json_array_extend(all, json_object_get(reply, "allocations"));
        json_decref(*anomalous);
        *anomalous = json_incref(json_object_get(reply, "anomalous"));
        json_decref(reply);
    }
    *list = all;
    return result;
}

uint64_t themis_tools_allocation_id(const json_t *reply)
{
    json_int_t id = json_integer_value(json_object_get(reply, "id"));

    return id > 0 ? (uint64_t)id : 0;
}

/* A shell may evaluate it. */
static int is_plain(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_-[]";

    return name && *name && name[strspn(name, plain)] == '\0';
}

char *themis_tools_allocation_placement(const json_t *reply)
{
    const json_t *servers = json_object_get(reply, "servers");
    char *text = NULL;
    size_t size;
    int good = json_array_size(servers) > 0;
    FILE *out = open_memstream(&text, &size);

    for (size_t i = 0; out && good && i < json_array_size(servers); i++) {
        const char *name = json_string_value(json_array_get(servers, i));

        good = is_plain(name);
        if (good)
            fprintf(out, "%s%s", i ? "," : "", name);
    }
    if (out)
        fclose(out);
    if (good && text)
        return text;
    free(text);
    return NULL;
}
