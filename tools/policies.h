/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether all servers share by one policy. */
#pragma once
#include <jansson.h>

typedef struct themis_tools_policies {
    char first[128]; /* policy of the first server; "" before it */
    int differ;
} themis_tools_policies_t;

/* The next server's: an object with "policy", or NULL where it does not answer. The first time *policies is zeroed. */
void themis_tools_policies_add(themis_tools_policies_t *policies, const json_t *sharing);

/* A note on standard error if they differ, and what to do. */
void themis_tools_policies_tell(const themis_tools_policies_t *policies);
