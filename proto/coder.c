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
