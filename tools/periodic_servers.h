/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of running jobs on the servers: put in force, and taken back. Anyone else may set a policy at any time, and
 * that counts: each server is asked directly before it is given something, and one that has another policy than
 * expected keeps it.
 */
#pragma once
#include "persched/follow.h"
#include "themis/themis.h"
#include "tools/plan_text.h"

typedef struct themis_tools_periodic_servers {
    themis_t *session; /* borrowed */
    uint32_t count;    /* of servers */
    /* Of what was set here; "": nothing is, or not any more. */
    char plan[THEMIS_TOOLS_PLAN_IDENTITY_BYTES], replaced[THEMIS_TOOLS_PLAN_IDENTITY_BYTES]; /* identities */
    char before[THEMIS_PERSCHED_FOLLOW_POLICY_BYTES];                                        /* the policy to restore */
} themis_tools_periodic_servers_t;

/* What a server shares by. */
typedef struct themis_tools_periodic_policy {
    char policy[THEMIS_PERSCHED_FOLLOW_POLICY_BYTES]; /* cut off where it is longer; "": the server does not answer */
    int ours;                                         /* 1: it follows a plan that was set here */
    double bandwidth;                                 /* store_bandwidth, bytes/s; 0: none */
} themis_tools_periodic_policy_t;

typedef enum themis_tools_periodic_outcome {
    THEMIS_TOOLS_PERIODIC_SET,     /* the plan is in force on all servers */
    THEMIS_TOOLS_PERIODIC_CHANGED, /* a server has another policy meanwhile, or does not answer */
    THEMIS_TOOLS_PERIODIC_REFUSED  /* a server did not take it */
} themis_tools_periodic_outcome_t;

/* Returns THEMIS_TOOLS_OK, or THEMIS_TOOLS_FAILED after an error message. */
int themis_tools_periodic_servers_get(const themis_tools_periodic_servers_t *servers, uint32_t server,
                                      themis_tools_periodic_policy_t *policy);

/*
 * Sets a plan (the text of themis_tools_plan_text, with its identity) in the place of the policy `before`, or of the
 * plan that is set already, if one is. Unless it is SET, errors have been printed, and some servers may have it: it is
 * then to be taken back. If it is CHANGED, found.policy is that of the server, and "" if it does not answer.
 */
themis_tools_periodic_outcome_t themis_tools_periodic_servers_plan(themis_tools_periodic_servers_t *servers,
                                                                   const char *text, const char *identity,
                                                                   const char *before,
                                                                   themis_tools_periodic_policy_t *found);

/* Gives the policy from before to the servers that have the plan still. Returns THEMIS_TOOLS_OK if no server has it,
 * and otherwise THEMIS_TOOLS_FAILED after error messages: it is then to be called again. */
int themis_tools_periodic_servers_restore(themis_tools_periodic_servers_t *servers);
