/* SPDX-License-Identifier: BSD-3-Clause */
#include "preload/core/rights.h"
#include <stdlib.h>
#include <unistd.h>

/* Without memory a process is a member of its own group only. */
static int is_member(gid_t group, gid_t own)
{
    const int most = getgroups(0, NULL);
    gid_t *groups = most > 0 ? calloc((size_t)most, sizeof *groups) : NULL;
    const int count = groups ? getgroups(most, groups) : 0;
    int found = own == group;

    for (int i = 0; i < count && !found; i++)
        found = groups[i] == group;
    free(groups);
    return found;
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
