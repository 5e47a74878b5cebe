/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The key of capabilities: `key = FILE` of the configuration, or what a descriptor that the server was started with
 * has (--key-fd). `key = none` says that there is none, and capabilities are not checked. Where neither is given, a
 * server that is alone makes one at random and keeps it in the file KEY of its state directory, so that clients' files
 * stay open when it is restarted; without such a directory it is in memory.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "server/server_config.h"
#include "util/secret.h"

enum { THEMIS_SERVER_CAPABILITY_KEY_MIN = 32, THEMIS_SERVER_CAPABILITY_KEY_MAX = THEMIS_UTIL_SECRET_MAX };

typedef themis_util_secret_t themis_server_capability_key_t; /* length 0: `key = none` */

/* May a server of this configuration read the key of `key = FILE`? It has to be a file of the server's user or of root
 * that no other user may access, of at least THEMIS_SERVER_CAPABILITY_KEY_MIN bytes. THEMIS_CONFIG: no, and `why`
 * (`size` bytes) says what is wrong with it. */
themis_status_t themis_server_capability_key_read(const char *path, themis_server_capability_key_t *key, char *why,
                                                  size_t size);

/* Reads or makes the key; the state directory exists, and is locked. Errors are logged. The caller wipes the key. */
themis_status_t themis_server_capability_key_load(const themis_server_config_t *config,
                                                  themis_server_capability_key_t *key);
