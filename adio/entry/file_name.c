/* SPDX-License-Identifier: BSD-3-Clause */
#include "adio/entry/file_name.h"
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "adio/entry/backend.h"
#include "util/config.h"
#include "util/log.h"
#include "util/mount_point.h"

/* Nobody can make a directory there. */
static const char impossible[] = "ufs:/proc/themis:/not-served";

static const char prefix[] = "themis:";

static int is_themis(const char *name)
{
    const char *forced = themis_util_config_env("ROMIO_FSTYPE_FORCE");

    return strncmp(forced ? forced : name, prefix, sizeof prefix - 1) == 0;
}

/* `name` with the prefix in front, if it is a plain name below the mount point. A relative one is, if the working
 * directory is, which the library of preload/ tells. */
static const char *plain_name(const char *name, char complete[PATH_MAX])
{
    char directory[PATH_MAX];

    if (themis_util_mount_point_below(name))
        return snprintf(complete, PATH_MAX, "%s%s", prefix, name) < PATH_MAX ? complete : name;
    if (*name == '/' || *name == '\0' || name[strcspn(name, ":/")] == ':' || !getcwd(directory, sizeof directory) ||
        !themis_util_mount_point_below(directory))
        return name;
    return snprintf(complete, PATH_MAX, "%s%s/%s", prefix, directory, name) < PATH_MAX ? complete : name;
}

static int is_first_rank(uintptr_t comm)
{
    int (*get_rank)(uintptr_t, int *) = NULL;
    int rank = 0;

    *(void **)&get_rank = themis_entry_backend_function(THEMIS_ENTRY_PROGRAM, "PMPI_Comm_rank", NULL);
    return !get_rank || get_rank(comm, &rank) != 0 || rank == 0;
}

const char *themis_entry_file_name(const char *name, const uintptr_t *comm)
{
    static __thread char complete[PATH_MAX];
    static int told;

    if (name && !is_themis(name))
        name = plain_name(name, complete);
    const char *refusal = name && is_themis(name) ? themis_entry_backend_refusal() : NULL;

    if (!refusal)
        return name;
    if ((!comm || is_first_rank(*comm)) && !__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
        themis_error("%.200s: %s", name, refusal);
    return impossible;
}

int themis_entry_file_name_is_themis(const char *name)
{
    return name && is_themis(name);
}
