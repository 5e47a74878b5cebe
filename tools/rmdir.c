/* SPDX-License-Identifier: BSD-3-Clause */
/* themis rmdir: removes empty directories. */
#include "tools/command.h"
#include "tools/sessions.h"

static int directory_remove(void *arg, themis_t *session, const char *path)
{
    return themis_rmdir(session, path) == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error_last();
}

static int run_rmdir(int argc, char **argv)
{
    const themis_tools_option_t options[] = {{0}};

    return themis_tools_session_each_path(argc, argv, options, directory_remove, NULL);
}

const themis_tools_command_t themis_tools_rmdir = {"rmdir", "PATH...", "Removes empty directories.",
                                                   NULL,    run_rmdir, THEMIS_TOOLS_PATTERNS_ALL};
