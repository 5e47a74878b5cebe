/* SPDX-License-Identifier: BSD-3-Clause */
/* `themis allocate` with the allocation service. */
#pragma once
#include "tools/allocation.h"

typedef struct themis_tools_allocate_service {
    const char *servers; /* NULL: those configured */
    themis_tools_allocation_wish_t wish;
    const char *release, *renew; /* ids */
    const char *release_job;     /* a name */
    int list, json;
} themis_tools_allocate_service_t;

/* Does the one thing that is asked for, and prints what comes of it. */
int themis_tools_allocate_service_run(const themis_tools_allocate_service_t *asked);
