/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client may do: every check of rights is here; doc/security.md has the rules. `who` is what identity.h decided.
 * A check may ask for the groups of a user (groups.h), so it must not be made with a lock held that others need. */
#ifndef THEMIS_SERVER_ACCESS_H
#define THEMIS_SERVER_ACCESS_H
#include "proto/proto.h"
#include "sched/job_table.h"
#include "server/groups.h"
#include "themis/status.h"

enum { THEMIS_SERVER_ACCESS_EXECUTE = 1, THEMIS_SERVER_ACCESS_WRITE = 2, THEMIS_SERVER_ACCESS_READ = 4 };

/* May `who` do all of `want` (THEMIS_SERVER_ACCESS_*) with a name of these attributes? As in POSIX: the owner's bits
 * for the owner, the group's for its group (also a supplementary one), else the others'; uid 0 may. THEMIS_ACCESS: no.
 */
themis_status_t themis_server_access_attr(themis_server_groups_t *groups, const themis_sched_job_identity_t *who,
                                          const themis_proto_attr_t *attr, int want);

/* May `who` change mode, owner or times of it? The owner and uid 0 may. */
themis_status_t themis_server_access_owner(const themis_sched_job_identity_t *who, const themis_proto_attr_t *attr);

/* May `who` give a name to group `gid`? Its members and uid 0 may. */
themis_status_t themis_server_access_group(themis_server_groups_t *groups, const themis_sched_job_identity_t *who,
                                           uint32_t gid);

/* May `who` remove or replace a name of these attributes, as far as its directory allows it? The owner and uid 0 may,
 * and who may write it: he may empty it as well. `directory` (NULL: unknown) with the sticky bit: only the owners of
 * both. */
themis_status_t themis_server_access_remove(themis_server_groups_t *groups, const themis_sched_job_identity_t *who,
                                            const themis_proto_attr_t *attr, const themis_proto_attr_t *directory);

/* May `who` learn the id of a file's objects, by which its bytes are accessed? The owner may, and who may read or write
 * it. */
themis_status_t themis_server_access_id(themis_server_groups_t *groups, const themis_sched_job_identity_t *who,
                                        const themis_proto_attr_t *attr);

/*
 * May `who` do `want` with the bytes of an object? Everybody may: an id is known only to clients that could look its
 * name up, or guess it. An id with rights, signed at LOOKUP, will be checked here.
 */
themis_status_t themis_server_access_object(const themis_sched_job_identity_t *who, uint64_t object, int want);

/* May `who` change the policy or stop the server? The server's own user and uid 0 may. */
themis_status_t themis_server_access_admin(const themis_sched_job_identity_t *who);
#endif
