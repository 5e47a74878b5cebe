/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client may do: every check of rights is here. `who` is what identity.h decided. */
#ifndef THEMIS_SERVER_ACCESS_H
#define THEMIS_SERVER_ACCESS_H
#include "proto/proto.h"
#include "sched/job_table.h"
#include "themis/status.h"

enum { THEMIS_SERVER_ACCESS_EXECUTE = 1, THEMIS_SERVER_ACCESS_WRITE = 2, THEMIS_SERVER_ACCESS_READ = 4 };

/* May `who` do all of `want` (THEMIS_SERVER_ACCESS_*) with a name of these attributes? As in POSIX:
 * the owner's bits for the owner, the group's for its group, else the others'; uid 0 may. THEMIS_ACCESS: no. */
themis_status_t themis_server_access_attr(const themis_sched_job_identity_t *who, const themis_proto_attr_t *attr,
                                          int want);

/* May `who` change mode, owner or times of it? The owner and uid 0 may. */
themis_status_t themis_server_access_owner(const themis_sched_job_identity_t *who, const themis_proto_attr_t *attr);

/*
 * May `who` do `want` with the bytes of an object? Everybody may: an id is known only to clients that could look its
 * name up. An id with rights, signed at LOOKUP, will be checked here.
 */
themis_status_t themis_server_access_object(const themis_sched_job_identity_t *who, uint64_t object, int want);

/* May `who` change the policy or stop the server? The server's own user and uid 0 may. */
themis_status_t themis_server_access_admin(const themis_sched_job_identity_t *who);
#endif
