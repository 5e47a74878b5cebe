/* SPDX-License-Identifier: BSD-3-Clause */
/* themis rm, mkdir, rmdir and mv. */
#include <stdio.h>
#include <string.h>
#include "tools/location.h"
#include "tools/command.h"

static const uint32_t directory_mode = 0755;

typedef struct removing {
    const themis_tools_command_t *self;
    themis_t *session;
    const char *directory;
    int result;
} removing_t;

static int remove_tree(const themis_tools_command_t *self, themis_t *session, const char *path);

static int remove_entry(void *arg, const char *name, themis_type_t type)
{
    removing_t *removing = arg;
    char path[8192];

    snprintf(path, sizeof path, "%s/%s", removing->directory, name);
    if (type == THEMIS_TYPE_DIRECTORY) {
        removing->result |= remove_tree(removing->self, removing->session, path);
        return 0;
    }
    themis_status_t status = themis_unlink(removing->session, path);
    if (status != THEMIS_OK && status != THEMIS_NO_ENTRY) /* no attributes: rmdir sweeps such a name */
        removing->result |= themis_tools_failed(removing->self);
    return 0;
}

static int remove_tree(const themis_tools_command_t *self, themis_t *session, const char *path)
{
    removing_t removing = {self, session, path, THEMIS_TOOLS_OK};

    if (themis_readdir(session, path, remove_entry, &removing) != THEMIS_OK)
        return themis_tools_failed(self);
    if (removing.result == THEMIS_TOOLS_OK && themis_rmdir(session, path) != THEMIS_OK)
        return themis_tools_failed(self);
    return removing.result;
}

static int remove_one(const themis_tools_command_t *self, const char *text, int recursive, int force)
{
    themis_t *session;
    const char *path;
    int result = themis_tools_resolve(self, text, &session, &path);

    if (result != THEMIS_TOOLS_OK)
        return result;
    themis_status_t status = themis_unlink(session, path);
    if (status == THEMIS_OK || (status == THEMIS_NO_ENTRY && force))
        return THEMIS_TOOLS_OK;
    if (status == THEMIS_IS_DIRECTORY && recursive)
        return remove_tree(self, session, path);
    return themis_tools_failed(self);
}

static int run_rm(const themis_tools_command_t *self, int argc, char **argv)
{
    int recursive = 0, force = 0, result = THEMIS_TOOLS_OK;
    const themis_tools_option_t options[] = {{'r', "recursive", &recursive, NULL}, {'f', "force", &force, NULL}, {0}};
    int at = themis_tools_options(self, argc, argv, options);

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (at == argc)
        return themis_tools_usage(self);
    for (; at < argc; at++)
        result |= remove_one(self, argv[at], recursive, force);
    return result;
}

const themis_tools_command_t themis_tools_rm = {
    "rm", "[-r] [-f] PATH...", "Removes files, with -r directories and all below them.",
    "  -r   directories too, with all below them\n  -f   what is not there is no error\n", run_rm};

/* --- directories -------------------------------------------------------------------------------------------------- */

static themis_status_t make_parents(themis_t *session, const char *path)
{
    char part[8192];

    for (size_t i = 1; path[i] && i < sizeof part; i++) {
        if (path[i] != '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        themis_status_t status = themis_mkdir(session, part, directory_mode);
        if (status != THEMIS_OK && status != THEMIS_EXISTS)
            return status;
    }
    return THEMIS_OK;
}

static int make_one(const themis_tools_command_t *self, const char *text, int parents)
{
    themis_t *session;
    const char *path;
    int result = themis_tools_resolve(self, text, &session, &path);

    if (result != THEMIS_TOOLS_OK)
        return result;
    themis_status_t status = parents ? make_parents(session, path) : THEMIS_OK;
    if (status == THEMIS_OK)
        status = themis_mkdir(session, path, directory_mode);
    if (status == THEMIS_OK || (status == THEMIS_EXISTS && parents))
        return THEMIS_TOOLS_OK;
    return themis_tools_failed(self);
}

static int run_mkdir(const themis_tools_command_t *self, int argc, char **argv)
{
    int parents = 0, result = THEMIS_TOOLS_OK;
    const themis_tools_option_t options[] = {{'p', "parents", &parents, NULL}, {0}};
    int at = themis_tools_options(self, argc, argv, options);

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (at == argc)
        return themis_tools_usage(self);
    for (; at < argc; at++)
        result |= make_one(self, argv[at], parents);
    return result;
}

const themis_tools_command_t themis_tools_mkdir = {"mkdir", "[-p] PATH...", "Makes directories.",
                                                   "  -p   with those above them; what is there already is no error\n",
                                                   run_mkdir};

static int run_rmdir(const themis_tools_command_t *self, int argc, char **argv)
{
    const themis_tools_option_t options[] = {{0}};
    int at = themis_tools_options(self, argc, argv, options), result = THEMIS_TOOLS_OK;
    themis_t *session;
    const char *path;

    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (at == argc)
        return themis_tools_usage(self);
    for (; at < argc; at++) {
        int failed = themis_tools_resolve(self, argv[at], &session, &path);
        if (!failed && themis_rmdir(session, path) != THEMIS_OK)
            failed = themis_tools_failed(self);
        result |= failed;
    }
    return result;
}

const themis_tools_command_t themis_tools_rmdir = {"rmdir", "PATH...", "Removes empty directories.", NULL, run_rmdir};

/* --- mv ----------------------------------------------------------------------------------------------------------- */

/* Into a directory the name stays. */
static int move(const themis_tools_command_t *self, themis_t *session, const char *from, const char *to)
{
    char target[8192];
    themis_stat_t stat;
    size_t length = 0;
    const char *name = "";

    if (themis_stat(session, to, &stat) == THEMIS_OK && stat.type == THEMIS_TYPE_DIRECTORY) {
        name = themis_tools_place_name(from, &length);
        if (length == 0)
            return themis_tools_complain(self, "%s has no name to keep in %s", from, to);
    }
    if (snprintf(target, sizeof target, "%s%s%.*s", to, length ? "/" : "", (int)length, name) >= (int)sizeof target)
        return themis_tools_complain(self, "%s: the path is too long", to);
    return themis_rename(session, from, target) == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_failed(self);
}

static int run_mv(const themis_tools_command_t *self, int argc, char **argv)
{
    const themis_tools_option_t options[] = {{0}};
    int at = themis_tools_options(self, argc, argv, options), same = 0;
    themis_t *from_session, *session;
    const char *from, *to;

    if (at < 0 || argc - at != 2)
        return themis_tools_usage(self);
    int result = themis_tools_resolve(self, argv[at], &from_session, &from);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_resolve(self, argv[at + 1], &session, &to);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_same_servers(self, from_session, session, &same);
    if (result != THEMIS_TOOLS_OK)
        return result;
    if (!same)
        return themis_tools_complain(self, "%s and %s are on different servers; use cp and rm", argv[at], argv[at + 1]);
    return move(self, session, from, to);
}

const themis_tools_command_t themis_tools_mv = {"mv", "FROM TO", "Renames a file or directory, or moves it into one.",
                                                NULL, run_mv};
