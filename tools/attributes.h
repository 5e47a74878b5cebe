/* SPDX-License-Identifier: BSD-3-Clause */
/* How ls and stat show the attributes of a file or directory. */
#pragma once
#include <jansson.h>
#include "themis/themis.h"

const char *themis_tools_attributes_type(themis_type_t type);

/* Local time; returns text, which has 32 bytes. */
const char *themis_tools_attributes_time(uint64_t ns, char *text);

/* Owned by the caller. */
json_t *themis_tools_attributes_json(const char *name, const themis_stat_t *stat);
