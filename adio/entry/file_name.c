/* SPDX-License-Identifier: BSD-3-Clause */
#include "adio/entry/file_name.h"
#include <stddef.h>
#include <string.h>
#include "adio/entry/backend.h"
#include "util/config.h"
#include "util/log.h"

/* Nobody can make a directory there. */
static const char impossible[] = "ufs:/proc/themis:/not-served";

static int is_themis(const char *name)
{
    const char *forced = themis_util_config_env("ROMIO_FSTYPE_FORCE");

    return strncmp(forced ? forced : name, "themis:", 7) == 0;
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
    static int told;
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
