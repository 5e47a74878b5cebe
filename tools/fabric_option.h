/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of topo and plan: a fabric by its name, and hosts in it. */
#pragma once
#include "themis/topology.h"

/*
 * "tree:RACKS:NODES:UPLINKS" or "fat:LEAVES:NODES:SPINES" (regular fabrics), else a file (recorded); NULL: the fabric
 * of this host. Prints its errors.
 */
int themis_tools_fabric_open(const char *name, themis_aggregation_fabric_t **fabric);

/* The host names of a list "host:port,host:port" in turn: copies the next one and advances *list; 0 at the end. */
int themis_tools_fabric_next_host(const char **list, char *name, size_t size);

/* The vertex of a host; an error message if there is none. */
int themis_tools_fabric_host(const themis_aggregation_fabric_t *fabric, const char *name, uint32_t *vertex);
