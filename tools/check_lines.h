/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines of answers to the questions of `themis check` (server/check.h). What a server cannot have said is refused, as
 * what follows from it would be mended: THEMIS_PROTOCOL. Lists have to go on, so that they end.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"
#include "tools/check_scan.h"

enum { THEMIS_TOOLS_CHECK_LINE_BYTES = 4 * 4096 };

/* A list of one server, page by page. */
typedef struct themis_tools_check_list {
    themis_tools_check_scan_t *scan;
    uint32_t server;
    char after[THEMIS_TOOLS_CHECK_LINE_BYTES]; /* where it goes on, as the next question says; "": at the start */
    char key[THEMIS_TOOLS_CHECK_LINE_BYTES];   /* of the last line, as the server has it */
    size_t key_length;
    uint64_t position; /* of objects; UINT64_MAX: there are no more */
} themis_tools_check_list_t;

/* Appends what a line of the answer to `names`, `entries`, `objects` or `moved` says. */
typedef themis_status_t (*themis_tools_check_line_fn)(themis_tools_check_list_t *list, const char *line);
themis_status_t themis_tools_check_line_name(themis_tools_check_list_t *list, const char *line);
themis_status_t themis_tools_check_line_entry(themis_tools_check_list_t *list, const char *line);
themis_status_t themis_tools_check_line_object(themis_tools_check_list_t *list, const char *line);
themis_status_t themis_tools_check_line_moved(themis_tools_check_list_t *list, const char *line);

/* What a line of `intents` says, of `names` but for the path. */
themis_status_t themis_tools_check_line_server(const char *line, themis_tools_check_server_t *server);
themis_status_t themis_tools_check_line_attributes(const char *line, uint32_t servers, themis_tools_check_name_t *name,
                                                   const char **path);
