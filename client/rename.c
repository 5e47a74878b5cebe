/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Renaming. The new name of a file gets the object before the old name is removed, so its bytes are reachable all the
 * time; whether the old one may be removed is asked before anything changes. The server of the new name knows of the
 * rename from its first change on, so servers complete it, or take it back, if the client ends or fails. A directory is
 * moved entry by entry, since the names below it have other home servers under their new paths.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client/array.h"
#include "client/error.h"
#include "client/extra.h"
#include "client/links.h"
#include "client/namespace.h"
#include "client/path.h"

enum { MAX_ATTEMPTS = 3 };

static themis_status_t rename_any(themis_t *session, const char *from, const char *to);

/* The old name could not be removed, for the reason `status`. The servers may have been faster, or be more successful;
 * they free what was replaced as well then. */
static themis_status_t await_end(themis_t *session, const char *to, uint64_t rename, themis_status_t status)
{
    char cause[512];

    snprintf(cause, sizeof cause, "%s", themis_last_error());
    if (themis_client_namespace_rename_end(session, to, rename) == THEMIS_OK)
        return THEMIS_OK;
    return themis_client_fail(status == THEMIS_STALE ? THEMIS_NO_ENTRY : status, "%s", cause);
}

/* *attr: what the old name's home has given with the right to rename, which lasts for a short time; *old: as of
 * themis_client_namespace_adopt. */
static themis_status_t make_new_name(themis_t *session, const char *from, const char *to, themis_proto_attr_t *attr,
                                     themis_proto_attr_t *old)
{
    themis_status_t status = THEMIS_EXPIRED;
    themis_client_extra_t extra = {0};

    for (int i = 0; i < MAX_ATTEMPTS && status == THEMIS_EXPIRED; i++) {
        status = themis_client_namespace_lookup(session, from, THEMIS_PROTO_RIGHT_RENAME, attr);
        if (status == THEMIS_OK)
            status = themis_client_extra_of(session, from, attr, &extra);
        if (status == THEMIS_OK)
            status = themis_client_namespace_adopt(session, from, to, attr, &extra.extra, old);
        themis_client_extra_free(&extra);
    }
    return status;
}

static themis_status_t rename_file(themis_t *session, const char *from, const char *to)
{
    themis_proto_attr_t attr, old;
    themis_status_t status = make_new_name(session, from, to, &attr, &old);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_namespace_remove_renamed(session, from, to, &attr, old.generation);
    if (status != THEMIS_OK)
        return await_end(session, to, old.generation, status);
    return old.fresh || old.id == attr.id ? THEMIS_OK : themis_client_namespace_destroy(session, to, &old);
}

/* Names of a directory, read before it changes. */
typedef struct names {
    char **array;
    size_t count, capacity;
    int failed;
} names_t;

static int add_name(void *arg, const char *name, themis_type_t type)
{
    names_t *names = arg;

    names->failed = themis_client_array_reserve(&names->array, &names->capacity, names->count + 1,
                                                sizeof(*names->array)) != THEMIS_OK ||
                    !(names->array[names->count] = strdup(name));
    names->count += !names->failed;
    return names->failed;
}

static themis_status_t rename_below(themis_t *session, const char *from, const char *to, const char *name)
{
    char old_path[THEMIS_PATH_BYTES], new_path[THEMIS_PATH_BYTES];

    if (themis_client_path_join(from, name, old_path) != THEMIS_OK ||
        themis_client_path_join(to, name, new_path) != THEMIS_OK)
        return themis_client_fail(THEMIS_NAME_TOO_LONG, "%s/%s: the path would be too long", to, name);
    themis_status_t status = rename_any(session, old_path, new_path);
    return status == THEMIS_NO_ENTRY ? THEMIS_OK : status; /* an entry without a name */
}

/* The old directory could not be moved, for the reason `status`, which is returned. If it is there still, the new one
 * is removed, unless something has been moved into it. */
static themis_status_t undo_directory(themis_t *session, const char *from, const char *to, themis_status_t status)
{
    themis_proto_attr_t there;
    char cause[512];

    snprintf(cause, sizeof cause, "%s", themis_last_error());
    if (themis_client_namespace_lookup(session, from, 0, &there) == THEMIS_OK)
        themis_rmdir(session, to);
    return themis_client_fail(status, "%s", cause);
}

/* Makes the new directory, which gets what the old one has. Only root may give it another user's owner. */
static themis_status_t make_directory(themis_t *session, const char *from, const char *to,
                                      const themis_proto_attr_t *attr)
{
    const uint32_t flags = THEMIS_PROTO_CREATE_EXCLUSIVE | THEMIS_PROTO_CREATE_GROUP;
    themis_client_extra_t extra;
    themis_proto_attr_t made;
    themis_status_t status = themis_client_extra_of(session, from, attr, &extra);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_namespace_create_extra(session, to, flags, attr, &extra.extra, &made);
    themis_client_extra_free(&extra);
    if (status == THEMIS_OK && made.uid != attr->uid)
        themis_client_namespace_set_owner(session, to, attr->uid, attr->gid);
    return status;
}

/* `replaces`: there is a directory of the new name; as in POSIX, an empty one is replaced. */
static themis_status_t rename_directory(themis_t *session, const char *from, const char *to,
                                        const themis_proto_attr_t *attr, int replaces)
{
    names_t names = {0};
    int made = 0;
    themis_status_t status = themis_readdir(session, from, add_name, &names);

    if (status == THEMIS_OK && names.failed)
        status = themis_client_fail(THEMIS_NO_MEMORY, "%s: out of memory for its names", from);
    if (status == THEMIS_OK && replaces)
        status = themis_rmdir(session, to);
    if (status == THEMIS_OK)
        made = (status = make_directory(session, from, to, attr)) == THEMIS_OK;
    for (size_t i = 0; i < names.count; i++) {
        if (status == THEMIS_OK)
            status = rename_below(session, from, to, names.array[i]);
        free(names.array[i]);
    }
    free(names.array);
    if (status == THEMIS_OK)
        status = themis_rmdir(session, from);
    return status != THEMIS_OK && made && !replaces ? undo_directory(session, from, to, status) : status;
}

static themis_status_t rename_any(themis_t *session, const char *from, const char *to)
{
    themis_proto_attr_t attr, there;
    themis_status_t status = themis_client_namespace_lookup(session, from, 0, &attr);

    if (status != THEMIS_OK || strcmp(from, to) == 0)
        return status;
    status = themis_client_namespace_lookup(session, to, 0, &there);
    if (status != THEMIS_OK && status != THEMIS_NO_ENTRY)
        return status;
    int replaces = status == THEMIS_OK;
    if (replaces && there.type == THEMIS_PROTO_DIRECTORY && attr.type != THEMIS_PROTO_DIRECTORY)
        return themis_client_fail(THEMIS_IS_DIRECTORY, "%s: %s", to, themis_status_string(THEMIS_IS_DIRECTORY));
    if (replaces && there.type != THEMIS_PROTO_DIRECTORY && attr.type == THEMIS_PROTO_DIRECTORY)
        return themis_client_fail(THEMIS_NOT_DIRECTORY, "%s: %s", to, themis_status_string(THEMIS_NOT_DIRECTORY));
    status = themis_client_namespace_check_change(session, from, attr.type);
    if (status != THEMIS_OK)
        return status;
    if (attr.type != THEMIS_PROTO_DIRECTORY)
        return rename_file(session, from, to);
    return rename_directory(session, from, to, &attr, replaces);
}

static themis_status_t rename_checked(themis_t *session, const char *from, const char *to)
{
    if (strcmp(from, to) != 0 && themis_client_path_is_below(to, from))
        return themis_client_fail(THEMIS_INVALID, "%s: cannot be moved below itself", from);
    return rename_any(session, from, to);
}

themis_status_t themis_rename(themis_t *session, const char *from, const char *to)
{
    char old_path[THEMIS_PATH_BYTES], new_path[THEMIS_PATH_BYTES];
    themis_status_t status = themis_path_normalise(from, old_path);

    if (status != THEMIS_OK || (status = themis_path_normalise(to, new_path)) != THEMIS_OK)
        return status;
    status = rename_checked(session, old_path, new_path);
    if (themis_client_links_retry(session, old_path, 0, &status))
        status = rename_checked(session, old_path, new_path);
    if (themis_client_links_retry(session, new_path, 0, &status))
        status = rename_checked(session, old_path, new_path);
    return status;
}
