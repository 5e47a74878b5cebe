/* SPDX-License-Identifier: BSD-3-Clause */
/* An open file: what was found when it was opened. Does not change but for its locks and its capability, which the
 * session's lock guards, what is known for direct access, and what is known of its servers. */
#pragma once
#include "client/held_locks.h"
#include "client/session.h"
#include "proto/proto.h"

struct themis_file {
    themis_t *session;
    char *path;               /* owned, normalised */
    int flags;                /* THEMIS_OPEN_* */
    themis_proto_attr_t attr; /* as found; modified: when it was created; capability: the present one (capability.h) */
    themis_layout_t layout;   /* complete: no defaults left */
    themis_client_direct_file_t direct;
    themis_client_binding_t *bindings; /* owned; by object index, and after them that of the path's home server */

    struct {
        uint64_t epoch;   /* that LOCK was granted with */
        uint64_t owner;   /* differs from handle to handle of a session */
        _Atomic int used; /* 1: there may be locks at the server */
        themis_client_held_locks_t held;
        uint64_t incarnation; /* of the session at the first server, when it granted them */
    } locks;
};

themis_status_t themis_client_file_create(themis_t *session, const char *path, int flags,
                                          const themis_proto_attr_t *attr, themis_file_t **file);
void themis_client_file_destroy(themis_file_t *file);

/* Meets the servers of the file, and binds the handle to those that it has met. THEMIS_LOST: the first one has another
 * store than when the file was made. */
themis_status_t themis_client_file_bind(themis_file_t *file);
/* THEMIS_LOST: a server that the handle has changed, or that is known now, has another store. Others are not waited for
 * longer than a second. */
themis_status_t themis_client_file_check(themis_file_t *file);
