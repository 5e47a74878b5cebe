/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/links.h"
#include <stdio.h>
#include <string.h>
#include "client/convert.h"
#include "client/error.h"
#include "client/extra.h"
#include "client/namespace.h"

/* One path on its way, with those that its links lead to. */
typedef struct walk {
    themis_t *session;
    unsigned links; /* followed so far */
} walk_t;

static themis_status_t resolve(walk_t *walk, char path[THEMIS_PATH_BYTES], int follow, themis_proto_attr_t *attr);

static int is_missing(themis_status_t status)
{
    return status == THEMIS_NO_ENTRY || status == THEMIS_NOT_DIRECTORY;
}

static themis_status_t fail(themis_status_t status, const char *path)
{
    return themis_client_fail(status, "%s: %s", path, themis_status_string(status));
}

/* The directory of a path; that of "/" is itself. */
static void go_up(char path[THEMIS_PATH_BYTES])
{
    char *slash = strrchr(path, '/');

    slash[slash == path] = '\0';
}

/* Appends one component. `known`: the path so far has no links; ".." of one that may have goes to the directory above
 * what it leads to. */
static themis_status_t component_append(walk_t *walk, char path[THEMIS_PATH_BYTES], const char *component, int *known)
{
    char longer[THEMIS_PATH_BYTES];
    themis_proto_attr_t attr;

    if (!*component || strcmp(component, ".") == 0)
        return THEMIS_OK;
    if (strcmp(component, "..") != 0) {
        *known = 0;
        if (themis_client_path_join(path, component, longer) != THEMIS_OK)
            return fail(THEMIS_NAME_TOO_LONG, path);
        strcpy(path, longer);
        return THEMIS_OK;
    }
    themis_status_t status = *known ? THEMIS_OK : resolve(walk, path, 1, &attr);
    if (status == THEMIS_OK && !*known && attr.type != THEMIS_PROTO_DIRECTORY)
        status = fail(THEMIS_NOT_DIRECTORY, path);
    *known = 1;
    if (status == THEMIS_OK)
        go_up(path);
    return status;
}

/* Appends a target, and then what followed the link. */
static themis_status_t text_append(walk_t *walk, char path[THEMIS_PATH_BYTES], char *text, int *known)
{
    themis_status_t status = THEMIS_OK;
    char *rest = text, *component;

    while (status == THEMIS_OK && (component = strsep(&rest, "/")))
        status = component_append(walk, path, component, known);
    return status;
}

/* The target of a link; empty if there is none any more. */
static themis_status_t target_get(themis_t *session, const char *path, char target[THEMIS_PROTO_MAX_TARGET + 1])
{
    themis_client_extra_t extra;
    themis_status_t status = themis_client_extra_get(session, path, 0, &extra);

    if (status != THEMIS_OK)
        return status;
    const themis_proto_text_t *text = &extra.extra.target;
    memcpy(target, text->bytes, text->length);
    target[text->length] = '\0';
    themis_client_extra_free(&extra);
    return THEMIS_OK;
}

/* The link at the first `length` bytes of the path, which has no others up to there. What is no link any more is left
 * as it is, to be looked up again. */
static themis_status_t link_follow(walk_t *walk, char path[THEMIS_PATH_BYTES], size_t length)
{
    char target[THEMIS_PROTO_MAX_TARGET + 1], rest[THEMIS_PATH_BYTES];
    int known = 1;

    if (++walk->links > THEMIS_CLIENT_MAX_LINKS)
        return fail(THEMIS_LOOP, path);
    strcpy(rest, path + length);
    path[length] = '\0';
    themis_status_t status = target_get(walk->session, path, target);
    if (status != THEMIS_OK)
        return status;
    if (target[0] == '\0') {
        strcpy(path + length, rest);
        return THEMIS_OK;
    }
    if (target[0] == '/')
        strcpy(path, "/");
    else
        go_up(path);
    status = text_append(walk, path, target, &known);
    return status == THEMIS_OK ? text_append(walk, path, rest, &known) : status;
}

/* The path is not there: the nearest one above it that is tells why. *length: of a link among them, else 0. */
static themis_status_t above_find(walk_t *walk, const char *path, size_t *length)
{
    themis_status_t status = THEMIS_NO_ENTRY;
    char above[THEMIS_PATH_BYTES];
    themis_proto_attr_t attr;

    *length = 0;
    for (strcpy(above, path); is_missing(status) && above[1];) {
        go_up(above);
        status = themis_client_namespace_lookup(walk->session, above, 0, &attr);
    }
    if (status != THEMIS_OK)
        return status;
    if (attr.type == THEMIS_PROTO_SYMLINK)
        *length = strlen(above);
    return attr.type == THEMIS_PROTO_FILE ? THEMIS_NOT_DIRECTORY : THEMIS_NO_ENTRY;
}

/* `status` and *attr are of a lookup of the path. */
static themis_status_t resolve_found(walk_t *walk, char path[THEMIS_PATH_BYTES], int follow, themis_status_t status,
                                     themis_proto_attr_t *attr)
{
    size_t length;

    for (;;) {
        if (status == THEMIS_OK && (attr->type != THEMIS_PROTO_SYMLINK || !follow))
            return THEMIS_OK;
        if (status == THEMIS_OK) {
            length = strlen(path);
        } else if (is_missing(status)) {
            status = above_find(walk, path, &length);
            if (length == 0)
                return is_missing(status) ? fail(status, path) : status;
        } else {
            return status;
        }
        status = link_follow(walk, path, length);
        if (status != THEMIS_OK)
            return status;
        status = themis_client_namespace_lookup(walk->session, path, 0, attr);
    }
}

static themis_status_t resolve(walk_t *walk, char path[THEMIS_PATH_BYTES], int follow, themis_proto_attr_t *attr)
{
    return resolve_found(walk, path, follow, themis_client_namespace_lookup(walk->session, path, 0, attr), attr);
}

themis_status_t themis_client_links_resolve(themis_t *session, char path[THEMIS_PATH_BYTES], int follow,
                                            themis_proto_attr_t *attr)
{
    walk_t walk = {.session = session};

    if (session->keeps_links)
        return themis_client_namespace_lookup(session, path, 0, attr);
    return resolve(&walk, path, follow, attr);
}

themis_status_t themis_client_links_lookup(themis_t *session, char path[THEMIS_PATH_BYTES], uint32_t rights, int follow,
                                           themis_proto_attr_t *attr)
{
    walk_t walk = {.session = session};
    themis_status_t status = themis_client_namespace_lookup(session, path, rights, attr);

    if (session->keeps_links ||
        (status == THEMIS_OK ? attr->type != THEMIS_PROTO_SYMLINK || !follow : !is_missing(status)))
        return status;
    status = resolve_found(&walk, path, follow, status, attr);
    return status == THEMIS_OK && rights ? themis_client_namespace_lookup(session, path, rights, attr) : status;
}

int themis_client_links_retry(themis_t *session, char path[THEMIS_PATH_BYTES], int follow, themis_status_t *status)
{
    char before[THEMIS_PATH_BYTES], cause[512];
    themis_proto_attr_t attr;

    if (session->keeps_links || !is_missing(*status))
        return 0;
    snprintf(cause, sizeof cause, "%s", themis_last_error());
    strcpy(before, path);
    themis_status_t found = themis_client_links_resolve(session, path, follow, &attr);
    if (strcmp(before, path) != 0 && (found == THEMIS_OK || is_missing(found)))
        return 1;
    if (found == THEMIS_LOOP)
        *status = found;
    else
        themis_client_fail(*status, "%s", cause);
    return 0;
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

themis_status_t themis_symlink(themis_t *session, const char *target, const char *path)
{
    char normal[THEMIS_PATH_BYTES];
    const themis_proto_attr_t wanted = {.type = THEMIS_PROTO_SYMLINK, .mode = 0777};
    const themis_proto_extra_t extra = {.target = themis_client_convert_text(target)};
    themis_proto_attr_t attr;
    themis_status_t status = themis_path_normalise(path, normal);

    if (status != THEMIS_OK)
        return status;
    if (extra.target.length == 0)
        return themis_client_fail(THEMIS_NO_ENTRY, "%s: a symbolic link without a target", normal);
    if (extra.target.length > THEMIS_PROTO_MAX_TARGET)
        return themis_client_fail(THEMIS_NAME_TOO_LONG, "%s: the target is too long", normal);
    status = themis_client_namespace_lookup(session, normal, 0, &attr);
    if (status == THEMIS_OK)
        return fail(THEMIS_EXISTS, normal);
    if (!is_missing(status))
        return status;
    do
        status =
            themis_client_namespace_create_extra(session, normal, THEMIS_PROTO_CREATE_EXCLUSIVE, &wanted, &extra, NULL);
    while (themis_client_links_retry(session, normal, 0, &status));
    return status;
}

themis_status_t themis_readlink(themis_t *session, const char *path, char target[THEMIS_PATH_BYTES])
{
    char normal[THEMIS_PATH_BYTES];
    char found[THEMIS_PROTO_MAX_TARGET + 1];
    themis_proto_attr_t attr;
    themis_status_t status = themis_path_normalise(path, normal);

    if (status == THEMIS_OK)
        status = themis_client_links_lookup(session, normal, 0, 0, &attr);
    if (status == THEMIS_OK)
        status = target_get(session, normal, found);
    if (status != THEMIS_OK)
        return status;
    if (found[0] == '\0')
        return themis_client_fail(THEMIS_INVALID, "%s: not a symbolic link", normal);
    strcpy(target, found);
    return THEMIS_OK;
}
