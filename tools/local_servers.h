/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers that run and start launch on this machine: each a themisd on loopback, at a port that the kernel gave. */
#ifndef THEMIS_TOOLS_LOCAL_SERVERS_H
#define THEMIS_TOOLS_LOCAL_SERVERS_H
#include <sys/types.h>

enum { THEMIS_TOOLS_MAX_SERVERS = 64 };

typedef struct themis_tools_local_servers {
    int count;
    pid_t pids[THEMIS_TOOLS_MAX_SERVERS];     /* 0: not started, or ended */
    char list[THEMIS_TOOLS_MAX_SERVERS * 24]; /* "127.0.0.1:port,..." */
} themis_tools_local_servers_t;

/* The options of run and start; NULL where they are not given. All texts are borrowed. */
typedef struct themis_tools_local_servers_options {
    const char *number;
    const char *size;       /* of each store; NULL: from the memory that is free */
    const char *policy;     /* NULL: the server's default */
    const char *settings;   /* "key=value,..." of themisd's configuration */
    const char *directory;  /* for their files; set before they are started */
    int keep;               /* 1: they outlive the tool, and write to log files in `directory` */
    int count;              /* set by themis_tools_local_servers_check */
    int (*cancelled)(void); /* asked while they start; not 0: it is given up, without a message. May be NULL */
} themis_tools_local_servers_options_t;

/* Checks number and settings; THEMIS_TOOLS_USAGE after an error message. */
int themis_tools_local_servers_check(themis_tools_local_servers_options_t *options);

/* Starts checked servers and waits until each says at which port it serves. After an error message none runs;
 * THEMIS_TOOLS_USAGE: no server accepts such a configuration. */
int themis_tools_local_servers_start(const themis_tools_local_servers_options_t *options,
                                     themis_tools_local_servers_t *servers);

/* To be told of each process that the caller has waited for: a server that has ended is noted, with a message. */
void themis_tools_local_servers_ended(themis_tools_local_servers_t *servers, pid_t pid, int status);

/* Sends SIGTERM, upon which they drain and end, and SIGKILL after 15 s, or when cancelled(), which may be NULL, is not
 * 0. */
void themis_tools_local_servers_stop(themis_tools_local_servers_t *servers, int (*cancelled)(void));
#endif
