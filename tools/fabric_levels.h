/* SPDX-License-Identifier: BSD-3-Clause */
/* What the subcommands topo and plan share: where a fabric comes from, and its switches in levels. */
#ifndef THEMIS_TOOLS_FABRIC_LEVELS_H
#define THEMIS_TOOLS_FABRIC_LEVELS_H
#include "themis/topology.h"
#include "tools/command.h"

/*
 * A fabric by its name: "tree:RACKS:NODES:UPLINKS" or "fat:LEAVES:NODES:SPINES" (made up), else a file (recorded);
 * NULL: the one that this host is on. Complains by itself.
 */
int themis_tools_fabric_open(const themis_tools_command_t *self, const char *name,
                             themis_aggregation_fabric_t **fabric);

/*
 * The fabric as a tree. level[vertices]: 0 hosts, 1 switches with hosts, 2 and more those above, UINT32_MAX for
 * switches that no host is connected to. parent[vertices]: the first switch a host is on, UINT32_MAX for others.
 */
typedef struct themis_tools_levels {
    uint32_t *level, *parent;
    uint32_t levels;
} themis_tools_levels_t;

int themis_tools_levels_make(const themis_tools_command_t *self, const themis_aggregation_fabric_t *fabric,
                             themis_tools_levels_t *levels);
void themis_tools_levels_drop(themis_tools_levels_t *levels);

/* The host names of a list "host:port,host:port" in turn: copies the next one and moves *list on; 0 at the end. */
int themis_tools_next_host(const char **list, char *name, size_t size);
#endif
