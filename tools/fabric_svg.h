/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture of a fabric with the load on each link, before and after, as SVG. */
#pragma once
#include <stdint.h>
#include "themis/topology.h"

/* One of the two fabrics drawn. load as from themis_aggregation_link_loads, in bytes. */
typedef struct themis_tools_fabric_panel {
    const char *title;
    const double *load;
    const uint32_t *aggregator; /* [aggregators] vertices */
    uint32_t aggregators;
} themis_tools_fabric_panel_t;

typedef struct themis_tools_fabric_svg {
    const themis_aggregation_fabric_t *fabric;
    const uint32_t *node; /* [nodes] vertices of the job's nodes */
    uint32_t nodes;
    const uint32_t *server; /* [servers] vertices */
    uint32_t servers;
    themis_tools_fabric_panel_t panel[2];
} themis_tools_fabric_svg_t;

/* Writes the file; prints its errors. */
int themis_tools_fabric_svg_write(const themis_tools_fabric_svg_t *svg, const char *path);
