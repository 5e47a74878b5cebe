/* SPDX-License-Identifier: BSD-3-Clause */
/* The sharing policy in force, and who may change it. All functions with the lock. */
#pragma once
#include "server/server.h"

/* Makes `policy` the scheduler's, and logs who asked for it (NULL: the configuration). On failure nothing changes, and
 * `error` (`size` bytes) is as of themis_sched_set_policy. */
themis_status_t themis_server_policy_set(themis_server_t *server, const char *policy,
                                         const themis_sched_job_identity_t *who, char *error, size_t size);
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
