/* SPDX-License-Identifier: BSD-3-Clause */
/* themis quota: what users have on all servers, and how much they may have. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json.h"
#include "tools/options.h"
#include "tools/owner.h"
#include "tools/quota_sum.h"
#include "tools/sessions.h"
#include "util/config.h"

enum { QUESTION_BYTES = 128, LIMIT_BYTES = 24, AGREE_TRIES = 50, AGREE_PAUSE_MS = 100 };

typedef struct arguments {
    const char *servers, *bytes, *files;
    int all, human, as_json, everybody; /* --default */
    const char *words[2];
    int count;
} arguments_t;

/* The answer of a server as JSON, owned by the caller; NULL after an error message. */
static json_t *server_ask(themis_t *session, uint32_t server, const char *question)
{
    char *text;
    themis_status_t status = themis_quota(session, server, question, &text);
    json_t *json = NULL;

    if (status == THEMIS_OK) {
        json = json_loads(text, 0, NULL);
        free(text);
    }
    if (!json)
        themis_tools_error("server %" PRIu32 ": %s", server,
                           status == THEMIS_OK ? "its answer is not JSON" : themis_last_error());
    return json;
}

/* --- showing ------------------------------------------------------------------------------------------------------ */

/* Adds all pages of a server's answer. */
static int server_add(themis_t *session, uint32_t server, const arguments_t *given, const char *uid,
                      themis_tools_quota_sum_t *sum)
{
    char question[QUESTION_BYTES];
    int64_t next = 0;

    while (next >= 0) {
        if (given->all)
            snprintf(question, sizeof question, "all %" PRId64, next);
        else
            snprintf(question, sizeof question, "show%s%s", *uid ? " " : "", uid);
        json_t *json = server_ask(session, server, question);
        if (!json)
            return THEMIS_TOOLS_FAILED;
        themis_tools_quota_sum_add(sum, json);
        const json_t *more = json_object_get(json, "next");
        next = given->all && json_is_integer(more) && json_integer_value(more) > next ? json_integer_value(more) : -1;
        json_decref(json);
    }
    return THEMIS_TOOLS_OK;
}

static const char *bytes_text(uint64_t bytes, int human, char text[32])
{
    if (bytes == THEMIS_TOOLS_QUOTA_NONE)
        return strcpy(text, "-");
    if (human)
        return themis_tools_format_bytes((double)bytes, text);
    snprintf(text, 32, "%" PRIu64, (bytes + 1023) / 1024);
    return text;
}

static const char *count_text(uint64_t count, char text[32])
{
    if (count == THEMIS_TOOLS_QUOTA_NONE)
        return strcpy(text, "-");
    snprintf(text, 32, "%" PRIu64, count);
    return text;
}

static const char *share_text(uint64_t used, uint64_t limit, char text[32])
{
    if (limit == THEMIS_TOOLS_QUOTA_NONE || limit == 0)
        return strcpy(text, "-");
    snprintf(text, 32, "%.0f%%", 100 * (double)used / (double)limit);
    return text;
}

static void sum_print(const themis_tools_quota_sum_t *sum, int human)
{
    char name[THEMIS_TOOLS_OWNER_TEXT], text[6][32];

    printf("%-16s %12s %12s %5s %10s %10s %5s\n", "User", human ? "Size" : "1K-blocks", "Limit", "Use%", "Files",
           "Limit", "Use%");
    for (size_t i = 0; i < sum->count; i++) {
        const themis_tools_quota_user_t *user = &sum->users[i];
        const char *who = user->uid == UINT32_MAX ? "(unknown)" : themis_tools_owner_user(user->uid, 0, name);
        printf("%-16s %12s %12s %5s %10s %10s %5s\n", who, bytes_text(user->bytes, human, text[0]),
               bytes_text(user->byte_limit, human, text[1]), share_text(user->bytes, user->byte_limit, text[2]),
               count_text(user->files, text[3]), count_text(user->file_limit, text[4]),
               share_text(user->files, user->file_limit, text[5]));
    }
    if (sum->has_default)
        printf("%-16s %12s %12s %5s %10s %10s %5s\n", "(default)", "", bytes_text(sum->default_bytes, human, text[0]),
               "", "", count_text(sum->default_files, text[1]), "");
}

/* Where nothing is known of a user, he has nothing. */
static int quota_show(themis_t *session, uint32_t servers, const arguments_t *given)
{
    themis_tools_quota_sum_t sum = {0};
    uint32_t uid = (uint32_t)getuid(), gid;
    char number[LIMIT_BYTES] = "";
    int result = THEMIS_TOOLS_OK;

    if (given->count) {
        result = themis_tools_owner_parse(given->words[0], &uid, &gid);
        snprintf(number, sizeof number, "%" PRIu32, uid);
    }
    if (result != THEMIS_TOOLS_OK)
        return result;
    for (uint32_t s = 0; s < servers; s++)
        result |= server_add(session, s, given, number, &sum);
    if (!given->all && !sum.count)
        themis_tools_quota_sum_nothing(&sum, uid);
    if (sum.failed)
        result = themis_tools_error("out of memory");
    if (sum.differ)
        result = themis_tools_error("not all servers have the same limits yet");
    if (sum.counting)
        themis_tools_note("%" PRIu32 " servers still count what is in their stores: there may be more", sum.counting);
    if (given->as_json)
        themis_tools_json_print(themis_tools_quota_sum_json(&sum));
    else
        sum_print(&sum, given->human);
    free(sum.users);
    return result;
}

/* --- changing ----------------------------------------------------------------------------------------------------- */

/* Have all servers that can be reached this version of the limits? */
static int agreement_await(themis_t *session, uint32_t servers, const char *version)
{
    const struct timespec pause = {.tv_nsec = AGREE_PAUSE_MS * 1000000L};
    int result = THEMIS_TOOLS_OK;

    for (uint32_t s = 0; s < servers; s++) {
        int agrees = 0;
        if (themis_tools_session_is_down(session, s, NULL)) {
            themis_tools_note("server %" PRIu32 " cannot be reached: the others will tell it", s);
            continue;
        }
        for (int tries = 0; tries < AGREE_TRIES && !agrees; tries++) {
            json_t *json = server_ask(session, s, "show");
            if (!json)
                break;
            agrees = strcmp(themis_tools_json_text(json, "version"), version) == 0;
            json_decref(json);
            if (!agrees)
                nanosleep(&pause, NULL);
        }
        if (!agrees)
            result = themis_tools_error("server %" PRIu32 " does not have these limits yet", s);
    }
    return result;
}

/* One server is told, and tells the others. */
static int quota_change(themis_t *session, uint32_t servers, const char *question)
{
    uint32_t s = 0;
    char version[64];

    while (s < servers - 1 && themis_tools_session_is_down(session, s, NULL))
        s++;
    json_t *json = server_ask(session, s, question);
    if (!json)
        return THEMIS_TOOLS_FAILED;
    snprintf(version, sizeof version, "%s", themis_tools_json_text(json, "version"));
    json_decref(json);
    return agreement_await(session, servers, version);
}

/* A limit as servers take it; returns 0 after an error message. */
static int limit_text(const char *value, int is_bytes, char text[LIMIT_BYTES])
{
    uint64_t bytes;
    int64_t files;

    snprintf(text, LIMIT_BYTES, "%s", !value ? "-" : "none");
    if (!value || strcmp(value, "none") == 0)
        return 1;
    if (is_bytes && themis_util_config_bytes(value, &bytes) == THEMIS_OK && bytes < INT64_MAX)
        snprintf(text, LIMIT_BYTES, "%" PRIu64, bytes);
    else if (!is_bytes && themis_util_config_integer(value, 0, INT64_MAX - 1, &files) == THEMIS_OK)
        snprintf(text, LIMIT_BYTES, "%" PRId64, files);
    else
        themis_tools_misuse("%s: expected %s or none", value, is_bytes ? "a size such as 10g" : "a number");
    return strcmp(text, "none") != 0;
}

/* What a change asks of a server; returns 0 after an error message. */
static int question_make(const arguments_t *given, char question[QUESTION_BYTES])
{
    int is_set = strcmp(given->words[0], "set") == 0;
    char who[LIMIT_BYTES] = "default", bytes[LIMIT_BYTES], files[LIMIT_BYTES];
    uint32_t uid, gid;

    if (!given->everybody) {
        if (themis_tools_owner_parse(given->words[1], &uid, &gid) != THEMIS_TOOLS_OK)
            return 0;
        snprintf(who, sizeof who, "%" PRIu32, uid);
    }
    if (!is_set) {
        snprintf(question, QUESTION_BYTES, "unset %s", who);
        return 1;
    }
    if (!limit_text(given->bytes, 1, bytes) || !limit_text(given->files, 0, files))
        return 0;
    snprintf(question, QUESTION_BYTES, "set %s %s %s", who, bytes, files);
    return 1;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static int is_change(const arguments_t *given)
{
    return given->count && (strcmp(given->words[0], "set") == 0 || strcmp(given->words[0], "unset") == 0);
}

/* NULL: nothing is wrong. */
static const char *arguments_fault(const arguments_t *given)
{
    int has_limits = given->bytes || given->files;

    if (!is_change(given)) {
        if (has_limits || given->everybody)
            return "--bytes, --files and --default go with set";
        return given->count > 1 || (given->count && given->all) ? "takes one user, or -a" : NULL;
    }
    if (given->all)
        return "-a does not go with set and unset";
    if ((given->count == 2) == given->everybody)
        return "needs a user, or --default";
    if (strcmp(given->words[0], "set") == 0)
        return has_limits ? NULL : "set needs --bytes or --files";
    return has_limits ? "--bytes and --files go with set" : NULL;
}

/* Options are allowed anywhere. Returns 0 after an error message. */
static int arguments_parse(int argc, char **argv, arguments_t *given)
{
    const themis_tools_option_t options[] = {{'s', "servers", NULL, &given->servers},
                                             {0, "bytes", NULL, &given->bytes},
                                             {0, "files", NULL, &given->files},
                                             {'a', "all", &given->all, NULL},
                                             {'h', "human-readable", &given->human, NULL},
                                             {0, "default", &given->everybody, NULL},
                                             {0, "json", &given->as_json, NULL},
                                             {0}};
    int at = themis_tools_options(argc, argv, options), next = at;

    for (; next >= 0 && at < argc && given->count < 2; at += next) {
        given->words[given->count++] = argv[at];
        next = themis_tools_options(argc - at, argv + at, options);
    }
    if (next < 0)
        return 0;
    const char *fault = at < argc ? "too many words" : arguments_fault(given);
    if (fault)
        themis_tools_misuse("%s", fault);
    return fault == NULL;
}

static int run_quota(int argc, char **argv)
{
    arguments_t given = {0};
    char question[QUESTION_BYTES];
    themis_session_info_t info;
    themis_t *session;

    if (!arguments_parse(argc, argv, &given))
        return themis_tools_usage();
    if (is_change(&given) && !question_make(&given, question))
        return THEMIS_TOOLS_USAGE;
    themis_util_config_env_default("THEMIS_TIMEOUT", "900ms");
    if (themis_tools_session_get(given.servers, &session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    themis_session_info(session, &info);
    return is_change(&given) ? quota_change(session, info.servers, question)
                             : quota_show(session, info.servers, &given);
}

const themis_tools_command_t themis_tools_quota = {
    "quota",
    "[-h] [-a | USER] [--json] [-s HOST:PORT,...] | set USER|--default [--bytes SIZE] [--files N] | unset "
    "USER|--default",
    "Shows what users have on all servers and may have, or sets limits.",
    "  -a             all users; for administrators, as other users than one's own are\n"
    "  -h             sizes as 1.5G, not in KiB\n"
    "  -s LIST        these servers instead of those configured\n"
    "  --default      all users who have no limits of their own\n"
    "  --bytes SIZE   limit of bytes, as 10g, or none; what is not given stays\n"
    "  --files N      limit of files, directories and links, or none\n"
    "  --json         as JSON\n",
    run_quota};
