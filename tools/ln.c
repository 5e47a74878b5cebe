/* SPDX-License-Identifier: BSD-3-Clause */
/* themis ln: makes symbolic links. */
#include <stdio.h>
#include "tools/command.h"
#include "tools/location.h"
#include "tools/sessions.h"

typedef struct linking {
    int symbolic, force;
} linking_t;

/* Into a directory the name of the target is kept, as with ln(1). */
static int link_make(themis_t *session, const char *target, const char *path, int force)
{
    char below[8192];
    themis_stat_t stat;
    size_t length = 0;
    const char *name = "";

    if (themis_stat(session, path, &stat) == THEMIS_OK && stat.type == THEMIS_TYPE_DIRECTORY) {
        name = themis_tools_location_name(target, &length);
        if (length == 0)
            return themis_tools_error("%s has no name to keep in %s", target, path);
    }
    if (snprintf(below, sizeof below, "%s%s%.*s", path, length ? "/" : "", (int)length, name) >= (int)sizeof below)
        return themis_tools_error("%s: the path is too long", path);
    themis_status_t status = themis_symlink(session, target, below);
    if (status == THEMIS_EXISTS && force) {
        status = themis_unlink(session, below);
        if (status == THEMIS_OK)
            status = themis_symlink(session, target, below);
    }
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error_last();
}

static int run_ln(int argc, char **argv)
{
    linking_t linking = {0};
    const themis_tools_option_t options[] = {
        {'s', "symbolic", &linking.symbolic, NULL}, {'f', "force", &linking.force, NULL}, {0}};
    int at = themis_tools_options(argc, argv, options);
    themis_t *session;
    const char *path;

    if (at < 0 || argc - at != 2)
        return themis_tools_usage();
    if (!linking.symbolic)
        return themis_tools_misuse("servers have no hard links; -s makes symbolic ones");
    if (themis_tools_session_is_remote(argv[at]))
        return themis_tools_misuse("%s: the target is the text of the link, a path without themis:", argv[at]);
    int result = themis_tools_session_resolve(argv[at + 1], &session, &path);
    return result == THEMIS_TOOLS_OK ? link_make(session, argv[at], path, linking.force) : result;
}

const themis_tools_command_t themis_tools_ln = {
    "ln", "-s [-f] TARGET PATH", "Makes a symbolic link.",
    "  -s   symbolic; there are no others\n"
    "  -f   replaces a file of that name\n"
    "TARGET is a text such as ../data/x: a path from the directory of the link, or one that begins with a slash, from\n"
    "the root of the servers.\n",
    run_ln};
