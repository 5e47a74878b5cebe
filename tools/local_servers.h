/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers that run, start and agent launch on this machine: each a themisd, at a port that the kernel gave. */
#pragma once
#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>

enum { THEMIS_TOOLS_MAX_SERVERS = 64, THEMIS_TOOLS_KEY_BYTES = 32 };

typedef struct themis_tools_local_servers {
    int count;
    int first;                              /* number of the first in the list of all */
    pid_t pids[THEMIS_TOOLS_MAX_SERVERS];   /* 0: not started, or ended */
    int reserved[THEMIS_TOOLS_MAX_SERVERS]; /* descriptors that hold the ports until servers have them; or -1 */
    uint16_t ports[THEMIS_TOOLS_MAX_SERVERS];
    char list[THEMIS_TOOLS_MAX_SERVERS * (INET_ADDRSTRLEN + 7)]; /* "address:port,..." of these */
} themis_tools_local_servers_t;

/* The options of run and start; NULL where they are not given. All texts are borrowed. */
typedef struct themis_tools_local_servers_options {
    const char *number;     /* "N" or "N/node" */
    const char *size;       /* of each store; NULL: from the memory that is free */
    const char *policy;     /* NULL: the server's default */
    const char *settings;   /* "key=value,..." of themisd's configuration */
    const char *directory;  /* for their files; set before they are started */
    int keep;               /* 1: they outlive the tool, and write to log files in `directory` */
    const uint8_t *key;     /* that servers of several hosts share; NULL: made here where there are several */
    int count, per_node;    /* set by themis_tools_local_servers_check; per_node: 1 for "N/node" */
    int (*cancelled)(void); /* asked while they start; not 0: it is given up, without a message. May be NULL */
} themis_tools_local_servers_options_t;

/* Checks number and settings; THEMIS_TOOLS_USAGE after an error message. */
int themis_tools_local_servers_check(themis_tools_local_servers_options_t *options);

/* Starts checked servers on loopback and waits until each says at which port it serves. After an error message none
 * runs; THEMIS_TOOLS_USAGE: no server accepts such a configuration. */
int themis_tools_local_servers_start(const themis_tools_local_servers_options_t *options,
                                     themis_tools_local_servers_t *servers);

/* The same in two steps, where servers are to know those of other hosts: first their ports on an address of this host,
 * then, with the list of all servers and the number in it that the first of these has, their start. */
int themis_tools_local_servers_reserve(const themis_tools_local_servers_options_t *options, struct in_addr address,
                                       themis_tools_local_servers_t *servers);
int themis_tools_local_servers_launch(const themis_tools_local_servers_options_t *options, const char *list, int first,
                                      themis_tools_local_servers_t *servers);

/* To be told of each process that the caller has waited for. Returns the number of the server that this was, in the
 * list of all, or -1. */
int themis_tools_local_servers_ended(themis_tools_local_servers_t *servers, pid_t pid);
/* Tells the user that server `number`, of that host unless it is NULL, has ended with a status as waitpid gives it. */
void themis_tools_server_ended_tell(int number, const char *host, int status);

/* Sends SIGTERM, upon which they drain and end, and SIGKILL after 15 s, or when cancelled(), which may be NULL, is not
 * 0. */
void themis_tools_local_servers_stop(themis_tools_local_servers_t *servers, int (*cancelled)(void));
