/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials of munged. These functions ask it and wait for its answer: never with a lock held. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "themis/status.h"

enum { THEMIS_NET_MUNGE_MAX = 768, THEMIS_NET_MUNGE_LIFETIME = 60 /* seconds */ };

/*
 * A credential of this process for `length` bytes, as text with its terminator. `reader`: the only user who may read
 * it, or (uid_t)-1. THEMIS_ACCESS: munged does not answer, or this program was built without it; `why` (`size` bytes)
 * says so. THEMIS_RANGE: longer than THEMIS_NET_MUNGE_MAX.
 */
themis_status_t themis_net_munge_encode(const char *socket, const void *bytes, size_t length, uid_t reader,
                                        char credential[THEMIS_NET_MUNGE_MAX], char *why, size_t size);

/* Whose credential it is, if it is sound, for exactly these bytes, younger than THEMIS_NET_MUNGE_LIFETIME, and seen for
 * the first time on this host. Else THEMIS_ACCESS, and `why`. */
themis_status_t themis_net_munge_decode(const char *socket, const char *credential, const void *bytes, size_t length,
                                        uid_t *uid, gid_t *gid, char *why, size_t size);
