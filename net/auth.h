/* SPDX-License-Identifier: BSD-3-Clause */
/* How processes of different hosts show each other who they are, where the transport is TCP (doc/security.md). */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

/* As they travel. Whatever the kind, processes of one host use the local socket, and the kernel tells who they are. */
typedef enum themis_net_auth_kind {
    THEMIS_NET_AUTH_LOCAL,  /* nobody of another host */
    THEMIS_NET_AUTH_NONE,   /* a client is who it claims to be */
    THEMIS_NET_AUTH_SECRET, /* who knows the secret is the server's user */
    THEMIS_NET_AUTH_MUNGE,  /* munged says who it is */
    THEMIS_NET_AUTH_SERVERS /* among the servers of a list: who knows their key is one of them */
} themis_net_auth_kind_t;

enum { THEMIS_NET_AUTH_SECRET_MIN = 16, THEMIS_NET_AUTH_KEY = 32, THEMIS_NET_AUTH_SOCKET = 108 };

/* What a net demands of its peers and shows them. */
typedef struct themis_net_auth {
    themis_net_auth_kind_t kind; /* not SERVERS */
    int has_servers_key;         /* accepts SERVERS, too, and connects to others in this way only */
    uint8_t secret[THEMIS_NET_AUTH_KEY], servers_key[THEMIS_NET_AUTH_KEY];
    int has_server_user; /* MUNGE: a server may also belong to this user; else to root or the client's own */
    uint32_t server_user;
    char munge_socket[THEMIS_NET_AUTH_SOCKET]; /* "": munged's usual one */
} themis_net_auth_t;

/* Sets `secret`, or `servers_key`, from bytes of any length; the bytes are not kept. */
void themis_net_auth_set_secret(themis_net_auth_t *auth, const void *bytes, size_t length);
void themis_net_auth_set_servers_key(themis_net_auth_t *auth, const void *bytes, size_t length);

/* HMAC-SHA-256 (RFC 2104). */
void themis_net_auth_hmac(const void *key, size_t key_length, const void *bytes, size_t length,
                          uint8_t hash[THEMIS_NET_AUTH_KEY]);

/* Forgets both keys. */
void themis_net_auth_wipe(themis_net_auth_t *auth);

/* Can this program use MUNGE? It was built with it, or not. */
int themis_net_auth_has_munge(void);
/* The kind of that name; of "" the best there is: SECRET if there is one, else MUNGE if this program has it, else
 * LOCAL. THEMIS_CONFIG: "local", "none", "secret" or "munge" is wanted; *kind is then as of "". */
themis_status_t themis_net_auth_choose(const char *name, int has_secret, themis_net_auth_kind_t *kind);
/* "munge", "secret" ... */
const char *themis_net_auth_name(themis_net_auth_kind_t kind);
