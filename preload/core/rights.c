/* SPDX-License-Identifier: BSD-3-Clause */
#include "preload/core/rights.h"
#include <unistd.h>

static int is_member(gid_t group, gid_t own)
{
    gid_t groups[256];
    const int count = getgroups(256, groups);

    for (int i = 0; i < count; i++)
        if (groups[i] == group)
            return 1;
    return own == group;
}

int themis_preload_may_access(const struct stat *stat, int mode, uid_t uid, gid_t gid)
{
    mode_t bits = stat->st_mode & 7;

    if (uid == 0)
        return !(mode & X_OK) || S_ISDIR(stat->st_mode) || stat->st_mode & 0111;
    if (stat->st_uid == uid)
        bits = stat->st_mode >> 6 & 7;
    else if (is_member(stat->st_gid, gid))
        bits = stat->st_mode >> 3 & 7;
    return ((mode_t)mode & ~bits & 7) == 0;
}
