/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/utf8.h"
#include <stdint.h>
#include <string.h>

/* Bytes of the character at `at`, 1 to 4; 0: none begins there. Overlong forms, surrogates and what lies above U+10FFFF
 * are none. */
static size_t character_bytes(const unsigned char *at, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *at < 0x80 ? 1 : *at < 0xC0 ? 0 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : *at < 0xF8 ? 4 : 0;
    uint32_t code = length < 2 ? *at : *at & (0x7F >> length);

    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3F);
    }
    return code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0 : length;
}

int themis_util_utf8_is_valid(const char *bytes, size_t length)
{
    for (size_t at = 0, more; at < length; at += more)
        if ((more = character_bytes((const unsigned char *)bytes + at, length - at)) == 0)
            return 0;
    return 1;
}

void themis_util_utf8_copy(const char *text, char *copy, size_t size)
{
    size_t left = strlen(text), used = 0;

    while (left > 0) {
        size_t bytes = character_bytes((const unsigned char *)text, left), step = bytes ? bytes : 1;
        int control = (unsigned char)*text < ' ' || *text == 0x7F;

        if (used + step >= size)
            break;
        if (bytes == 0 || control)
            copy[used] = '?';
        else
            memcpy(copy + used, text, bytes);
        used += step;
        text += step;
        left -= step;
    }
    copy[used] = '\0';
}
