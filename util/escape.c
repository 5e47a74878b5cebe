/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/escape.h"

static int is_plain(char c)
{
    return c > ' ' && c < 0x7f && c != '%';
}

size_t themis_util_escape(const char *bytes, size_t length, char *word)
{
    static const char digits[] = "0123456789ABCDEF";
    char *to = word;

    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (is_plain(bytes[i])) {
            *to++ = bytes[i];
            continue;
        }
        *to++ = '%';
        *to++ = digits[byte >> 4];
        *to++ = digits[byte & 15];
    }
    return (size_t)(to - word);
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

size_t themis_util_escape_undo(const char *word, char *bytes)
{
    char *to = bytes;

    for (const char *at = word; *at; at++) {
        if (is_plain(*at)) {
            *to++ = *at;
            continue;
        }
        int high = *at == '%' ? digit_of(at[1]) : -1, low = high < 0 ? -1 : digit_of(at[2]);
        char byte = (char)(high << 4 | low);
        if (low < 0 || byte == 0 || is_plain(byte))
            return 0;
        *to++ = byte;
        at += 2;
    }
    return (size_t)(to - bytes);
}
