/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sharing policy in force, and who may change it. The one that was set last counts, at all servers: they tell each
 * other theirs and when it was set (TABLE), and keep it in their databases. So it outlives a server, and one that was
 * away learns of it. A configuration whose policy has changed sets it, as a client does; as long as it is the same it
 * counts only where none was ever set. Policies with a plan of periodic I/O are neither kept nor taken from others,
 * since a plan is not.
 *
 * All functions with the lock, but for load and keep.
 */
#pragma once
#include "server/server.h"

/* Makes `policy` the scheduler's, and logs who asked for it. On failure nothing changes, and `error` (`size` bytes) is
 * as of themis_sched_set_policy. */
themis_status_t themis_server_policy_set(themis_server_t *server, const char *policy,
                                         const themis_sched_job_identity_t *who, char *error, size_t size);
/* The configuration, whose policy was `before`, was read again: sets its policy if that has changed there, and the
 * draw. As themis_server_policy_set; config.policy becomes the policy in force. */
themis_status_t themis_server_policy_reload(themis_server_t *server, const char *before, char *error, size_t size);
/* Server `index` has told its policy, and when that was set: it is put in force if that was later than here. */
void themis_server_policy_adopt(themis_server_t *server, const themis_proto_text_t *policy, uint64_t set_at,
                                uint32_t index);

/* At the start: puts in force what the database has, unless the configuration says something else than it did then. */
themis_status_t themis_server_policy_load(themis_server_t *server);
/* Writes a policy that was set to the database, if it is not there yet; may wait for the disk. To be called after what
 * may have set one. */
void themis_server_policy_keep(themis_server_t *server);

/* Puts a plan of periodic I/O in force (server/periodic_plan.h); `policy` (THEMIS_SCHED_POLICY_TEXT_BYTES) gets the
 * policy that it comes with. On failure nothing changes. */
themis_status_t themis_server_policy_set_plan(themis_server_t *server, const themis_proto_text_t *text,
                                              const themis_sched_job_identity_t *who, char *policy, char *error,
                                              size_t size);
/* Reads the configuration's plan again, if it has one; a wrong one is logged, and that before stays. */
void themis_server_policy_load_plan(themis_server_t *server);
/* A job's hint asks for a policy; the configuration's `policies` are those that a job may ask for. Returns 1 if it is
 * in force now, or none was asked for; `error` (`size` bytes) says what is wrong with a text that is no policy. */
int themis_server_policy_request(themis_server_t *server, const themis_proto_text_t *requested,
                                 const themis_sched_job_identity_t *who, char *error, size_t size);
