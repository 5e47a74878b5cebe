/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of a session: its servers and its job, from options, environment and configuration file, in that order. */
#pragma once
#include <stdint.h>
#include "client/auth.h"
#include "client/placement.h"
#include "themis/themis.h"

typedef struct themis_client_server {
    char *host; /* owned */
    uint16_t port;
} themis_client_server_t;

typedef struct themis_client_settings {
    char *server_list;               /* owned; "host:port,host:port" without blanks */
    themis_client_server_t *servers; /* owned */
    uint32_t server_count;
    size_t server_capacity;
    char *job;                           /* owned, up to 255 bytes */
    char application[256], project[256]; /* UTF-8; project "" if unknown */
    uint32_t nodes, priority;
    char *policy;     /* owned; "" for none */
    uint64_t timeout; /* ns; how long calls wait for a server that this session has met */
    uint64_t meeting; /* ns; the same for others; not above `timeout` */
    uint64_t refusal; /* ns; the same where every server of the list refuses connections; not above `meeting` */
    themis_net_network_t network;
    themis_net_auth_t auth;              /* what servers of other hosts are shown, and have to show */
    int direct;                          /* as in themis_options_t, never 0 if THEMIS_DIRECT says more */
    themis_client_placement_t placement; /* owned; of new files */
} themis_client_settings_t;

/* On failure (THEMIS_CONFIG, THEMIS_NO_MEMORY) `settings` is empty and the text of the error says why. */
themis_status_t themis_client_settings_load(const themis_options_t *options, themis_client_settings_t *settings);
void themis_client_settings_free(themis_client_settings_t *settings);
