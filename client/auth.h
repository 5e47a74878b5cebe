/* SPDX-License-Identifier: BSD-3-Clause */
/* How a client and servers of other hosts show each other who they are: from environment and configuration file. */
#pragma once
#include "net/net.h"

/* What a file says, as text; "" where it says nothing. The environment counts first. */
typedef struct themis_client_auth_texts {
    char auth[16], transport[16], server_user[64];
    char secret[4096], munge_socket[THEMIS_NET_AUTH_SOCKET];
} themis_client_auth_texts_t;

/* Takes `key = value` of the section [client] if it is one of these. THEMIS_NO_ENTRY: it is not. THEMIS_CONFIG: given
 * before. THEMIS_RANGE: too long. */
themis_status_t themis_client_auth_take(themis_client_auth_texts_t *texts, const char *key, const char *value);

/* Fills in network and auth, whose secret is read here. THEMIS_CONFIG: the text of the error says why. */
themis_status_t themis_client_auth_load(const themis_client_auth_texts_t *texts, themis_net_network_t *network,
                                        themis_net_auth_t *auth);
