/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/format.h"
#include <time.h>
#include <unistd.h>

/* With three digits and a unit; units[0] is none. */
static const char *value_format(double value, double base, const char *units, char *text)
{
    for (; value >= 999.5 && units[1] != '\0'; units++)
        value /= base;
    if (*units == ' ')
        snprintf(text, 8, "%.0f", value);
    else
        snprintf(text, 8, "%.*f%c", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, *units);
    return text;
}

const char *themis_tools_format_bytes(double bytes, char *text)
{
    return value_format(bytes, 1024, " KMGTPE", text);
}

const char *themis_tools_format_count(double count, char *text)
{
    return count < 99999.5 ? value_format(count, 1000, " ", text) : value_format(count, 1000, " kMGTPE", text);
}

/* Those of ASCII, and the first byte of U+0080 to U+009F, which some terminals obey as well. */
static int is_control(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;

    return byte[0] < ' ' || byte[0] == 127 || (byte[0] == 0xC2 && byte[1] >= 0x80 && byte[1] <= 0x9F);
}

const char *themis_tools_format_since(double seconds, char text[THEMIS_TOOLS_SINCE_BYTES])
{
    time_t since = seconds > 0 && seconds < 1e11 ? (time_t)seconds : 0;
    struct tm local;

    text[0] = '\0';
    if (since && localtime_r(&since, &local))
        strftime(text, THEMIS_TOOLS_SINCE_BYTES, " since %Y-%m-%d %H:%M:%S", &local);
    return text;
}

void themis_tools_format_name(const char *name, FILE *out)
{
    int terminal = isatty(fileno(out));

    for (; *name; name++)
        putc(terminal && is_control(name) ? '?' : *name, out);
}

void themis_tools_format_clean(char *text)
{
    for (; *text; text++)
        if (*text != '\n' && *text != '\t' && is_control(text))
            *text = '?';
}
