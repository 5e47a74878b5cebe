/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's configuration: one table of keys for the file and for the command line (doc/configuration.md).
 *
 * Options override the file, and the file overrides the defaults. Every error names file, line and key, or the option.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "net/auth.h"
#include "themis/status.h"

enum { THEMIS_SERVER_CONFIG_TEXT = 4096, THEMIS_SERVER_CONFIG_KEYS = 64 };

typedef struct themis_server_config {
    /* [server] */
    char name[256];                           /* of this server in messages; default host:port */
    char listen[256];                         /* host or address; empty: all */
    int64_t port;                             /* 0: any */
    char servers[THEMIS_SERVER_CONFIG_TEXT];  /* "host:port,host:port" of all servers, in the order that clients use */
    int64_t count;                            /* number of servers, where `servers` is not given */
    int64_t index;                            /* of this server among them; -1: found by its own address */
    char log_file[THEMIS_SERVER_CONFIG_TEXT]; /* empty: standard error */
    char state[THEMIS_SERVER_CONFIG_TEXT];    /* directory of the namespace; empty: in memory */
    int64_t workers;                          /* threads; 0: one for each core, at least 2 */
    char log[16];                             /* level */
    uint64_t drain;                           /* ns that queued requests have when the server stops */
    uint64_t lease;                           /* ns that locks and replies outlive their connection */
    uint64_t lock_wait;                       /* ns that a request may wait for a lock; 0: without end */
    uint64_t stall_limit;                     /* ns that a transfer may wait for its client */
    char key[THEMIS_SERVER_CONFIG_TEXT];      /* file with the key of capabilities; "none"; empty: made at random */
    uint64_t capability_lifetime;             /* ns */
    char auth[8];                             /* "local", "none", "secret" or "munge"; empty: the best there is */
    char secret[THEMIS_SERVER_CONFIG_TEXT];   /* file; empty: as the environment says */
    char munge_socket[THEMIS_NET_AUTH_SOCKET];
    char transport[4]; /* "tcp" or "ucx" */
    char insecure[4];  /* "yes" or "no" */
    /* [store] */
    char store[16];                            /* "arena" or "posix" */
    uint64_t size;                             /* bytes */
    char directory[THEMIS_SERVER_CONFIG_TEXT]; /* posix */
    char file[THEMIS_SERVER_CONFIG_TEXT];      /* arena: mapped file; empty: memory */
    uint64_t warm;                             /* bytes */
    char direct[16];                           /* "auto", "on" or "off" */
    /* [layout] */
    uint64_t stripe_size;
    int64_t stripe_count; /* 0: all */
    /* [sharing] */
    char policy[1025];
    char
        policies[THEMIS_SERVER_CONFIG_TEXT]; /* that a job may request: names separated by commas; "any"; empty: none */
    char plan[THEMIS_SERVER_CONFIG_TEXT];    /* file with a plan of periodic I/O; empty: none */
    char draw[16];
    uint64_t quantum, store_bandwidth;
    uint64_t lambda, heartbeat; /* ns */
    int64_t heartbeat_limit;
    char expired[16];                /* "drain" or "drop": requests of a job that is inactive */
    int64_t max_nodes, max_priority; /* up to which a client is believed */
    uint64_t gift_interval;
    int64_t tbf_rate;
    uint64_t node_bandwidth;
    /* [metrics] */
    char metrics_listen[256];
    int64_t metrics_port; /* 0: off */
    /* [history] */
    char history[THEMIS_SERVER_CONFIG_TEXT]; /* directory of the records of jobs; empty: none are kept */
    uint64_t history_interval;               /* ns between samples of a job */
    uint64_t history_update;                 /* ns between records of a job that runs */
    uint64_t history_keep;                   /* ns */
    uint64_t history_size;                   /* bytes */
    char history_public[4];                  /* "yes" or "no": may users read the records of others */
    /* [allocate] */
    char allocate[THEMIS_SERVER_CONFIG_TEXT];         /* file of the site; empty: this server allocates none */
    char allocate_history[THEMIS_SERVER_CONFIG_TEXT]; /* directories of records, by commas; empty: that of `history` */
    char allocate_by[8];                              /* "users" or "admins": who may allocate */
    uint64_t allocate_lease;                          /* ns, of an allocation that names none */
    int key_fd; /* open file that has the key, closed when it was read; -1: none. No key of the file */
    /* Where values come from, for messages: the file's path, and for each key (in the order of the table in
     * server_config.c) its line there; 0: a default, -1: an option. */
    char path[THEMIS_SERVER_CONFIG_TEXT];
    int line[THEMIS_SERVER_CONFIG_KEYS];
} themis_server_config_t;

void themis_server_config_init(themis_server_config_t *config);

/* Reads a file over what is there; on failure nothing changes and `error` (`size` bytes) gets the text. */
themis_status_t themis_server_config_read(themis_server_config_t *config, const char *path, char *error, size_t size);

/* Sets one key by its option's name ("store-bandwidth" or "store_bandwidth"); THEMIS_NO_ENTRY: there is none. */
themis_status_t themis_server_config_set(themis_server_config_t *config, const char *option, const char *value,
                                         char *error, size_t size);

/* Checks what single keys cannot show: policies, addresses, directories, keys that depend on each other, and an arena
 * that is larger than memory. Fills in `count` and `index` from `servers`. */
themis_status_t themis_server_config_check(themis_server_config_t *config, char *error, size_t size);

/* 1 if the value of a key comes from the file, which is config->path. `member`: of *config. */
int themis_server_config_is_in_file(const themis_server_config_t *config, const void *member);
/* Where the value of a key comes from, to begin a message with: "file:line: [section] key: ". `member`: of *config.
 * Returns the length, which is below `size`. */
size_t themis_server_config_where(const themis_server_config_t *config, const void *member, char *text, size_t size);

/* Takes over from `fresh` what a running server can change; `kept` lists the other keys that differ, separated by
 * commas. */
void themis_server_config_reload(themis_server_config_t *config, const themis_server_config_t *fresh, char *kept,
                                 size_t size);

/* Host and port of server number `index` of the list; THEMIS_RANGE: the list is shorter. */
themis_status_t themis_server_config_address(const themis_server_config_t *config, uint32_t index, char host[256],
                                             uint16_t *port);

/* The options and their meanings, for --help. */
void themis_server_config_help(FILE *out);
