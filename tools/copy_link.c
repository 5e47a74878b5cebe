/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/copy.h"

static int target_read(const themis_tools_location_t *from, char target[THEMIS_PATH_BYTES])
{
    if (from->session)
        return themis_readlink(from->session, from->path, target) == THEMIS_OK ? THEMIS_TOOLS_OK
                                                                               : themis_tools_error_last();
    ssize_t length = readlink(from->path, target, THEMIS_PATH_BYTES - 1);
    if (length < 0)
        return themis_tools_error_errno(from->path);
    target[length] = '\0';
    return THEMIS_TOOLS_OK;
}

/* What has the name of the new link is replaced, unless it is a directory. */
static int old_remove(const themis_tools_location_t *to, const themis_tools_location_info_t *old)
{
    if (old->kind == THEMIS_TOOLS_DIRECTORY)
        return themis_tools_error("cannot overwrite directory '%s' with non-directory", to->text);
    if (to->session)
        return themis_unlink(to->session, to->path) == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error_last();
    return unlink(to->path) == 0 ? THEMIS_TOOLS_OK : themis_tools_error_errno(to->path);
}

int themis_tools_copy_link(const themis_tools_copying_t *copying, const themis_tools_location_t *from,
                           const themis_tools_location_t *to)
{
    char target[THEMIS_PATH_BYTES];
    themis_tools_location_info_t old;
    const int exists = themis_tools_location_look_link(to, &old) == THEMIS_OK;

    if (exists && (copying->keep_existing || copying->update))
        return THEMIS_TOOLS_OK;
    int result = target_read(from, target);
    if (result == THEMIS_TOOLS_OK && exists)
        result = old_remove(to, &old);
    if (result != THEMIS_TOOLS_OK)
        return result;
    if (to->session)
        return themis_symlink(to->session, target, to->path) == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error_last();
    return symlink(target, to->path) == 0 ? THEMIS_TOOLS_OK : themis_tools_error_errno(to->path);
}
