/* SPDX-License-Identifier: BSD-3-Clause */
/* themis chown: changes owner and group of files and directories. */
#include <limits.h>
#include "tools/command.h"
#include "tools/options.h"
#include "tools/owner.h"
#include "tools/walk.h"

typedef struct ids {
    uint32_t uid, gid; /* UINT32_MAX: stays */
} ids_t;

/* A directory after what is in it: its new owner may forbid to enter it. Links that are no operands stay as they are.
 */
static int owner_change(void *arg, const themis_tools_walked_t *walked, themis_tools_walk_event_t event)
{
    const ids_t *ids = arg;

    if (event == THEMIS_TOOLS_WALK_CONTENTS || (walked->stat.type == THEMIS_TYPE_SYMLINK && walked->depth > 0) ||
        (event == THEMIS_TOOLS_WALK_ENTRY && walked->stat.type == THEMIS_TYPE_DIRECTORY))
        return THEMIS_TOOLS_OK;
    return themis_chown(walked->session, walked->path, ids->uid, ids->gid) == THEMIS_OK ? THEMIS_TOOLS_OK
                                                                                        : themis_tools_error_last();
}

static int run_chown(int argc, char **argv)
{
    int recursive = 0;
    ids_t ids;
    const themis_tools_option_t options[] = {{'R', "recursive", &recursive, NULL}, {0}};
    int at = themis_tools_options(argc, argv, options);

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (argc - at < 2)
        return themis_tools_usage();
    int result = themis_tools_owner_parse(argv[at++], &ids.uid, &ids.gid);
    for (int valid = result == THEMIS_TOOLS_OK; valid && at < argc; at++)
        result |= themis_tools_walk(argv[at], recursive ? UINT_MAX : 0, owner_change, &ids);
    return result;
}

const themis_tools_command_t themis_tools_chown = {"chown",
                                                   "[-R] USER[:GROUP] PATH...",
                                                   "Changes owner and group, by name or number.",
                                                   "  -R   directories with all below them\n",
                                                   run_chown,
                                                   THEMIS_TOOLS_PATTERNS_ALL};
