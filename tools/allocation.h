/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers for a job, from the allocation service (doc/dfra.md). Functions that return an int print their errors. */
#pragma once
#include <jansson.h>
#include "themis/themis.h"

/* What is asked for; NULL and 0 for what is not given. */
typedef struct themis_tools_allocation_wish {
    const char *application;
    const char *nodes; /* "0-255,600"; or hosts, each of which stands for the number at the end of its name. NULL: the
                          hosts of the batch system's job, or this one */
    const char *job;   /* NULL: as programs that are started from here call theirs */
    const char *user;  /* name or number */
    const char *lease; /* a time */
    int once;          /* 1: what the job has already, if it has */
} themis_tools_allocation_wish_t;

/*
 * The servers of a list, as in themis_tools_session_get, are asked one after the other until one has the service.
 * *reply is the caller's. THEMIS_TOOLS_USAGE: a wish that is none.
 */
int themis_tools_allocation_make(const char *servers, const themis_tools_allocation_wish_t *wish, json_t **reply);
/* 0, or THEMIS_TOOLS_USAGE: these, either of which may be NULL, are no nodes or no lease. */
int themis_tools_allocation_check(const char *nodes, const char *lease);
/* `limit`, ns: servers that do not answer in that time are given up; 0: as in all sessions. */
int themis_tools_allocation_release(const char *servers, uint64_t id, uint64_t limit, json_t **reply);
/* All that the job has, also if that is nothing. `user` may be NULL: that of this process. */
int themis_tools_allocation_release_job(const char *servers, const char *job, const char *user, json_t **reply);
/* `lease` in s; 0: the service's own. The status is THEMIS_OK, or what is printed; THEMIS_NO_ENTRY: it has ended. */
themis_status_t themis_tools_allocation_renew(const char *servers, uint64_t id, uint64_t lease, uint64_t limit,
                                              json_t **reply);
/* *list: an array of all allocations of the user, for administrators of all; *anomalous: one of names of servers. Both
 * are the caller's. */
int themis_tools_allocation_list(const char *servers, json_t **list, json_t **anomalous);

/* "host:port,host:port" of a reply, for THEMIS_PLACEMENT; the caller's, or NULL: these are no names of servers. */
char *themis_tools_allocation_placement(const json_t *reply);
uint64_t themis_tools_allocation_id(const json_t *reply);
