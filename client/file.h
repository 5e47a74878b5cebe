/* SPDX-License-Identifier: BSD-3-Clause */
/* An open file: what was found out when it was opened. Does not change but for its locks, which the session's lock
 * guards. */
#ifndef THEMIS_CLIENT_FILE_H
#define THEMIS_CLIENT_FILE_H
#include "client/session.h"
#include "proto/proto.h"

struct themis_file {
    themis_t *session;
    char *path; /* owned, normalised */
    int flags;  /* THEMIS_OPEN_* */
    uint64_t object;
    uint32_t mode, uid, gid;
    uint64_t created;
    themis_layout_t layout; /* complete: no defaults left */
    uint64_t owner;         /* of its locks; differs from handle to handle of a session */
    _Atomic int locked;     /* 1: may hold locks */
    uint64_t locks;         /* themis_lock without their themis_unlock */
    uint64_t locked_under;  /* incarnation of the session at the first server that they belong to */
};

/* THEMIS_STALE, with a text: the file's locks were lost, since its first server restarted or the lease was over. As far
 * as we know: a server that we have not talked to since is not asked. */
themis_status_t themis_client_file_check_locks(themis_file_t *file);
#endif
