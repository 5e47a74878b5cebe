/* SPDX-License-Identifier: BSD-3-Clause */
/* An open file: what was found out when it was opened. Does not change but for its locks. */
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
};
#endif
