/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capabilities: what a client holds to access an object (themis_proto_capability_t). The home server of a name signs
 * one when it is looked up, created, changed or removed; every server of the list, which has the same key, checks it
 * with each request about the object, and need not know the name.
 *
 * A capability is signed by HMAC-SHA-256, cut to 128 bits, over object, rights, holder and expiry. It expires after the
 * lifetime of the configuration, so that rights that were taken away end; the client then looks the name up again. The
 * servers' clocks may differ by a sixteenth of the lifetime, at most 5 minutes.
 *
 * All functions may be called from any thread.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "proto/proto.h"
#include "themis/status.h"

typedef struct themis_server_capabilities themis_server_capabilities_t;

/* `key` (`length` bytes) is copied; length 0: nothing is checked. `lifetime` in ns, at least 1 ms. */
themis_status_t themis_server_capabilities_create(const void *key, size_t length, uint64_t lifetime,
                                                  themis_server_capabilities_t **capabilities);
void themis_server_capabilities_destroy(themis_server_capabilities_t *capabilities); /* NULL is allowed */
void themis_server_capabilities_set_lifetime(themis_server_capabilities_t *capabilities, uint64_t lifetime);

/* 0: there is no key. */
int themis_server_capabilities_are_checked(const themis_server_capabilities_t *capabilities);

/* Makes the capability of a reply's attributes, whose id and capability.rights are set, for user `uid`; no rights or no
 * id: none. Seals the attributes if RENAME is among the rights; without DESTROY it lasts a minute
 * then. */
void themis_server_capabilities_sign(const themis_server_capabilities_t *capabilities, uint32_t uid,
                                     themis_proto_attr_t *attr);

/*
 * Has `uid` been given all of `rights` to the object? THEMIS_ACCESS: no; the capability was not signed with this key,
 * is of another object or user, or gives too little. THEMIS_EXPIRED: yes, but it has expired. A capability that this
 * thread has checked not long ago costs no hash.
 */
themis_status_t themis_server_capabilities_check(themis_server_capabilities_t *capabilities, uint64_t object,
                                                 const themis_proto_capability_t *capability, uint32_t uid,
                                                 uint32_t rights);

/* Did a server give these attributes, with the right RENAME, to `uid`? Errors as above. */
themis_status_t themis_server_capabilities_check_seal(themis_server_capabilities_t *capabilities,
                                                      const themis_proto_attr_t *attr, uint32_t uid);
