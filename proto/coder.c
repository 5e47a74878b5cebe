/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/coder.h"

void themis_proto_code_text(themis_proto_coder_t *coder, themis_proto_text_t *text, size_t min, size_t max)
{
    uint16_t length = (uint16_t)text->length;
    const void *bytes = text->bytes;

    themis_proto_check(coder, coder->out == NULL || text->length <= max);
    themis_proto_code_u16(coder, &length);
    themis_proto_check(coder, length >= min && length <= max);
    themis_proto_code_borrowed(coder, &bytes, length);
    if (coder->bad || coder->out != NULL)
        return;
    text->bytes = bytes;
    text->length = length;
}

int themis_proto_is_printable(const themis_proto_text_t *text)
{
    for (uint32_t i = 0; i < text->length; i++)
        if ((unsigned char)text->bytes[i] < ' ' || text->bytes[i] == 0x7f)
            return 0;
    return 1;
}

int themis_proto_is_name(const themis_proto_text_t *name)
{
    if (name->length == 0 || memchr(name->bytes, '/', name->length) != NULL ||
        memchr(name->bytes, '\0', name->length) != NULL)
        return 0;
    return !(name->bytes[0] == '.' && (name->length == 1 || (name->length == 2 && name->bytes[1] == '.')));
}

void themis_proto_code_type(themis_proto_coder_t *coder, themis_proto_type_t *type)
{
    uint8_t number = (uint8_t)*type;

    themis_proto_code_u8(coder, &number);
    themis_proto_check(coder, number >= THEMIS_PROTO_FILE && number <= THEMIS_PROTO_SYMLINK);
    if (!coder->bad && coder->out == NULL)
        *type = (themis_proto_type_t)number;
}

/* 1 for an absolute path without empty, "." or ".." components; the server checks the length of components. */
static int is_path(const themis_proto_text_t *path)
{
    const char *at = path->bytes, *end = at + path->length;

    if (path->length == 0 || *at != '/')
        return 0;
    if (path->length == 1)
        return 1;
    while (at < end) {
        const char *slash = memchr(at + 1, '/', (size_t)(end - at - 1));
        const char *stop = slash != NULL ? slash : end;
        themis_proto_text_t name = {at + 1, (uint32_t)(stop - at - 1)};
        if (!themis_proto_is_name(&name))
            return 0;
        at = stop;
    }
    return 1;
}

void themis_proto_code_path(themis_proto_coder_t *coder, themis_proto_text_t *path, int may_be_empty)
{
    themis_proto_code_text(coder, path, may_be_empty ? 0 : 1, THEMIS_PROTO_MAX_PATH);
    themis_proto_check(coder, !coder->bad && (path->length == 0 || is_path(path)));
}
