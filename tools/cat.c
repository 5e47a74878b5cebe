/* SPDX-License-Identifier: BSD-3-Clause */
/* themis cat: writes files to standard output. */
#include <unistd.h>
#include "tools/command.h"
#include "tools/options.h"
#include "tools/pipelined_copy.h"

static int file_write(const char *text)
{
    themis_tools_endpoint_t source, out = {.fd = STDOUT_FILENO};
    themis_tools_location_t from;
    const themis_tools_pipelined_t plain = {0};
    const char *cause;
    int result = themis_tools_location_at(text, &from);

    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_endpoint_open_source(&from, &source);
    if (result == THEMIS_TOOLS_OK) {
        if (themis_tools_pipelined_copy(source, out, &plain, &cause) != THEMIS_OK)
            result = themis_tools_error("%s: %s", text, cause);
        themis_tools_endpoint_close(&source, &from, 0);
    }
    themis_tools_location_free(&from);
    return result;
}

static int run_cat(int argc, char **argv)
{
    const themis_tools_option_t options[] = {{0}};
    int at = themis_tools_options(argc, argv, options), result = THEMIS_TOOLS_OK;

    if (at < 0 || at == argc)
        return themis_tools_usage();
    for (; at < argc; at++)
        result |= file_write(argv[at]);
    return result;
}

const themis_tools_command_t themis_tools_cat = {"cat", "PATH...", "Writes files to standard output.",
                                                 NULL,  run_cat,   THEMIS_TOOLS_PATTERNS_ALL};
