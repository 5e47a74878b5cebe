/* SPDX-License-Identifier: BSD-3-Clause */
/* Users and groups of this host by name and number. Not for several threads at once. */
#pragma once
#include <stdint.h>

enum { THEMIS_TOOLS_OWNER_TEXT = 64 };

/* "USER", "USER:", "USER:GROUP" or ":GROUP", names or numbers; what is not given is UINT32_MAX, and "USER:" means the
 * user's group. Prints its errors. */
int themis_tools_owner_parse(const char *text, uint32_t *uid, uint32_t *gid);

/* The name, or where there is none the number, or where `numeric`. Both return `text`, of THEMIS_TOOLS_OWNER_TEXT
 * bytes. */
const char *themis_tools_owner_user(uint32_t uid, int numeric, char *text);
const char *themis_tools_owner_group(uint32_t gid, int numeric, char *text);
