/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the handle of a file knows of one of its servers: which store it has, so that a server that has been started
 * with another store, or on a machine that was restarted, is noticed before a call relies on what it has lost
 * (doc/architecture.md, "Data that are gone").
 *
 * All functions are called with the session's lock held.
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>
#include "client/peer.h"
#include "proto/proto.h"
#include "themis/status.h"

/* Does the file's first server know that this one may have an object of it? */
enum {
    THEMIS_CLIENT_LISTED_UNKNOWN,
    THEMIS_CLIENT_LISTED_ASKED, /* this server has refused to make an object before it does */
    THEMIS_CLIENT_LISTED
};

/* Atomic: what is read without the lock, too. */
typedef struct themis_client_binding {
    _Atomic uint64_t store;   /* hash of the identity of the store that the file was opened with; 0: not met yet */
    uint64_t boot;            /* of the machine then; 0: not met yet */
    _Atomic uint32_t exists;  /* 1: it is known that the object exists */
    _Atomic uint32_t dirty;   /* 1: the handle has changed the object since it was synced */
    _Atomic uint32_t changed; /* 1: it has changed the object */
    _Atomic uint32_t listed;  /* THEMIS_CLIENT_LISTED_* */
} themis_client_binding_t;

/* To the store that a ready peer has now, unless it is known to be another one. */
void themis_client_binding_set(themis_client_binding_t *binding, const themis_client_peer_t *peer);

/* May a request be sent to the ready peer? Sets a binding that is not set. THEMIS_LOST: the peer has another store, or
 * may have lost what a SYNC is to make durable; *cause may get the reason. */
themis_status_t themis_client_binding_check(themis_client_binding_t *binding, const themis_client_peer_t *peer,
                                            themis_proto_opcode_t opcode, const char **cause);

/* The flags of a request. */
uint32_t themis_client_binding_flags(const themis_client_binding_t *binding, themis_proto_opcode_t opcode);

/* What a reply tells of the object. */
void themis_client_binding_update(themis_client_binding_t *binding, const themis_proto_header_t *reply);
