/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The identity of a store: 16 random bytes, made when the store is, written as a UUID (RFC 9562, version 4). An arena
 * in memory has one for each process; a posix store and an arena in a directory keep their own in the STORE files of
 * their two directories (exclusive_use.h), which shows that names and objects belong together.
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"

enum { THEMIS_STORE_IDENTITY_TEXT = 37 };

typedef struct themis_store_identity {
    uint8_t bytes[16];
} themis_store_identity_t;

void themis_store_identity_make(themis_store_identity_t *identity);
/* Returns `text`. */
const char *themis_store_identity_text(const themis_store_identity_t *identity, char text[THEMIS_STORE_IDENTITY_TEXT]);
/* Returns 0, or -1 if the text is no UUID. What follows it is ignored. */
int themis_store_identity_parse(const char *text, themis_store_identity_t *identity);

/* That of the running kernel: bytes that were written and not synced are still there as long as it stays the same. */
void themis_store_identity_of_boot(themis_store_identity_t *boot);

/*
 * The identity of the store of server `index` that has objects in a directory, of the type "posix" or "arena", from its
 * directories of names and of objects: a new one if both are empty or do not exist, or if both are of a version without
 * identities. THEMIS_CONFIG: they do not belong together; nothing was changed, and the error is logged.
 */
themis_status_t themis_store_identity_of_directories(const char *type, const char *names, const char *objects,
                                                     uint32_t index, themis_store_identity_t *identity);
