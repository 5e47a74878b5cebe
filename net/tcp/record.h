/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records, in which all bytes of a connection travel once both sides have keys: 8 bytes of length, the bytes, and a tag
 * of 8 bytes. The tag is UMAC-64 (RFC 4418) by the direction's key over all before it, with the record's number as
 * nonce: so one that was changed, left out, repeated or moved is found before any of its bytes is used. Who guesses
 * tags has one try in 2^60 for each connection.
 */
#pragma once
#include <nettle/umac.h>
#include <stddef.h>
#include <stdint.h>

enum {
    THEMIS_NET_RECORD_HEAD = 8,
    THEMIS_NET_RECORD_TAG = UMAC64_DIGEST_SIZE,
    THEMIS_NET_RECORD_BYTES = 64 << 10, /* at most */
    THEMIS_NET_RECORD_MAX = THEMIS_NET_RECORD_HEAD + THEMIS_NET_RECORD_BYTES + THEMIS_NET_RECORD_TAG
};

/* One direction of a connection; its nonce counts the records. */
typedef struct themis_net_record_key {
    struct umac64_ctx mac;
} themis_net_record_key_t;

void themis_net_record_key_set(themis_net_record_key_t *key, const uint8_t bytes[32]);

/* Makes a record of the `length` bytes at record + THEMIS_NET_RECORD_HEAD; returns its length. */
size_t themis_net_record_seal(themis_net_record_key_t *key, uint8_t *record, size_t length);

/* Looks at `have` bytes. Returns 1 and the number of bytes at record + THEMIS_NET_RECORD_HEAD if there is a whole
 * record that the peer has sealed; 0 if more has to come; -1 if there cannot be one. */
int themis_net_record_open(themis_net_record_key_t *key, const uint8_t *record, size_t have, size_t *length);
