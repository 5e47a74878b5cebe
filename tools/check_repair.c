/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/check_repair.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/check_ask.h"
#include "tools/check_lines.h"
#include "tools/command.h"
#include "util/status.h"

enum { QUESTION_BYTES = THEMIS_TOOLS_CHECK_LINE_BYTES + 64 };

typedef themis_tools_check_finding_t finding_t;

typedef struct repair {
    themis_t *session;
    themis_tools_check_scan_t *scan;
    uint8_t *down; /* [servers] 1: it does not answer */
    char question[QUESTION_BYTES];
    const char *cause; /* of the last failure, borrowed */
} repair_t;

static void finding_note(const finding_t *finding, const char *text)
{
    if (*finding->path)
        themis_tools_note("%s: %s", finding->path, text);
    else
        themis_tools_note("object %" PRIx64 ": %s", finding->id, text);
}

/* Asks repair->question; *text is the caller's. */
static themis_status_t ask(repair_t *repair, uint32_t server, char **text)
{
    if (repair->down[server]) {
        repair->cause = "its server does not answer";
        return THEMIS_UNREACHABLE;
    }
    themis_status_t status = themis_check(repair->session, server, repair->question, text);
    if (status != THEMIS_OK)
        repair->cause = themis_last_error();
    repair->down[server] = (uint8_t)themis_util_status_is_away(status);
    return status;
}

/* The same where only the status counts. */
static themis_status_t ask_for(repair_t *repair, uint32_t server)
{
    char *text;
    themis_status_t status = ask(repair, server, &text);

    if (status == THEMIS_OK)
        free(text);
    return status;
}

/* What a server has by that path now. THEMIS_NO_ENTRY: nothing. */
static themis_status_t name_look(repair_t *repair, uint32_t server, const char *path, themis_tools_check_name_t *name)
{
    const char *rest;
    char *text;

    snprintf(repair->question, QUESTION_BYTES, "name %s", path);
    themis_status_t status = ask(repair, server, &text);
    if (status != THEMIS_OK)
        return status;
    status = *text ? themis_tools_check_line_attributes(text, repair->scan->servers, name, &rest) : THEMIS_NO_ENTRY;
    free(text);
    return status;
}

static themis_status_t changed(repair_t *repair)
{
    repair->cause = "it has changed meanwhile";
    return THEMIS_BUSY;
}

/* The time is that of the entry's server before the look, so that an entry that was added since stays. */
static themis_status_t entry_remove(repair_t *repair, const finding_t *finding)
{
    themis_tools_check_server_t said;
    themis_tools_check_name_t name;
    char *text;

    strcpy(repair->question, "intents");
    themis_status_t status = ask(repair, finding->server, &text);
    if (status != THEMIS_OK)
        return status;
    text[strcspn(text, "\n")] = 0;
    status = themis_tools_check_line_server(text, &said);
    free(text);
    uint32_t home = themis_tools_check_scan_home(repair->scan, finding->path, strlen(finding->path));
    if (status == THEMIS_OK)
        status = name_look(repair, home, finding->path, &name);
    if (status != THEMIS_NO_ENTRY)
        return status == THEMIS_OK ? changed(repair) : status;
    snprintf(repair->question, QUESTION_BYTES, "unlist %s %" PRIu64, finding->path, said.clock);
    return ask_for(repair, finding->server);
}

static themis_status_t entry_add(repair_t *repair, const finding_t *finding)
{
    size_t length = themis_tools_check_scan_directory(finding->path);
    uint32_t home = themis_tools_check_scan_home(repair->scan, finding->path, length);
    themis_tools_check_name_t name;
    themis_status_t status = name_look(repair, finding->server, finding->path, &name);

    if (status == THEMIS_NO_ENTRY || (status == THEMIS_OK && (name.id != finding->id || name.type != finding->type ||
                                                              name.generation != finding->generation)))
        return changed(repair);
    if (status != THEMIS_OK)
        return status;
    int written = snprintf(repair->question, QUESTION_BYTES, "list %.*s %s %d", (int)length, finding->path,
                           strrchr(finding->path, '/') + 1, finding->type);
    return written < QUESTION_BYTES ? ask_for(repair, home) : THEMIS_NAME_TOO_LONG;
}

static themis_status_t finding_mend(repair_t *repair, const finding_t *finding)
{
    repair->cause = "it cannot be mended";
    switch (finding->kind) {
    case THEMIS_TOOLS_CHECK_DOUBLED:
        snprintf(repair->question, QUESTION_BYTES, "unname %s %" PRIu64 " %" PRIu64, finding->path, finding->id,
                 finding->generation);
        return ask_for(repair, finding->server);
    case THEMIS_TOOLS_CHECK_ORPHAN:
        snprintf(repair->question, QUESTION_BYTES, "destroy %" PRIu64 " %" PRIu64, finding->id, finding->modified);
        return ask_for(repair, finding->server);
    case THEMIS_TOOLS_CHECK_NO_NAME:
        return entry_remove(repair, finding);
    case THEMIS_TOOLS_CHECK_NO_ENTRY:
    case THEMIS_TOOLS_CHECK_WRONG_TYPE:
        return entry_add(repair, finding);
    default:
        return THEMIS_UNSUPPORTED;
    }
}

static void finding_repair(repair_t *repair, finding_t *finding, int force)
{
    const char *obstacle = themis_tools_check_obstacle(repair->scan, finding, force, &finding->unsettled);

    if (finding->kind == THEMIS_TOOLS_CHECK_INCOMPLETE)
        return;
    if (obstacle) {
        finding_note(finding, obstacle);
        return;
    }
    themis_status_t status = finding_mend(repair, finding);
    finding->mended = status == THEMIS_OK;
    /* what has changed meanwhile, or cannot be reached, says nothing of what it is */
    finding->unsettled = status == THEMIS_BUSY || themis_util_status_is_away(status);
    if (!finding->mended)
        finding_note(finding, repair->cause);
}

void themis_tools_check_repair(themis_t *session, themis_tools_check_scan_t *scan,
                               themis_tools_check_findings_t *findings, int force)
{
    repair_t *repair = calloc(1, sizeof *repair);
    uint8_t *down = calloc(scan->servers, sizeof *down);
    /* names may have moved since they were read, and servers may have lost them */
    int known = repair && down && themis_tools_check_ask_moved(session, scan) == THEMIS_TOOLS_OK;

    if (known)
        *repair = (repair_t){.session = session, .scan = scan, .down = down};
    for (size_t i = 0; i < findings->count; i++) {
        if (known)
            finding_repair(repair, &findings->list[i], force);
        else
            findings->list[i].unsettled = 1;
    }
    free(down);
    free(repair);
}
