/* SPDX-License-Identifier: BSD-3-Clause */
/* themis chmod: changes the modes of files and directories. */
#include <limits.h>
#include "tools/command.h"
#include "tools/creation_mode.h"
#include "tools/mode.h"
#include "tools/options.h"
#include "tools/walk.h"

static int mode_change(void *arg, const themis_tools_walked_t *walked, themis_tools_walk_event_t event)
{
    themis_stat_t stat = walked->stat;

    if (event != THEMIS_TOOLS_WALK_ENTRY || (stat.type == THEMIS_TYPE_SYMLINK && walked->depth > 0))
        return THEMIS_TOOLS_OK;
    if (stat.type == THEMIS_TYPE_SYMLINK && themis_stat(walked->session, walked->path, &stat) != THEMIS_OK)
        return themis_tools_error_last();
    int64_t mode = themis_tools_mode_apply(arg, stat.mode, stat.type == THEMIS_TYPE_DIRECTORY,
                                           0777 & ~themis_tools_creation_mode(0777));
    if (mode == (stat.mode & 07777))
        return THEMIS_TOOLS_OK;
    return themis_chmod(walked->session, walked->path, (uint32_t)mode) == THEMIS_OK ? THEMIS_TOOLS_OK
                                                                                    : themis_tools_error_last();
}

static int run_chmod(int argc, char **argv)
{
    int recursive = 0, result = THEMIS_TOOLS_OK;
    const themis_tools_option_t options[] = {{'R', "recursive", &recursive, NULL}, {0}};
    /* "-w" and the like are modes, not options */
    int at = argc > 1 && themis_tools_mode_apply(argv[1], 0, 0, 0) >= 0 ? 1 : themis_tools_options(argc, argv, options);

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (argc - at < 2)
        return themis_tools_usage();
    char *mode = argv[at];
    if (themis_tools_mode_apply(mode, 0, 0, 0) < 0)
        return themis_tools_misuse("%s is not a mode; write 0644 or u+rw,go-w", mode);
    for (at++; at < argc; at++)
        result |= themis_tools_walk(argv[at], recursive ? UINT_MAX : 0, mode_change, mode);
    return result;
}

const themis_tools_command_t themis_tools_chmod = {"chmod",
                                                   "[-R] MODE PATH...",
                                                   "Changes modes: 0644, or as in u+rwX,go-w.",
                                                   "  -R   directories with all below them\n",
                                                   run_chmod,
                                                   THEMIS_TOOLS_PATTERNS_ALL};
