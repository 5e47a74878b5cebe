/* SPDX-License-Identifier: BSD-3-Clause */
/* What runs now, for `themis allocate`: a JSON file with the running jobs and the anomalous servers (doc/dfra.md). */
#pragma once
#include <jansson.h>
#include "dfra/site.h"
#include "tools/allocate_history.h"

typedef struct themis_tools_allocate_state {
    themis_dfra_pool_t pool; /* of what follows */
    json_t *json;
    uint8_t *anomalous;
    themis_dfra_running_t *running;
    themis_dfra_application_t *known; /* [pool.jobs] */
} themis_tools_allocate_state_t;

/* Reads a file into zeros. Prints errors, with the file and where in it, and returns THEMIS_TOOLS_USAGE. */
int themis_tools_allocate_state_read(themis_tools_allocate_state_t *state, const themis_dfra_named_site_t *site,
                                     const themis_tools_allocate_history_t *history, const char *path);
void themis_tools_allocate_state_release(themis_tools_allocate_state_t *state);
