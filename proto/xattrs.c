/* SPDX-License-Identifier: BSD-3-Clause */
/* Extended attributes, one after the other: the name as a text, the length of the value u32, the value. */
#include <string.h>
#include "proto/list.h"

int themis_proto_is_xattr_name(const themis_proto_text_t *name)
{
    return name->length > 0 && name->length <= THEMIS_PROTO_MAX_NAME && memchr(name->bytes, 0, name->length) == NULL;
}

static void code_xattr(themis_proto_coder_t *coder, themis_proto_text_t *name, themis_proto_text_t *value)
{
    const void *bytes = value->bytes;
    uint32_t length = value->length;

    themis_proto_code_text(coder, name, 1, THEMIS_PROTO_MAX_NAME);
    themis_proto_check(coder, !coder->bad && themis_proto_is_xattr_name(name));
    themis_proto_code_u32(coder, &length);
    themis_proto_check(coder, !coder->bad && length <= THEMIS_PROTO_MAX_XATTR);
    if (coder->bad)
        return;
    themis_proto_code_borrowed(coder, &bytes, length);
    if (!coder->bad && coder->out == NULL)
        *value = (themis_proto_text_t){bytes, length};
}

themis_status_t themis_proto_xattrs_add(void *buffer, size_t capacity, size_t *used, const themis_proto_text_t *name,
                                        const themis_proto_text_t *value)
{
    themis_proto_coder_t coder = {.out = buffer, .length = capacity, .used = *used};
    themis_proto_text_t key = *name, content = *value;

    code_xattr(&coder, &key, &content);
    if (coder.bad)
        return THEMIS_RANGE;
    *used = coder.used;
    return THEMIS_OK;
}

int themis_proto_xattrs_next(const themis_proto_xattrs_t *xattrs, uint32_t *cursor, themis_proto_text_t *name,
                             themis_proto_text_t *value)
{
    themis_proto_coder_t coder = {.in = xattrs->bytes, .length = xattrs->length, .used = *cursor};
    themis_proto_text_t key = {NULL, 0}, content = {NULL, 0};

    if (*cursor >= xattrs->length)
        return 0;
    code_xattr(&coder, &key, &content);
    if (coder.bad)
        return 0;
    *cursor = (uint32_t)coder.used;
    *name = key;
    *value = content;
    return 1;
}

/* Reads them to see that they are sound, and that their number is as said. */
static int xattrs_are_sound(const themis_proto_xattrs_t *xattrs)
{
    themis_proto_text_t name, value;
    uint32_t cursor = 0, seen = 0;

    while (themis_proto_xattrs_next(xattrs, &cursor, &name, &value))
        seen++;
    return seen == xattrs->count && cursor == xattrs->length && cursor <= THEMIS_PROTO_MAX_XATTRS;
}

void themis_proto_code_xattrs(themis_proto_coder_t *coder, themis_proto_xattrs_t *xattrs)
{
    themis_proto_code_u32(coder, &xattrs->count);
    if (coder->bad)
        return;
    const void *bytes = xattrs->bytes;
    size_t rest = coder->out != NULL ? xattrs->length : coder->length - coder->used;

    themis_proto_code_borrowed(coder, &bytes, rest);
    if (coder->bad)
        return;
    themis_proto_xattrs_t found = {xattrs->count, bytes, (uint32_t)rest};
    themis_proto_check(coder, xattrs_are_sound(coder->out != NULL ? xattrs : &found));
    if (!coder->bad && coder->out == NULL)
        *xattrs = found;
}
