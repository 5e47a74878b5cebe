/* SPDX-License-Identifier: BSD-3-Clause */
/* The servers of one `themis run`: on this machine, or on the hosts of its job. */
#pragma once
#include "tools/host_servers.h"
#include "tools/hosts.h"
#include "tools/local_servers.h"

typedef struct themis_tools_private_servers {
    themis_tools_local_servers_options_t options;
    const char *hosts_given, *launcher, *network; /* options of run; NULL where they are not given */
    themis_tools_hosts_t hosts;                   /* found by themis_tools_private_servers_check */
    int is_local;                                 /* 1: on loopback of this machine */
    themis_tools_host_servers_options_t host_options;
    themis_tools_local_servers_t local;
    themis_tools_host_servers_t *remote; /* NULL: none run on hosts */
} themis_tools_private_servers_t;

/* Finds the hosts and decides where servers are to be; prints what is wrong. */
int themis_tools_private_servers_check(themis_tools_private_servers_t *servers);
/* *list: their addresses; borrowed. Prints its errors. */
int themis_tools_private_servers_start(themis_tools_private_servers_t *servers, const char **list);
int themis_tools_private_servers_are_local(const themis_tools_private_servers_t *servers);
/* What the command shows those on hosts, as THEMIS_SECRET has it; NULL: the kernel identifies it. Borrowed. */
const char *themis_tools_private_servers_secret(const themis_tools_private_servers_t *servers);
/* One line that says that they are this command's own. */
void themis_tools_private_servers_tell(const themis_tools_private_servers_t *servers);
/* 1: the child is one of the servers, or how one was launched. */
int themis_tools_private_servers_own(const themis_tools_private_servers_t *servers, pid_t child);
/* To be told of each child that has been waited for, and every second. */
void themis_tools_private_servers_ended(themis_tools_private_servers_t *servers, pid_t child, int status);
void themis_tools_private_servers_look(themis_tools_private_servers_t *servers);
/* Ends them; what is still served is waited for unless cancelled(). */
void themis_tools_private_servers_stop(themis_tools_private_servers_t *servers, int (*cancelled)(void));
void themis_tools_private_servers_free(themis_tools_private_servers_t *servers);
