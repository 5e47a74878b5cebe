/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of a themisd that run or start launches. */
#pragma once
#include "tools/local_servers.h"

enum { THEMIS_TOOLS_MAX_SETTINGS = 31, THEMIS_TOOLS_MAX_ARGUMENTS = 96 };

typedef struct themis_tools_server_command {
    char *arguments[THEMIS_TOOLS_MAX_ARGUMENTS + 1]; /* owned; ends with NULL */
    int count;
    int failed; /* 1: out of memory */
} themis_tools_server_command_t;

/* Of server number `index` of the list, with the options of run or start. Release with
 * themis_tools_server_command_free. */
void themis_tools_server_command_build(const themis_tools_local_servers_options_t *options, const char *program,
                                       const char *list, int index, themis_tools_server_command_t *command);
/* Adds an option; value may be NULL. Both are copied. */
void themis_tools_server_command_add(themis_tools_server_command_t *command, const char *option, const char *value);
void themis_tools_server_command_free(themis_tools_server_command_t *command);

/* In a child: becomes the server, without what is preloaded into programs. Does not return. */
void themis_tools_server_command_exec(themis_tools_server_command_t *command) __attribute__((noreturn));
