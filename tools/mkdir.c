/* SPDX-License-Identifier: BSD-3-Clause */
/* themis mkdir: makes directories. */
#include <stdio.h>
#include "tools/command.h"
#include "tools/creation_mode.h"
#include "tools/sessions.h"

static const uint32_t directory_mode = 0777; /* less the umask */

static themis_status_t parents_make(themis_t *session, const char *path)
{
    char part[8192];

    for (size_t i = 1; path[i] && i < sizeof part; i++) {
        if (path[i] != '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        themis_status_t status = themis_mkdir(session, part, themis_tools_creation_mode(directory_mode));
        if (status != THEMIS_OK && status != THEMIS_EXISTS)
            return status;
    }
    return THEMIS_OK;
}

static int directory_make(void *arg, themis_t *session, const char *path)
{
    const int *parents = arg;
    themis_status_t status = *parents ? parents_make(session, path) : THEMIS_OK;

    if (status == THEMIS_OK)
        status = themis_mkdir(session, path, themis_tools_creation_mode(directory_mode));
    if (status == THEMIS_OK || (status == THEMIS_EXISTS && *parents))
        return THEMIS_TOOLS_OK;
    return themis_tools_error_last();
}

static int run_mkdir(int argc, char **argv)
{
    int parents = 0;
    const themis_tools_option_t options[] = {{'p', "parents", &parents, NULL}, {0}};

    return themis_tools_session_each_path(argc, argv, options, directory_make, &parents);
}

const themis_tools_command_t themis_tools_mkdir = {
    "mkdir", "[-p] PATH...", "Makes directories.",
    "  -p   with those above them; a directory that exists is no error\n", run_mkdir};
