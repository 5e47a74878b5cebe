/* SPDX-License-Identifier: BSD-3-Clause */
/* What the hints of an open file say about its collective calls. */
#pragma once
#include <stdint.h>
#include "themis/aggregation.h"

typedef enum themis_collective_mode {
    THEMIS_COLLECTIVE_AUTO,     /* chosen for each call (mode_choice.h) */
    THEMIS_COLLECTIVE_TWOPHASE, /* always by aggregators */
    THEMIS_COLLECTIVE_LIST      /* always list I/O */
} themis_collective_mode_t;

/* Texts are borrowed. */
typedef struct themis_collective_options {
    themis_collective_mode_t mode;
    themis_aggregation_method_t method;
    themis_aggregation_placement_t placement;
    int64_t aggregators;                  /* as themis_aggregation_aggregator_count takes it */
    uint32_t max_aggregators;             /* cb_nodes; 0: no limit */
    const char *config_list;              /* cb_config_list; NULL: one for each node */
    uint64_t buffer_size;                 /* cb_buffer_size, bytes */
    themis_aggregation_layout_t layout;   /* first_server is 0: counted from the file's first server */
    uint32_t first_server;                /* the file's first server in server_list */
    int servers_local;                    /* all servers are on this host and copy directly */
    const char *server_list;              /* "host:port,...", for distances; NULL: not known */
    const char *topology;                 /* fabric file, hop file, "discover", "flat", or "auto" (NULL) */
    int fake_nodes;                       /* tests: pretend that a host's ranks are on that many nodes */
    uint64_t staging;                     /* bytes that the ranks of a node share for the shuffle; 0: 64 MiB */
    themis_collective_mode_t mode_for[2]; /* by direction, where `mode` is AUTO */
} themis_collective_options_t;

/* "auto", "twophase", "list"; parse gives THEMIS_INVALID for others and leaves *mode. */
const char *themis_collective_mode_name(themis_collective_mode_t mode);
themis_status_t themis_collective_mode_parse(const char *name, themis_collective_mode_t *mode);
