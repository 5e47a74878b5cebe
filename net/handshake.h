/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How two processes that are strangers to each other agree on keys by TCP, and show who they are. Bytes in, bytes out:
 * sockets are the caller's. A handshake is a small struct without pointers to memory of its own, so a server can hold
 * many for peers of which it knows nothing, and forget them.
 *
 *   client                                          server
 *   HELLO       kinds, nonce, key, address  -->
 *                                           <--     HELLO    kind, nonce, key, number of the local socket
 *   CREDENTIAL  proof of the client         -->
 *                                           <--     PROOF    proof of the server
 *
 * Keys are of X25519, made for this connection. A proof is over the transcript, the SHA-256 of both HELLOs, and so
 * holds for this connection alone: for SECRET and SERVERS it is a HMAC, for MUNGE a credential of munged. Who stands
 * between the two has keys of his own, hence other transcripts. Messages have the shape of doc/wire.md.
 */
#pragma once
#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>
#include "net/auth.h"
#include "net/net.h"

enum {
    THEMIS_NET_HANDSHAKE_NONCE = 32,
    THEMIS_NET_HANDSHAKE_HASH = 32,
    THEMIS_NET_HANDSHAKE_IDENTITY = 16,
    THEMIS_NET_HANDSHAKE_BYTES = 800, /* of the longest message */
    THEMIS_NET_HANDSHAKE_WHY = 128
};

typedef enum themis_net_handshake_state {
    THEMIS_NET_HANDSHAKE_READS,  /* wants the rest of a message: themis_net_handshake_take */
    THEMIS_NET_HANDSHAKE_PROVES, /* client: has read HELLO, and themis_net_handshake_prove is due */
    THEMIS_NET_HANDSHAKE_CHECKS, /* has read the peer's proof, and themis_net_handshake_check is due */
    THEMIS_NET_HANDSHAKE_DONE,   /* the keys can be used once `out` is written */
    THEMIS_NET_HANDSHAKE_FAILED  /* the connection ends once `out` is written */
} themis_net_handshake_state_t;

/* Where the client wants the server, an IPv6 address or a mapped IPv4 one, and its port. */
typedef struct themis_net_handshake_address {
    uint8_t ip[16];
    uint16_t port;
} themis_net_handshake_address_t;

typedef struct themis_net_handshake {
    const themis_net_auth_t *auth; /* borrowed */
    int server;
    int expects; /* type of the message that is to come */
    themis_net_handshake_state_t state;
    themis_net_auth_kind_t kind; /* agreed on */
    themis_status_t status;      /* client: the server's in its HELLO; FAILED: why */
    char why[THEMIS_NET_HANDSHAKE_WHY];
    uint64_t cookie; /* number of the server's local socket; 0: none */
    themis_net_handshake_address_t address;
    uint8_t identity[THEMIS_NET_HANDSHAKE_IDENTITY]; /* of the server process: random */
    uint8_t private_key[32], peer_key[32];
    struct sha256_ctx hash;
    uint8_t transcript[THEMIS_NET_HANDSHAKE_HASH];
    themis_net_peer_credentials_t peer; /* DONE: not of NONE; of a client those of the server */
    uint8_t out[THEMIS_NET_HANDSHAKE_BYTES], in[THEMIS_NET_HANDSHAKE_BYTES];
    size_t out_length, have; /* bytes to write, which the caller does; bytes of `in` */
} themis_net_handshake_t;

/* Each direction's key, of 32 bytes. */
typedef struct themis_net_handshake_keys {
    uint8_t to_server[32], to_client[32];
} themis_net_handshake_keys_t;

/* A server's begins with nothing to write; `identity` and `cookie` are what it tells. A client's has its HELLO to
 * write. */
void themis_net_handshake_accept(themis_net_handshake_t *handshake, const themis_net_auth_t *auth,
                                 const uint8_t identity[THEMIS_NET_HANDSHAKE_IDENTITY], uint64_t cookie);
themis_status_t themis_net_handshake_start(themis_net_handshake_t *handshake, const themis_net_auth_t *auth,
                                           const themis_net_handshake_address_t *address);

/* READS: bytes that are wanted next, at in + have; never more than there is room. */
size_t themis_net_handshake_wanted(const themis_net_handshake_t *handshake);
/* `length` of them are there, not more than are wanted. */
void themis_net_handshake_take(themis_net_handshake_t *handshake, size_t length);
/* Both may ask munged, and wait. PROVES: makes the CREDENTIAL, for a peer on another host. CHECKS: believes the peer or
 * not; a server has a PROOF to write then. */
void themis_net_handshake_prove(themis_net_handshake_t *handshake);
void themis_net_handshake_check(themis_net_handshake_t *handshake);

/* DONE. THEMIS_PROTOCOL: the peer's key is none. */
themis_status_t themis_net_handshake_derive(const themis_net_handshake_t *handshake, themis_net_handshake_keys_t *keys);
/* Wipes what is secret. */
void themis_net_handshake_wipe(themis_net_handshake_t *handshake);
