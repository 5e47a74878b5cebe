/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/command.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include "themis/themis.h"
#include "tools/format.h"
#include "tools/patterns.h"

enum { MESSAGE_BYTES = 16384 };

static const themis_tools_command_t *running;

int themis_tools_command_run(const themis_tools_command_t *command, int argc, char **argv)
{
    running = command;
    if (command->patterns)
        argv = themis_tools_patterns_expand(&argc, argv, command->patterns == THEMIS_TOOLS_PATTERNS_SOURCES);
    return argv ? command->run(argc, argv) : THEMIS_TOOLS_FAILED;
}

void themis_tools_command_help(const themis_tools_command_t *command, FILE *out)
{
    fprintf(out, "usage: themis %s %s\n%s\n%s", command->name, command->usage, command->summary,
            command->options ? command->options : "");
}

int themis_tools_usage(void)
{
    themis_tools_command_help(running, stderr);
    return THEMIS_TOOLS_USAGE;
}

int themis_tools_say(int result, const char *format, ...)
{
    static _Thread_local char text[MESSAGE_BYTES];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (isatty(STDERR_FILENO)) /* names are of others' choice */
        themis_tools_format_clean(text);
    fprintf(stderr, "themis %s: %s\n", running->name, text);
    return result;
}

int themis_tools_error_last(void)
{
    return themis_tools_error("%s", themis_last_error());
}

int themis_tools_error_errno(const char *what)
{
    return themis_tools_error("%s: %s", what, strerror(errno));
}
