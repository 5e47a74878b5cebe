/* SPDX-License-Identifier: BSD-3-Clause */
/* What an intent says (intents.h), as the bytes of its record in the database of names. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "proto/proto.h"
#include "themis/status.h"

typedef enum themis_server_intent_kind {
    THEMIS_SERVER_INTENT_REMOVAL = 1, /* a name has ended, or a file has got other bytes */
    THEMIS_SERVER_INTENT_RENAME = 2   /* a name was given to an object that has another one */
} themis_server_intent_kind_t;

typedef struct themis_server_intent {
    themis_server_intent_kind_t kind;
    themis_proto_text_t path;     /* the name that has ended, or the new one */
    themis_proto_text_t other;    /* the name that took its place, or empty; of a RENAME the old one */
    uint64_t ended;               /* generation of the name that ended, of a RENAME the one replaced; 0: none did */
    uint64_t destroyed;           /* object whose bytes are to be freed, 0: none */
    themis_proto_layout_t layout; /* of that object */
    uint64_t rename;              /* generation of the name that a rename has made, by which it is known; 0: none */
    /* RENAME: the object, generation of its old name, who renames, and the record of the name that is replaced
     * (name_record.h; no bytes: none was) */
    uint64_t object, old_generation;
    uint32_t uid, gid;
    int old_is_gone; /* RENAME: the old name is, so it cannot be taken back */
    const void *replaced;
    size_t replaced_length;
} themis_server_intent_t;

size_t themis_server_intent_record_bytes(const themis_server_intent_t *intent);
/* Writes that many bytes. */
void themis_server_intent_record_pack(const themis_server_intent_t *intent, void *bytes);
/* *intent borrows the bytes. THEMIS_CORRUPT: they are no record. */
themis_status_t themis_server_intent_record_unpack(const void *bytes, size_t length, themis_server_intent_t *intent);
