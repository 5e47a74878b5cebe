/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers that `themis run --allocate` has for its command. Where the service does not give any, the command runs
 * without, after an error message. */
#pragma once
#include <stdint.h>

typedef struct themis_tools_run_allocation {
    int wanted;
    const char *nodes, *lease; /* as given, or NULL */
    const char *servers;       /* the list that is asked; NULL: as configured */
    uint64_t id;               /* 0: none */
    char *placement;           /* owned */
    uint64_t lease_s;          /* as the service has granted it */
    uint64_t renew_at;         /* ns, of the monotonic clock */
    int is_gone;               /* 1: the service has ended it */
    char application[256], job[256];
} themis_tools_run_allocation_t;

/* Does nothing unless it is wanted. Where THEMIS_ALLOCATION and THEMIS_PLACEMENT are set the command gets these, and
 * they remain another's. `servers` is borrowed until the release. */
void themis_tools_run_allocation_make(themis_tools_run_allocation_t *allocation, const char *servers,
                                      char *const *command);
/* In the child, or for it: sets THEMIS_PLACEMENT, THEMIS_ALLOCATION, and by what names the service knows the job. */
void themis_tools_run_allocation_export(const themis_tools_run_allocation_t *allocation);
/* Renews the lease once half of it is over, and after a failure again soon; to be called now and then. */
void themis_tools_run_allocation_renew(themis_tools_run_allocation_t *allocation);
void themis_tools_run_allocation_release(themis_tools_run_allocation_t *allocation);
