/* SPDX-License-Identifier: BSD-3-Clause */
/* What a session is to do: its servers and its job, from options, environment and configuration file, in that order. */
#ifndef THEMIS_CLIENT_SETTINGS_H
#define THEMIS_CLIENT_SETTINGS_H
#include <stdint.h>
#include "themis/themis.h"

typedef struct themis_client_server {
    char *host; /* owned */
    uint16_t port;
} themis_client_server_t;

typedef struct themis_client_settings {
    char *server_list; /* owned; "host:port,host:port" without blanks */
    themis_client_server_t *servers;
    uint32_t server_count;
    char *job; /* owned, up to 255 bytes */
    uint32_t nodes, priority;
    char *policy;     /* owned; "" for none */
    uint64_t timeout; /* ns */
} themis_client_settings_t;

/* On failure (THEMIS_CONFIG, THEMIS_NO_MEMORY) `settings` is empty and the error text says what is wrong. */
themis_status_t themis_client_settings_load(const themis_options_t *options, themis_client_settings_t *settings);
/* 1 if options, environment or a configuration file name servers, if it be wrongly, or there is a file that cannot be
 * read; 0 if nothing says where they are. */
int themis_client_settings_name_servers(const themis_options_t *options);
void themis_client_settings_free(themis_client_settings_t *settings);
#endif
