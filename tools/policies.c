/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/policies.h"
#include <stdio.h>
#include <string.h>
#include "tools/command.h"
#include "tools/json.h"

void themis_tools_policies_add(themis_tools_policies_t *policies, const json_t *sharing)
{
    const char *policy = sharing ? themis_tools_json_text(sharing, "policy") : "";

    if (!*policy)
        return;
    if (!*policies->first)
        snprintf(policies->first, sizeof policies->first, "%s", policy);
    if (strncmp(policies->first, policy, sizeof policies->first - 1) != 0)
        policies->differ = 1;
}

void themis_tools_policies_tell(const themis_tools_policies_t *policies)
{
    if (policies->differ)
        themis_tools_note("the servers share by different policies; 'themis policy set POLICY' sets one on all");
}
