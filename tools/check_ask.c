/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/check_ask.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/check_lines.h"
#include "tools/command.h"

enum { QUESTION_BYTES = THEMIS_TOOLS_CHECK_LINE_BYTES + 16 };

static int failed(uint32_t server, themis_status_t status)
{
    if (status == THEMIS_NO_MEMORY)
        return themis_tools_error("not enough memory for all names and objects");
    return themis_tools_error("server %u: it answers what no server says", server);
}

/* Asks, and takes the lines; *lines of them. */
static int question_ask(themis_t *session, themis_tools_check_list_t *list, const char *question,
                        themis_tools_check_line_fn take, size_t *lines)
{
    char *text, *end;

    *lines = 0;
    themis_status_t status = themis_check(session, list->server, question, &text);
    if (status == THEMIS_RANGE && take == themis_tools_check_line_moved) {
        list->scan->moves_unknown = 1;
        return THEMIS_TOOLS_OK;
    }
    if (status != THEMIS_OK)
        return themis_tools_error("server %u: %s", list->server, themis_last_error());
    for (char *line = text; *line && status == THEMIS_OK; line = end + 1) {
        end = strchr(line, '\n');
        if (end)
            *end = 0;
        status = end ? take(list, line) : THEMIS_PROTOCOL;
        (*lines)++;
        if (!end)
            break;
    }
    free(text);
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : failed(list->server, status);
}

/* Asks for page after page, until one is empty or the position is at the end. */
static int pages_ask(themis_t *session, themis_tools_check_scan_t *scan, uint32_t server, const char *word,
                     themis_tools_check_line_fn take)
{
    themis_tools_check_list_t *list = calloc(1, sizeof *list);
    char question[QUESTION_BYTES];
    size_t lines = 1;
    int result = list ? THEMIS_TOOLS_OK : failed(server, THEMIS_NO_MEMORY);

    if (list)
        *list = (themis_tools_check_list_t){.scan = scan, .server = server};
    while (result == THEMIS_TOOLS_OK && lines && list->position < UINT64_MAX) {
        uint64_t position = list->position;
        snprintf(question, sizeof question, "%s%s%s", word, *list->after ? " " : "", list->after);
        result = question_ask(session, list, question, take, &lines);
        if (result == THEMIS_TOOLS_OK && lines && list->key_length == 0 && list->position == position)
            result = failed(server, THEMIS_PROTOCOL); /* objects without where to go on */
    }
    free(list);
    return result;
}

static int servers_ask(themis_t *session, themis_tools_check_scan_t *scan, const char *word,
                       themis_tools_check_line_fn take)
{
    int result = THEMIS_TOOLS_OK;

    for (uint32_t i = 0; i < scan->servers && result == THEMIS_TOOLS_OK; i++)
        result = pages_ask(session, scan, i, word, take);
    return result;
}

/* What a server says of itself. */
static int server_ask(themis_t *session, uint32_t server, themis_tools_check_server_t *said)
{
    char *text;

    if (themis_check(session, server, "intents", &text) != THEMIS_OK)
        return themis_tools_error("server %u: %s", server, themis_last_error());
    text[strcspn(text, "\n")] = 0;
    themis_status_t status = themis_tools_check_line_server(text, said);
    free(text);
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : failed(server, status);
}

static int moved_ask(themis_t *session, themis_tools_check_scan_t *scan, uint32_t server)
{
    themis_tools_check_server_t *first = &scan->server[server], now;
    themis_tools_check_list_t *list = calloc(1, sizeof *list);
    char question[64];
    size_t lines;
    int result = list ? server_ask(session, server, &now) : failed(server, THEMIS_NO_MEMORY);

    if (result == THEMIS_TOOLS_OK) {
        scan->restarted |= now.incarnation != first->incarnation;
        first->open = now.open;
        first->failing = now.failing;
        *list = (themis_tools_check_list_t){.scan = scan, .server = server};
        snprintf(question, sizeof question, "moved %" PRIu64, first->moves);
        result = question_ask(session, list, question, themis_tools_check_line_moved, &lines);
    }
    free(list);
    return result;
}

int themis_tools_check_ask_moved(themis_t *session, themis_tools_check_scan_t *scan)
{
    int result = THEMIS_TOOLS_OK;

    for (uint32_t i = 0; i < scan->servers && result == THEMIS_TOOLS_OK; i++)
        result = moved_ask(session, scan, i);
    themis_tools_check_scan_sort_moved(scan);
    return result;
}

int themis_tools_check_ask(themis_t *session, themis_tools_check_scan_t *scan)
{
    themis_session_info_t info;
    int result = THEMIS_TOOLS_OK;

    themis_session_info(session, &info);
    if (themis_tools_check_scan_init(scan, info.servers) != THEMIS_OK)
        return failed(0, THEMIS_NO_MEMORY);
    for (uint32_t i = 0; i < info.servers && result == THEMIS_TOOLS_OK; i++)
        result = server_ask(session, i, &scan->server[i]);
    if (result == THEMIS_TOOLS_OK)
        result = servers_ask(session, scan, "objects", themis_tools_check_line_object);
    if (result == THEMIS_TOOLS_OK)
        result = servers_ask(session, scan, "names", themis_tools_check_line_name);
    if (result == THEMIS_TOOLS_OK)
        result = servers_ask(session, scan, "entries", themis_tools_check_line_entry);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_check_ask_moved(session, scan);
    if (result == THEMIS_TOOLS_OK && themis_tools_check_scan_sort(scan) != THEMIS_OK)
        result = failed(0, THEMIS_NO_MEMORY);
    return result;
}
