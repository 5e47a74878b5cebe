/* SPDX-License-Identifier: BSD-3-Clause */
/* What servers share by, all together: whether a plan is in force on them, and who else has set something. Part of
 * follow.h. */
#pragma once
#include "persched/follow.h"

typedef struct themis_persched_follow_servers {
    uint32_t answer;    /* of the view's servers */
    uint32_t ours;      /* of these, those that follow the plan */
    const char *policy; /* of all that answer, borrowed from the view; NULL: they differ, or none does */
    const char *other;  /* of one that follows neither the plan nor `before`, borrowed as well; NULL: none does */
} themis_persched_follow_servers_t;

/* `policy` is that of the plan in force, `before` the one that stood before it; NULL, both: no plan is. */
themis_persched_follow_servers_t themis_persched_follow_servers_see(const themis_persched_follow_view_t *view,
                                                                    const char *policy, const char *before);
