/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/error.h"
#include <stdarg.h>
#include <stdio.h>
#include "themis/themis.h"
#include "util/log.h"

enum { TEXT_BYTES = 1024 };

static _Thread_local char text[TEXT_BYTES];

themis_status_t themis_client_fail(themis_status_t status, const char *format, ...)
{
    char fresh[TEXT_BYTES]; /* an argument may be the old text */
    va_list list;

    va_start(list, format);
    int length = vsnprintf(fresh, sizeof fresh, format, list);
    va_end(list);
    if (length >= (int)sizeof fresh)
        length = sizeof fresh - 1;
    for (int i = 0; i <= length; i++)
        text[i] = fresh[i];
    themis_debug("%s", text);
    return status;
}

const char *themis_last_error(void)
{
    return text;
}
