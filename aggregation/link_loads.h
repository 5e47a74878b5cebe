/* SPDX-License-Identifier: BSD-3-Clause */
/* What the planner's own files share. */
#ifndef THEMIS_AGGREGATION_LINK_LOADS_H
#define THEMIS_AGGREGATION_LINK_LOADS_H

#include "themis/aggregation.h"

/* Bytes of each domain that lie on each server: bytes[domains * servers], in proportion to the domain's stripes there.
 */
themis_status_t themis_aggregation_server_bytes(const themis_aggregation_request_t *request, uint64_t *bytes);

/* Bytes over the busiest link in one direction, or without a fabric over the busiest node's port. */
themis_status_t themis_aggregation_load_most(const themis_aggregation_request_t *request, const uint32_t *slot,
                                             uint64_t *most);
#endif
