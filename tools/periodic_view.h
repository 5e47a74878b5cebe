/* SPDX-License-Identifier: BSD-3-Clause */
/* What servers and their history say of the jobs that run, as decisions need it (persched/follow.h). */
#pragma once
#include "persched/follow.h"
#include "themis/themis.h"
#include "tools/history_read.h"
#include "tools/periodic_servers.h"

typedef struct themis_tools_periodic_view {
    themis_persched_follow_view_t view;
    /* Internal to the view. */
    themis_persched_follow_job_t *job;       /* owned */
    themis_tools_history_t history;          /* names of jobs are here */
    themis_persched_follow_server_t *server; /* owned */
    themis_tools_periodic_policy_t *policy;  /* [view.servers]; owned */
} themis_tools_periodic_view_t;

/* Whom to ask, borrowed. */
typedef struct themis_tools_periodic_source {
    const themis_tools_periodic_servers_t *servers;
    int lenient; /* 1: servers that do not answer are left out, and their number is told by the view */
    const themis_tools_texts_t *directories; /* as of themis_tools_history_read */
    double bandwidth, node_bandwidth;        /* bytes/s; 0: of the servers what they are configured with, of a node what
                                                jobs were seen to have */
    double since;                            /* s since 1970; phases of I/O before it do not count */
} themis_tools_periodic_source_t;

/* Looks at servers and history, into zeros. Of each user and job there is one entry. Prints errors and returns
 * THEMIS_TOOLS_FAILED or THEMIS_TOOLS_USAGE. */
int themis_tools_periodic_view_take(themis_tools_periodic_view_t *view, const themis_tools_periodic_source_t *source);
void themis_tools_periodic_view_release(themis_tools_periodic_view_t *view);
