/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers of `themis run` on the hosts of its job: a `themis agent` on each, which a launcher starts. */
#pragma once
#include "tools/hosts.h"
#include "tools/local_servers.h"

enum { THEMIS_TOOLS_MAX_HOST_SERVERS = 256 };

typedef struct themis_tools_host_servers_options {
    const themis_tools_local_servers_options_t *servers; /* checked */
    const themis_tools_hosts_t *hosts;
    const char *launcher; /* NULL: that which fits */
    const char *network;  /* of the addresses, see tools/address.h; NULL: that of the hosts' names */
} themis_tools_host_servers_options_t;

typedef struct themis_tools_host_servers themis_tools_host_servers_t;

/*
 * Starts servers, spread evenly over the hosts, and waits until all can be reached from here. THEMIS_TOOLS_OK, or
 * another status after an error message; then none runs, and *servers is NULL. From here on SIGPIPE is ignored.
 */
int themis_tools_host_servers_start(const themis_tools_host_servers_options_t *options,
                                    themis_tools_host_servers_t **servers);

/* "address:port,..." in their order; borrowed. */
const char *themis_tools_host_servers_list(const themis_tools_host_servers_t *servers);
/* What clients show them, as THEMIS_SECRET has it; borrowed. */
const char *themis_tools_host_servers_secret(const themis_tools_host_servers_t *servers);
int themis_tools_host_servers_count(const themis_tools_host_servers_t *servers);
/* 1: the process is a launcher of these. */
int themis_tools_host_servers_own(const themis_tools_host_servers_t *servers, pid_t pid);
/* To be told of each process that the caller has waited for. */
void themis_tools_host_servers_ended(themis_tools_host_servers_t *servers, pid_t pid, int status);
/* To be called every second or so: tells the hosts that this process lives, and the user what has ended on them. */
void themis_tools_host_servers_look(themis_tools_host_servers_t *servers);
/* Asks all to end and waits for that up to 20 s, or until cancelled(), which may be NULL, is not 0. Takes NULL. */
void themis_tools_host_servers_stop(themis_tools_host_servers_t *servers, int (*cancelled)(void));
