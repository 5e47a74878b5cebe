/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fabric's own files share. */
#ifndef THEMIS_AGGREGATION_FABRIC_H
#define THEMIS_AGGREGATION_FABRIC_H

#include <stdbool.h>

#include "themis/topology.h"

/*
 * Breadth-first search in which hosts do not forward. hops[vertices], UNREACHABLE where there is no path;
 * order[vertices] gets the vertices reached, nearest first. Returns how many.
 */
uint32_t themis_aggregation_fabric_search(const themis_aggregation_fabric_t *fabric, uint32_t from, uint16_t *hops,
                                          uint32_t *order);

/* Collects vertices and links while a fabric is read. Zeroed at first; drop frees the arrays. */
typedef struct themis_aggregation_draft {
    themis_aggregation_vertex_t *vertex;
    themis_aggregation_link_t *link;
    uint32_t vertices, vertex_room, links, link_room;
} themis_aggregation_draft_t;

themis_status_t themis_aggregation_draft_vertex(themis_aggregation_draft_t *draft,
                                                const themis_aggregation_vertex_t *vertex);
themis_status_t themis_aggregation_draft_link(themis_aggregation_draft_t *draft, uint32_t first, uint32_t second);
void themis_aggregation_draft_drop(themis_aggregation_draft_t *draft);

/* Reads the text form that ibsim reads. PARSE with the line at fault. */
themis_status_t themis_aggregation_fabric_parse(const char *path, themis_aggregation_fabric_t **fabric);
#endif
