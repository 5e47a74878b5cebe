/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that cp copies at the same time, each by a thread. */
#pragma once
#include "tools/copy.h"

typedef struct themis_tools_copy_pool themis_tools_copy_pool_t;

/* copying->jobs threads; with one, files are copied by the caller. NULL after an error message. */
themis_tools_copy_pool_t *themis_tools_copy_pool_create(themis_tools_copying_t *copying);

/* Takes over both locations. Waits while all threads have something to do. */
void themis_tools_copy_pool_add(themis_tools_copy_pool_t *pool, themis_tools_location_t *from,
                                themis_tools_location_t *to, const themis_tools_location_info_t *attributes);

/* Waits for all, and frees the pool; returns the results, combined by or. */
int themis_tools_copy_pool_end(themis_tools_copy_pool_t *pool);
