/* SPDX-License-Identifier: BSD-3-Clause */
/* themis mv: renames a file or directory, or moves it into a directory. */
#include <stdio.h>
#include "tools/command.h"
#include "tools/location.h"
#include "tools/sessions.h"

/* Into a directory the name stays. */
static int path_move(themis_t *session, const char *from, const char *to)
{
    char target[8192];
    themis_stat_t stat;
    size_t length = 0;
    const char *name = "";

    if (themis_stat(session, to, &stat) == THEMIS_OK && stat.type == THEMIS_TYPE_DIRECTORY) {
        name = themis_tools_location_name(from, &length);
        if (length == 0)
            return themis_tools_error("%s has no name to keep in %s", from, to);
    }
    if (snprintf(target, sizeof target, "%s%s%.*s", to, length ? "/" : "", (int)length, name) >= (int)sizeof target)
        return themis_tools_error("%s: the path is too long", to);
    return themis_rename(session, from, target) == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error_last();
}

static int run_mv(int argc, char **argv)
{
    const themis_tools_option_t options[] = {{0}};
    int at = themis_tools_options(argc, argv, options), same = 0;
    themis_t *from_session, *session;
    const char *from, *to;

    if (at < 0 || argc - at != 2)
        return themis_tools_usage();
    int result = themis_tools_session_resolve(argv[at], &from_session, &from);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_session_resolve(argv[at + 1], &session, &to);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_session_same_servers(from_session, session, &same);
    if (result != THEMIS_TOOLS_OK)
        return result;
    if (!same)
        return themis_tools_error("%s and %s are on different servers; use cp and rm", argv[at], argv[at + 1]);
    return path_move(session, from, to);
}

const themis_tools_command_t themis_tools_mv = {"mv", "FROM TO", "Renames a file or directory, or moves it into one.",
                                                NULL, run_mv};
