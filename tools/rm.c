/* SPDX-License-Identifier: BSD-3-Clause */
/* themis rm: removes files, and directories with all below them. */
#include <stdio.h>
#include "tools/command.h"
#include "tools/sessions.h"

typedef struct removal {
    int recursive, force;
} removal_t;

typedef struct removal_entries {
    themis_t *session;
    const char *directory;
    int result;
} removal_entries_t;

static int tree_remove(themis_t *session, const char *path);

static int entry_remove(void *arg, const char *name, themis_type_t type)
{
    removal_entries_t *entries = arg;
    char path[8192];

    snprintf(path, sizeof path, "%s/%s", entries->directory, name);
    if (type == THEMIS_TYPE_DIRECTORY) {
        entries->result |= tree_remove(entries->session, path);
        return 0;
    }
    themis_status_t status = themis_unlink(entries->session, path);
    if (status != THEMIS_OK && status != THEMIS_NO_ENTRY) /* a name without attributes: rmdir removes it */
        entries->result |= themis_tools_error_last();
    return 0;
}

static int tree_remove(themis_t *session, const char *path)
{
    removal_entries_t entries = {session, path, THEMIS_TOOLS_OK};

    if (themis_readdir(session, path, entry_remove, &entries) != THEMIS_OK)
        return themis_tools_error_last();
    if (entries.result == THEMIS_TOOLS_OK && themis_rmdir(session, path) != THEMIS_OK)
        return themis_tools_error_last();
    return entries.result;
}

static int path_remove(void *arg, themis_t *session, const char *path)
{
    const removal_t *removal = arg;
    themis_status_t status = themis_unlink(session, path);

    if (status == THEMIS_OK || (status == THEMIS_NO_ENTRY && removal->force))
        return THEMIS_TOOLS_OK;
    if (status == THEMIS_IS_DIRECTORY && removal->recursive)
        return tree_remove(session, path);
    return themis_tools_error_last();
}

static int run_rm(int argc, char **argv)
{
    removal_t removal = {0};
    const themis_tools_option_t options[] = {
        {'r', "recursive", &removal.recursive, NULL}, {'f', "force", &removal.force, NULL}, {0}};

    return themis_tools_session_each_path(argc, argv, options, path_remove, &removal);
}

const themis_tools_command_t themis_tools_rm = {
    "rm",
    "[-r] [-f] PATH...",
    "Removes files, with -r directories and all below them.",
    "  -r   directories too, with all below them\n  -f   what does not exist is no error\n",
    run_rm,
    THEMIS_TOOLS_PATTERNS_ALL};
