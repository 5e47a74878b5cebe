/* SPDX-License-Identifier: BSD-3-Clause */
#include "persched/follow_servers.h"
#include <string.h>

themis_persched_follow_servers_t themis_persched_follow_servers_see(const themis_persched_follow_view_t *view,
                                                                    const char *policy, const char *before)
{
    themis_persched_follow_servers_t seen = {.answer = 0};
    int differ = 0;

    for (uint32_t i = 0; i < view->servers; i++) {
        const themis_persched_follow_server_t *server = &view->server[i];

        if (!server->policy)
            continue;
        if (seen.answer++ == 0)
            seen.policy = server->policy;
        differ |= strcmp(seen.policy, server->policy) != 0;
        if (policy && server->ours && strcmp(server->policy, policy) == 0)
            seen.ours++;
        else if (before && strcmp(server->policy, before) != 0)
            seen.other = server->policy;
    }
    seen.policy = differ ? NULL : seen.policy;
    return seen;
}
