/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * themis check: compares what all servers have. Files may come and go meanwhile, so only what is found twice in a row
 * counts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tools/check_ask.h"
#include "tools/check_compare.h"
#include "tools/check_repair.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/sessions.h"
#include "util/clock.h"

enum { SECOND_LOOK_S = 2, DEFAULT_AGE_S = 600 };

typedef themis_tools_check_scan_t scan_t;
typedef themis_tools_check_finding_t finding_t;
typedef themis_tools_check_findings_t findings_t;

/* For JSON, and what is wrong, after the path or the object; how it is mended. */
static const struct {
    const char *name, *text, *repair;
} kinds[THEMIS_TOOLS_CHECK_KINDS] = {
    [THEMIS_TOOLS_CHECK_DOUBLED] = {"doubled", "has an object that has another name, too", "the name is removed"},
    [THEMIS_TOOLS_CHECK_ORPHAN] = {"orphan", "an object that no name leads to", "it is removed"},
    [THEMIS_TOOLS_CHECK_NO_NAME] = {"entry", "an entry of a name that does not exist", "it is removed"},
    [THEMIS_TOOLS_CHECK_NO_ENTRY] = {"unlisted", "no listing of its directory shows it", "its entry is added"},
    [THEMIS_TOOLS_CHECK_WRONG_TYPE] = {"type", "its directory lists it as something else", "its entry is corrected"},
    [THEMIS_TOOLS_CHECK_MISPLACED] = {"misplaced", "is on a server that is not its home", NULL},
    [THEMIS_TOOLS_CHECK_INCOMPLETE] = {"incomplete", "has no object on a server, which may be a hole", NULL}};

/* --- showing ------------------------------------------------------------------------------------------------------ */

static void intents_sum(const scan_t *scan, uint64_t *open, uint64_t *failing)
{
    *open = *failing = 0;
    for (uint32_t i = 0; i < scan->servers; i++) {
        *open += scan->server[i].open;
        *failing += scan->server[i].failing;
    }
}

static void finding_print(const finding_t *finding)
{
    if (finding->kind == THEMIS_TOOLS_CHECK_ORPHAN)
        printf("server %u, object %" PRIx64, finding->server, finding->id);
    else
        printf("%s", finding->path);
    printf(": %s", kinds[finding->kind].text);
    if (finding->kind == THEMIS_TOOLS_CHECK_INCOMPLETE || finding->kind == THEMIS_TOOLS_CHECK_MISPLACED)
        printf(", number %u", finding->server);
    if (finding->mended)
        printf(": %s", kinds[finding->kind].repair);
    printf("%s\n", finding->unsettled ? " (not settled: check again)" : "");
}

static void text_print(const scan_t *scan, const findings_t *findings, int is_complete)
{
    uint64_t open, failing;

    for (size_t i = 0; i < findings->count; i++)
        finding_print(&findings->list[i]);
    if (!is_complete)
        return;
    intents_sum(scan, &open, &failing);
    printf("%zu names, %zu objects on %u servers", scan->name_count, scan->object_count, scan->servers);
    if (open)
        printf(", %" PRIu64 " changes that are not complete, of which %" PRIu64 " wait for a server", open, failing);
    printf("\n");
}

/* Returns 0 if there is no memory. */
static int json_show(const scan_t *scan, const findings_t *findings, int is_complete)
{
    json_t *list = json_array();
    uint64_t open, failing;
    int added = 0;

    for (size_t i = 0; i < findings->count && !added; i++) {
        const finding_t *finding = &findings->list[i];
        char object[32];
        snprintf(object, sizeof object, "%" PRIx64, finding->id);
        added = json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:b, s:b}", "kind",
                                                      kinds[finding->kind].name, "path", finding->path, "object",
                                                      object, "server", (json_int_t)finding->server, "mended",
                                                      finding->mended, "settled", !finding->unsettled));
    }
    intents_sum(scan, &open, &failing);
    json_t *all = added ? NULL
                        : json_pack("{s:b, s:I, s:I, s:I, s:{s:I, s:I}, s:O}", "complete", is_complete, "servers",
                                    (json_int_t)scan->servers, "names", (json_int_t)scan->name_count, "objects",
                                    (json_int_t)scan->object_count, "intents", "open", (json_int_t)open, "failing",
                                    (json_int_t)failing, "findings", list);
    json_decref(list);
    if (all)
        themis_tools_json_print(all);
    return all != NULL;
}

/* What wrong things there are that were not mended, settled ones first. */
static int findings_result(const scan_t *scan, const findings_t *findings)
{
    uint64_t open, failing;

    intents_sum(scan, &open, &failing);
    int result = failing ? THEMIS_TOOLS_UNSETTLED : THEMIS_TOOLS_OK;
    for (size_t i = 0; i < findings->count; i++) {
        const finding_t *finding = &findings->list[i];
        if (finding->mended || finding->kind == THEMIS_TOOLS_CHECK_INCOMPLETE)
            continue;
        if (!finding->unsettled)
            return THEMIS_TOOLS_FAILED;
        result = THEMIS_TOOLS_UNSETTLED;
    }
    return result;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

typedef struct arguments {
    int as_json, repair, force;
    uint64_t age_s;
} arguments_t;

static int look(themis_t *session, const arguments_t *given, scan_t *scan, findings_t *findings)
{
    int result = themis_tools_check_ask(session, scan);

    if (result == THEMIS_TOOLS_OK &&
        themis_tools_check_compare(scan, given->age_s * THEMIS_NS_PER_S, findings) != THEMIS_OK)
        result = themis_tools_error("not enough memory for what is found");
    for (size_t i = 0; i < findings->count && result == THEMIS_TOOLS_OK; i++)
        themis_tools_check_obstacle(scan, &findings->list[i], given->force, &findings->list[i].unsettled);
    return result;
}

/* Looks until what is left was found in each look; where one fails, that of those before is not settled. */
static int looks(themis_t *session, const arguments_t *given, scan_t *scan, findings_t *findings)
{
    findings_t earlier = {0};
    int result = look(session, given, scan, findings);

    for (int i = 0; result == THEMIS_TOOLS_OK && findings->count && i < 1 + given->repair; i++) {
        earlier = *findings;
        *findings = (findings_t){0};
        themis_tools_check_scan_free(scan);
        sleep(SECOND_LOOK_S);
        result = look(session, given, scan, findings);
        if (result == THEMIS_TOOLS_OK) {
            themis_tools_check_findings_keep(findings, &earlier);
            themis_tools_check_findings_free(&earlier);
        }
    }
    if (result == THEMIS_TOOLS_OK)
        return result;
    themis_tools_check_findings_free(findings);
    *findings = earlier;
    for (size_t i = 0; i < findings->count; i++)
        findings->list[i].unsettled = 1;
    return result;
}

static int check(themis_t *session, const arguments_t *given)
{
    scan_t scan = {0};
    findings_t findings = {0};
    int is_complete = looks(session, given, &scan, &findings) == THEMIS_TOOLS_OK;

    if (is_complete && given->repair && findings.count)
        themis_tools_check_repair(session, &scan, &findings, given->force);
    int result = is_complete ? findings_result(&scan, &findings) : THEMIS_TOOLS_UNSETTLED;
    if (!given->as_json)
        text_print(&scan, &findings, is_complete);
    else if (!json_show(&scan, &findings, is_complete))
        result = themis_tools_say(THEMIS_TOOLS_UNSETTLED, "not enough memory for what is found");
    themis_tools_check_findings_free(&findings);
    themis_tools_check_scan_free(&scan);
    return result;
}

static int run_check(int argc, char **argv)
{
    arguments_t given = {.age_s = DEFAULT_AGE_S};
    const char *servers = NULL, *age = NULL;
    const themis_tools_option_t options[] = {{0, "repair", &given.repair, NULL}, {0, "force", &given.force, NULL},
                                             {0, "json", &given.as_json, NULL},  {0, "age", NULL, &age},
                                             {'s', "servers", NULL, &servers},   {0}};
    themis_t *session;
    char *end;

    if (themis_tools_options(argc, argv, options) != argc)
        return themis_tools_usage();
    if (given.force && !given.repair)
        return themis_tools_misuse("--force: only with --repair");
    if (age) {
        given.age_s = strtoull(age, &end, 10);
        if (*age < '0' || *age > '9' || *end || given.age_s > UINT32_MAX)
            return themis_tools_misuse("--age: expected seconds");
    }
    if (themis_tools_session_get(servers, &session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_UNSETTLED;
    return check(session, &given);
}

const themis_tools_command_t themis_tools_check = {
    "check",
    "[--repair [--force]] [--age SECONDS] [--json] [-s HOST:PORT,...]",
    "Compares the names and objects of all servers.",
    "  -s         the servers, instead of those that are configured\n"
    "  --repair   mends what is wrong\n"
    "  --force    removes objects without a name also where a server may have lost their names\n"
    "  --age      of objects without a name, which count if they did not change for so long (600)\n"
    "  --json     as JSON\n",
    run_check,
    0};
