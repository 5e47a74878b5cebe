/* SPDX-License-Identifier: BSD-3-Clause */
/* What servers answer as JSON, and output as JSON. */
#pragma once
#include <jansson.h>
#include "themis/themis.h"

/* Asks one server (themis_query); the answer is owned by the caller. NULL: *error says why, borrowed. */
json_t *themis_tools_json_query(themis_t *session, uint32_t server, const char *question, const char **error);

/* A field of an object: 0 or "" if it is missing. The text is borrowed from the object. */
double themis_tools_json_number(const json_t *object, const char *name);
const char *themis_tools_json_text(const json_t *object, const char *name);

/* A file name as a string: what is not UTF-8 becomes U+FFFD. */
json_t *themis_tools_json_name(const char *name);

/* Writes it to standard output, indented, and releases it. */
void themis_tools_json_print(json_t *json);
