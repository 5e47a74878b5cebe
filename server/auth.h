/* SPDX-License-Identifier: BSD-3-Clause */
/* How a server and processes of other hosts show each other who they are, as the configuration says. */
#pragma once
#include "net/net.h"
#include "server/capability_key.h"
#include "server/server_config.h"

/* Which kind it is, also where the key `auth` is not set: SECRET where there is a secret, else MUNGE if this program
 * has it, else LOCAL. */
themis_net_auth_kind_t themis_server_auth_kind(const themis_server_config_t *config);

/* May the server listen with it? THEMIS_CONFIG: `error` says why not. Reads no secret. */
themis_status_t themis_server_auth_check(const themis_server_config_t *config, char *error, size_t size);

/* Fills in options.network and options.auth; reads the secret. `key`: that of capabilities, from which the one among
 * servers is derived. THEMIS_CONFIG: the secret cannot be read, which is logged. */
themis_status_t themis_server_auth_load(const themis_server_config_t *config, const themis_server_capability_key_t *key,
                                        themis_net_options_t *options);
