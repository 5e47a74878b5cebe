/* SPDX-License-Identifier: BSD-3-Clause */
/* What one rank reads or writes in a collective call. */
#pragma once
#include "util/runs.h"

/* Everything is borrowed until the call has ended. */
typedef struct themis_collective_access {
    themis_direction_t direction;
    const themis_util_runs_t *file;
    const themis_util_runs_t *memory; /* same number of bytes, offsets from base */
    void *base;
} themis_collective_access_t;
