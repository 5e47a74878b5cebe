/* SPDX-License-Identifier: BSD-3-Clause */
/* A fabric as a tree. */
#pragma once
#include "themis/topology.h"

/*
 * level[vertices]: 0 hosts, 1 switches with hosts, 2 and more those above, UINT32_MAX for switches without a path to a
 * host. parent[vertices]: the first switch that a host is connected to, UINT32_MAX for others.
 */
typedef struct themis_tools_fabric_levels {
    uint32_t *level, *parent;
    uint32_t levels;
} themis_tools_fabric_levels_t;

/* Prints its errors. */
int themis_tools_fabric_levels_make(const themis_aggregation_fabric_t *fabric, themis_tools_fabric_levels_t *levels);
void themis_tools_fabric_levels_free(themis_tools_fabric_levels_t *levels);
