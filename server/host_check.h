/* SPDX-License-Identifier: BSD-3-Clause */
/* Does this host have what a configuration names: directories that this user may use, space, addresses? */
#pragma once
#include <stdio.h>
#include "server/server_config.h"

/*
 * `config` has been checked (themis_server_config_check). Writes a line about each directory to `out`, with its owner
 * and space, and one about each fault to `errors`. Returns how many faults there are. Changes nothing, and may be
 * called while a server with that configuration runs.
 */
int themis_server_host_check(const themis_server_config_t *config, FILE *out, FILE *errors);
