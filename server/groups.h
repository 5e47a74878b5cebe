/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The supplementary groups of users, as this host's user database has them (getgrouplist). Kept for a minute, for as
 * many users as CACHE says in groups.c.
 *
 * Threads: any; a question may wait for the user database, without holding up others.
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"

typedef struct themis_server_groups themis_server_groups_t;

themis_status_t themis_server_groups_create(themis_server_groups_t **groups);
void themis_server_groups_destroy(themis_server_groups_t *groups); /* NULL is allowed */

/* 1 if user `uid` is in group `gid`; 0 if not, or if this host does not know the user or its
 * user database does not answer, which is asked again by the next question. */
int themis_server_groups_has(themis_server_groups_t *groups, uint32_t uid, uint32_t gid);
