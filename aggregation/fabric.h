/* SPDX-License-Identifier: BSD-3-Clause */
/* Searching a fabric, and building one vertex by vertex. */
#pragma once

#include "themis/topology.h"

/*
 * Breadth-first search in which hosts do not forward. hops[vertices]: UNREACHABLE where there is no path;
 * order[vertices]: the vertices reached, nearest first. Returns their number.
 */
uint32_t themis_aggregation_fabric_search(const themis_aggregation_fabric_t *fabric, uint32_t from, uint16_t *hops,
                                          uint32_t *order);

/* Collects vertices and links while a fabric is read; zeroed at first. */
typedef struct themis_aggregation_draft {
    themis_aggregation_vertex_t *vertex;
    themis_aggregation_link_t *link;
    uint32_t vertices, vertex_capacity, links, link_capacity;
} themis_aggregation_draft_t;

themis_status_t themis_aggregation_draft_vertex(themis_aggregation_draft_t *draft,
                                                const themis_aggregation_vertex_t *vertex);
themis_status_t themis_aggregation_draft_link(themis_aggregation_draft_t *draft, uint32_t first, uint32_t second);

/* Makes the fabric if status is OK, and frees the arrays in any case. Returns status, or why no fabric was made. */
themis_status_t themis_aggregation_draft_finish(themis_aggregation_draft_t *draft, themis_status_t status,
                                                themis_aggregation_fabric_t **fabric);
