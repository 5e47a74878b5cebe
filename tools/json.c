/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/json.h"
#include <stdio.h>
#include <stdlib.h>

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
