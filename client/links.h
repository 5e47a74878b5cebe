/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symbolic links. Names are found by their whole path, so one that goes through a link is not found at its home; only
 * then it is looked for what it leads to. A relative target is one of the link's directory; one that begins with a
 * slash is a path of the name space. More than THEMIS_CLIENT_MAX_LINKS links of one path are THEMIS_LOOP.
 *
 * A session with `keeps_links` follows none: who walks paths itself, checking rights on the way as kernels do, must not
 * be led elsewhere by a link that has come in the place of a directory meanwhile.
 */
#pragma once
#include "client/path.h"
#include "client/session.h"
#include "proto/proto.h"

enum { THEMIS_CLIENT_MAX_LINKS = 40 };

/* Looks up what a normalised path is, and writes into it where that is: without links, but the name itself where
 * `follow` is 0. After THEMIS_NO_ENTRY it is where the name would be made, if its directory exists. */
themis_status_t themis_client_links_resolve(themis_t *session, char path[THEMIS_PATH_BYTES], int follow,
                                            themis_proto_attr_t *attr);

/* The same, asking for the name itself first, as it most often is. `rights` as of a lookup. */
themis_status_t themis_client_links_lookup(themis_t *session, char path[THEMIS_PATH_BYTES], uint32_t rights, int follow,
                                           themis_proto_attr_t *attr);

/* 1 if an operation on the normalised path that failed with *status may succeed with the one that it leads to, which
 * is written into it. Else it is why not. */
int themis_client_links_retry(themis_t *session, char path[THEMIS_PATH_BYTES], int follow, themis_status_t *status);
