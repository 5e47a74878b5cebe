/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/extra.h"
#include <stdlib.h>
#include <string.h>
#include "client/convert.h"
#include "client/error.h"
#include "client/links.h"
#include "client/namespace.h"

/* --- getting ------------------------------------------------------------------------------------------------------ */

/* Copies what the reply has, which is borrowed from the call. */
static themis_status_t extra_copy(const char *path, const themis_proto_extra_t *from, themis_client_extra_t *extra)
{
    const size_t target = from->target.length;
    char *memory = malloc(target + from->xattrs.length + 1);

    if (!memory)
        return themis_client_fail(THEMIS_NO_MEMORY, "%s: out of memory", path);
    if (target)
        memcpy(memory, from->target.bytes, target);
    if (from->xattrs.length)
        memcpy(memory + target, from->xattrs.bytes, from->xattrs.length);
    *extra =
        (themis_client_extra_t){.extra = {{memory, from->target.length},
                                          {from->xattrs.count, (const uint8_t *)memory + target, from->xattrs.length}},
                                .memory = memory};
    return THEMIS_OK;
}

themis_status_t themis_client_extra_get(themis_t *session, const char *path, uint32_t rights,
                                        themis_client_extra_t *extra)
{
    themis_proto_lookup_t request = {themis_client_convert_text(path), rights};
    themis_client_call_t *call;
    themis_proto_body_t reply;
    themis_status_t status =
        themis_client_call_get(&session->calls, themis_client_namespace_home(session, path), &call);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_call_do(call, THEMIS_OP_EXTRA, &request, path, &reply);
    if (status == THEMIS_OK)
        status = extra_copy(path, &reply.extra, extra);
    themis_client_call_put(call);
    return status;
}

themis_status_t themis_client_extra_of(themis_t *session, const char *path, const themis_proto_attr_t *attr,
                                       themis_client_extra_t *extra)
{
    *extra = (themis_client_extra_t){0};
    if (attr->target == 0 && attr->xattrs == 0)
        return THEMIS_OK;
    return themis_client_extra_get(session, path, attr->xattrs ? THEMIS_PROTO_RIGHT_READ : 0, extra);
}

void themis_client_extra_free(themis_client_extra_t *extra)
{
    free(extra->memory);
    *extra = (themis_client_extra_t){0};
}

/* --- extended attributes ------------------------------------------------------------------------------------------ */

/* The name that `path` leads to. */
static themis_status_t path_resolve(themis_t *session, const char *path, char resolved[THEMIS_PATH_BYTES],
                                    themis_proto_attr_t *attr)
{
    themis_status_t status = themis_path_normalise(path, resolved);

    return status == THEMIS_OK ? themis_client_links_lookup(session, resolved, 0, 1, attr) : status;
}

themis_status_t themis_xattr_list(themis_t *session, const char *path, themis_xattr_fn xattr, void *arg)
{
    char resolved[THEMIS_PATH_BYTES], name[THEMIS_PROTO_MAX_NAME + 1];
    themis_proto_text_t found, value;
    themis_client_extra_t extra;
    themis_proto_attr_t attr;
    uint32_t cursor = 0;
    themis_status_t status = path_resolve(session, path, resolved, &attr);

    if (status == THEMIS_OK)
        status = themis_client_extra_get(session, resolved, THEMIS_PROTO_RIGHT_READ, &extra);
    if (status != THEMIS_OK)
        return status;
    while (themis_proto_xattrs_next(&extra.extra.xattrs, &cursor, &found, &value)) {
        memcpy(name, found.bytes, found.length);
        name[found.length] = '\0';
        if (xattr(arg, name, value.bytes, value.length) != 0)
            break;
    }
    themis_client_extra_free(&extra);
    return THEMIS_OK;
}

typedef struct wanted {
    const char *name;
    void *value;
    size_t capacity, length;
    int found;
} wanted_t;

static int xattr_see(void *arg, const char *name, const void *value, size_t length)
{
    wanted_t *wanted = arg;

    if (strcmp(name, wanted->name) != 0)
        return 0;
    wanted->found = 1;
    wanted->length = length;
    if (length > 0 && length <= wanted->capacity)
        memcpy(wanted->value, value, length);
    return 1;
}

themis_status_t themis_xattr_get(themis_t *session, const char *path, const char *name, void *value, size_t capacity,
                                 size_t *length)
{
    wanted_t wanted = {.name = name, .value = value, .capacity = capacity};
    themis_status_t status = themis_xattr_list(session, path, xattr_see, &wanted);

    if (status != THEMIS_OK)
        return status;
    if (!wanted.found)
        return themis_client_fail(THEMIS_NO_DATA, "%s: %s: %s", path, name, themis_status_string(THEMIS_NO_DATA));
    *length = wanted.length;
    return capacity > 0 && wanted.length > capacity
               ? themis_client_fail(THEMIS_RANGE, "%s: %s: the value is longer", path, name)
               : THEMIS_OK;
}

static themis_status_t xattr_change(themis_t *session, const char *path, const themis_proto_setxattr_t *change)
{
    char resolved[THEMIS_PATH_BYTES];
    themis_proto_setxattr_t request = *change;
    themis_proto_attr_t attr;

    if (request.name.length == 0 || request.name.length > THEMIS_PROTO_MAX_NAME ||
        request.value.length > THEMIS_PROTO_MAX_XATTR)
        return themis_client_fail(THEMIS_RANGE, "%s: the name or the value of an extended attribute is too long", path);
    themis_status_t status = path_resolve(session, path, resolved, &attr);
    if (status != THEMIS_OK)
        return status;
    request.path = themis_client_convert_text(resolved);
    return themis_client_namespace_ask(session, resolved, THEMIS_OP_SETXATTR, &request, NULL);
}

themis_status_t themis_xattr_set(themis_t *session, const char *path, const char *name, const void *value,
                                 size_t length, int flags)
{
    const themis_proto_setxattr_t change = {.name = themis_client_convert_text(name),
                                            .flags = (flags & THEMIS_XATTR_CREATE ? THEMIS_PROTO_XATTR_CREATE : 0) |
                                                     (flags & THEMIS_XATTR_REPLACE ? THEMIS_PROTO_XATTR_REPLACE : 0),
                                            .value = {value, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length}};

    return xattr_change(session, path, &change);
}

themis_status_t themis_xattr_remove(themis_t *session, const char *path, const char *name)
{
    const themis_proto_setxattr_t change = {.name = themis_client_convert_text(name),
                                            .flags = THEMIS_PROTO_XATTR_REMOVE};

    return xattr_change(session, path, &change);
}

/* --- layouts ------------------------------------------------------------------------------------------------------ */

static themis_status_t directory_layout(themis_t *session, const char *path, const themis_proto_layout_t *layout)
{
    const themis_proto_setattr_t request = {
        .path = themis_client_convert_text(path), .mask = THEMIS_PROTO_SET_LAYOUT, .layout = *layout};

    return themis_client_namespace_ask(session, path, THEMIS_OP_SETATTR, &request, NULL);
}

/* The file gets new bytes of that layout. Whoever has it open has the old ones, which are destroyed. */
static themis_status_t file_layout(themis_t *session, const char *path, const themis_proto_attr_t *attr,
                                   const themis_proto_layout_t *layout)
{
    themis_stat_t stat;
    themis_status_t status = themis_client_namespace_stat(session, path, attr, NULL, &stat);

    if (status == THEMIS_OK && stat.lost)
        return themis_client_fail(THEMIS_LOST, "%s: %s", path, themis_status_string(THEMIS_LOST));
    if (status == THEMIS_OK && stat.size > 0)
        return themis_client_fail(THEMIS_BUSY, "%s: the layout of a file that is not empty cannot be changed", path);
    return status == THEMIS_OK ? themis_client_namespace_renew(session, path, attr->id, layout) : status;
}

themis_status_t themis_set_layout(themis_t *session, const char *path, const themis_layout_t *layout)
{
    const themis_proto_layout_t wanted = {layout->stripe_size, layout->count, layout->first};
    char resolved[THEMIS_PATH_BYTES];
    themis_proto_attr_t attr;
    themis_status_t status = path_resolve(session, path, resolved, &attr);

    if (status != THEMIS_OK)
        return status;
    if (wanted.stripe_size % 4096 || wanted.stripe_size > UINT64_C(1) << 32 ||
        wanted.count > THEMIS_PROTO_MAX_SERVERS ||
        (wanted.first >= THEMIS_PROTO_MAX_SERVERS && wanted.first != THEMIS_FIRST_ANY))
        return themis_client_fail(THEMIS_INVALID, "%s: not a layout: stripes are multiples of 4096 bytes up to 4 GiB",
                                  path);
    return attr.type == THEMIS_PROTO_DIRECTORY ? directory_layout(session, resolved, &wanted)
                                               : file_layout(session, resolved, &attr, &wanted);
}
