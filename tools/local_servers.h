/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers on this machine that a tool starts: each a themisd on loopback, on a port that was free. */
#ifndef THEMIS_TOOLS_LOCAL_SERVERS_H
#define THEMIS_TOOLS_LOCAL_SERVERS_H
#include <sys/types.h>
#include "tools/command.h"

enum { THEMIS_TOOLS_MAX_SERVERS = 64, THEMIS_TOOLS_MAX_SETTINGS = 32 };

typedef struct themis_tools_servers {
    int count;
    pid_t pids[THEMIS_TOOLS_MAX_SERVERS];     /* 0: not started, or ended */
    char list[THEMIS_TOOLS_MAX_SERVERS * 24]; /* "127.0.0.1:port,..." */
} themis_tools_servers_t;

typedef struct themis_tools_servers_options {
    int count;
    int keep;              /* 1: they outlive the tool, and write to log files in `directory` */
    const char *directory; /* what they store in files goes there */
    const char *size;      /* of each store; NULL: from the memory that is free */
    const char *policy;    /* NULL: the server's default */
    const char *settings[THEMIS_TOOLS_MAX_SETTINGS]; /* "key=value" of themisd's configuration; NULL at the end */
} themis_tools_servers_options_t;

/* "a=b,c=d" into options->settings; they point into `text`, which is changed. NULL: none. */
int themis_tools_servers_settings(const themis_tools_command_t *self, char *text,
                                  themis_tools_servers_options_t *options);

/* Starts them and waits until each answers. On failure, which is complained of, none runs; THEMIS_TOOLS_USAGE: no
 * server would take such a configuration. */
int themis_tools_servers_start(const themis_tools_command_t *self, const themis_tools_servers_options_t *options,
                               themis_tools_servers_t *servers);

/* Asks them to drain and end, and insists after 15 s. */
void themis_tools_servers_stop(themis_tools_servers_t *servers);
#endif
