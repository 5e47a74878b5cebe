/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/xattrs.h"
#include <string.h>

static int is_user_name(const themis_proto_text_t *name)
{
    static const char space[] = "user.";

    return name->length > strlen(space) && memcmp(name->bytes, space, strlen(space)) == 0;
}

static int is_equal(const themis_proto_text_t *a, const themis_proto_text_t *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

themis_status_t themis_server_xattrs_check(const themis_proto_xattrs_t *xattrs)
{
    themis_proto_text_t name, value;
    uint32_t cursor = 0;

    while (themis_proto_xattrs_next(xattrs, &cursor, &name, &value))
        if (!is_user_name(&name))
            return THEMIS_UNSUPPORTED;
    return THEMIS_OK;
}

themis_status_t themis_server_xattrs_change(const themis_proto_xattrs_t *old, const themis_proto_setxattr_t *set,
                                            void *buffer, themis_proto_xattrs_t *xattrs)
{
    const int removes = (set->flags & THEMIS_PROTO_XATTR_REMOVE) != 0;
    themis_status_t status = THEMIS_OK;
    themis_proto_text_t name, value;
    uint32_t cursor = 0, count = 0;
    size_t used = 0;
    int found = 0;

    if (!is_user_name(&set->name))
        return THEMIS_UNSUPPORTED;
    while (status == THEMIS_OK && themis_proto_xattrs_next(old, &cursor, &name, &value)) {
        const int same = is_equal(&name, &set->name);
        found |= same;
        if (same && removes)
            continue;
        status = themis_proto_xattrs_add(buffer, THEMIS_PROTO_MAX_XATTRS, &used, &name, same ? &set->value : &value);
        count++;
    }
    if (found && set->flags & THEMIS_PROTO_XATTR_CREATE)
        return THEMIS_EXISTS;
    if (!found && set->flags & (THEMIS_PROTO_XATTR_REPLACE | THEMIS_PROTO_XATTR_REMOVE))
        return THEMIS_NO_DATA;
    if (status == THEMIS_OK && !found) {
        status = themis_proto_xattrs_add(buffer, THEMIS_PROTO_MAX_XATTRS, &used, &set->name, &set->value);
        count++;
    }
    if (status != THEMIS_OK)
        return THEMIS_NO_SPACE;
    *xattrs = (themis_proto_xattrs_t){count, buffer, (uint32_t)used};
    return THEMIS_OK;
}
