/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client may do: every check of rights is here; doc/security.md has the rules. `who` is what identity.h decided.
 * A check may ask for the groups of a user (groups.h), so it must not be made with a lock held that others need. */
#pragma once
#include "proto/proto.h"
#include "sched/job_table.h"
#include "server/capabilities.h"
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

/* The rights (THEMIS_PROTO_RIGHT_*) to a file's object that its attributes give to `who`. None: who does not own it,
 * and may neither read nor write it, may not learn its id either. DESTROY and RENAME are not among them. */
uint32_t themis_server_access_rights(themis_server_groups_t *groups, const themis_sched_job_identity_t *who,
                                     const themis_proto_attr_t *attr);

/*
 * May `who` do all of `rights` with an object? Whom the capability gives them, and uid 0 without one. What a name's
 * attributes are now does not matter: who has opened a file keeps its rights until the capability expires.
 * THEMIS_EXPIRED: it has.
 */
themis_status_t themis_server_access_object(themis_server_capabilities_t *capabilities,
                                            const themis_sched_job_identity_t *who, uint64_t object,
                                            const themis_proto_capability_t *capability, uint32_t rights);

/* Whose memory an object is to be in that a request of `who`, which is allowed, makes or maps: that of `who` if the
 * capability shows that he owns the file, else THEMIS_STORE_COMMON, which nobody maps. Without a key nothing shows it.
 */
uint32_t themis_server_access_memory(themis_server_capabilities_t *capabilities, const themis_sched_job_identity_t *who,
                                     uint64_t object, const themis_proto_capability_t *capability);

/* May `who` give another name to the file of these attributes, which a client brings? Its owner may, by the seal of a
 * server, and uid 0. */
themis_status_t themis_server_access_adopt(themis_server_capabilities_t *capabilities,
                                           const themis_sched_job_identity_t *who, const themis_proto_attr_t *attr);

/* May `who` change the policy or stop the server? The server's own user and uid 0 may. */
themis_status_t themis_server_access_admin(const themis_sched_job_identity_t *who);
