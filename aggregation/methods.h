/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of file-domain methods. */
#pragma once

#include "themis/aggregation.h"

/* The operations of a method; units count from 0 at the start of the range. */
typedef struct themis_aggregation_method_ops {
    const char *name;
    /* the number of domains that the method can use, from 1 to wanted */
    uint32_t (*adjust)(const themis_aggregation_layout_t *layout, uint32_t wanted);
    uint32_t (*owner)(const themis_aggregation_domains_t *domains, uint64_t unit);
    /* how many units from `unit` on have the same owner; at least 1, may be fewer than there are */
    uint64_t (*run)(const themis_aggregation_domains_t *domains, uint64_t unit);
    /* units of the domain below `unit` (0 <= unit <= units) */
    uint64_t (*before)(const themis_aggregation_domains_t *domains, uint32_t domain, uint64_t unit);
    /* the domain's unit number i, 0 <= i < before(domain, units), in the order of the file */
    uint64_t (*at)(const themis_aggregation_domains_t *domains, uint32_t domain, uint64_t i);
    /* adds to share[servers] in what proportion the domain's bytes lie on the servers (bytes, but whole units at the
     * edges) */
    void (*shares)(const themis_aggregation_domains_t *domains, uint32_t domain, uint64_t *share);
} themis_aggregation_method_ops_t;

/* The operations of a method below THEMIS_AGGREGATION_METHODS; static storage. */
const themis_aggregation_method_ops_t *themis_aggregation_method_ops(themis_aggregation_method_t method);
