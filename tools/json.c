/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *themis_tools_json_query(themis_t *session, uint32_t server, const char *question, const char **error)
{
    char *answer;

    if (themis_query(session, server, question, &answer) != THEMIS_OK) {
        *error = themis_last_error();
        return NULL;
    }
    json_t *json = json_loads(answer, 0, NULL);
    free(answer);
    *error = json ? NULL : "its answer is not JSON";
    return json;
}

double themis_tools_json_number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* Bytes of the character at `text`; 0 if it is none. */
static size_t character_bytes(const char *text)
{
    for (size_t bytes = 1; bytes <= 4 && text[bytes - 1]; bytes++) {
        json_t *json = json_stringn(text, bytes);
        json_decref(json);
        if (json)
            return bytes;
    }
    return 0;
}

json_t *themis_tools_json_name(const char *name)
{
    static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */
    json_t *json = json_string(name);
    char *text = json ? NULL : malloc(strlen(name) * (sizeof replacement - 1) + 1), *end = text;

    if (!text)
        return json;
    while (*name) {
        size_t bytes = character_bytes(name);
        memcpy(end, bytes ? name : replacement, bytes ? bytes : sizeof replacement - 1);
        end += bytes ? bytes : sizeof replacement - 1;
        name += bytes ? bytes : 1;
    }
    *end = '\0';
    json = json_string(text);
    free(text);
    return json;
}

const char *themis_tools_json_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

void themis_tools_json_print(json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(json);
}
