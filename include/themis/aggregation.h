/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning of collective I/O: how the accessed range of a file is divided into file domains, which process aggregates
 * which domain, and what that costs on the network. Pure computation on plain arrays; every function gives the same
 * result for the same input on every machine. No state is kept between calls, so different objects may be used in
 * different threads. Functions do not block.
 *
 * The order of use in a collective call:
 *   1. all ranks agree on the first and last byte; themis_aggregation_domains_init divides that range into domains;
 *   2. each rank counts its bytes per domain (themis_aggregation_count); the counts of each node are summed and sent to
 *      one rank, which builds the communication matrix C (nodes x domains) with themis_aggregation_matrix_create;
 *   3. that rank plans (themis_aggregation_plan_create) and broadcasts the result: one aggregator for each domain;
 *   4. the rounds of two-phase I/O use themis_aggregation_domains_locate, themis_aggregation_domains_position and the
 *      iterator. Nothing here is of size ranks^2.
 * Gathering and broadcasting are up to the caller.
 *
 * Sources: Liu, Zhou, Guo, "Topology-aware strategy for MPI-IO operations in clusters", J. Optimization 2018, 2068490
 * (C, D, hop-bytes, placements); Liao, Choudhary, "Dynamically adapting file domain partitioning methods for collective
 * I/O", SC08 (file domains).
 */
#ifndef THEMIS_AGGREGATION_H
#define THEMIS_AGGREGATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "themis/status.h"
#include "themis/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- File domains ---- */

typedef enum themis_aggregation_method {
    THEMIS_AGGREGATION_EVEN,          /* equal parts of the range, in bytes: ROMIO's */
    THEMIS_AGGREGATION_ALIGNED,       /* equal parts, in whole stripes */
    THEMIS_AGGREGATION_STRIPE_SIZE,   /* the same, but the iterator gives one extent per stripe */
    THEMIS_AGGREGATION_STATIC_CYCLIC, /* stripe s of the file belongs to domain s mod count, whatever the range */
    THEMIS_AGGREGATION_GROUP_CYCLIC, /* groups of as many as there are servers, each cyclic in its own part of the range
                                      */
    THEMIS_AGGREGATION_TRANSPOSE,    /* stripes as a matrix with a column for each server, divided in column-major order
                                      */
    THEMIS_AGGREGATION_METHOD_AUTO,  /* the one that themis_aggregation_domains_evaluate rates best */
    THEMIS_AGGREGATION_METHODS = THEMIS_AGGREGATION_METHOD_AUTO
} themis_aggregation_method_t;

/* "even", "aligned", "stripe-size", "static-cyclic", "group-cyclic", "transpose", "auto"; parse gives INVALID for
 * others. */
THEMIS_AGGREGATION_EXPORT const char *themis_aggregation_method_name(themis_aggregation_method_t method);
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_method_parse(const char *name,
                                                                          themis_aggregation_method_t *method);

/* Where the bytes of the file are: stripe s is on server (first_server + s) mod servers. */
typedef struct themis_aggregation_layout {
    uint64_t stripe_size; /* bytes, at least 1 */
    uint32_t servers;     /* at least 1 */
    uint32_t first_server;
} themis_aggregation_layout_t;

/*
 * A cut of the byte range [first, last] into `count` domains. A plain value: copy it freely, nothing to destroy. The
 * range consists of units of `unit` bytes from file offset `origin` on (stripes from 0, or for `even` the parts
 * themselves from first); units are numbered from the one that holds `first`.
 */
typedef struct themis_aggregation_domains {
    const struct themis_aggregation_method_ops *ops; /* internal */
    themis_aggregation_method_t method;              /* never AUTO */
    themis_aggregation_layout_t layout;
    uint64_t first, last;  /* bytes, both in the range */
    uint32_t count;        /* domains in force */
    uint32_t requested;    /* as given; count differs if the method needs another number */
    uint64_t unit, origin; /* bytes */
    uint64_t first_unit;   /* index from origin */
    uint64_t units;        /* in the range, at least 1 */
} themis_aggregation_domains_t;

typedef struct themis_aggregation_extent {
    uint64_t offset, length; /* bytes */
} themis_aggregation_extent_t;

/*
 * Cuts [first, last] for `aggregators` aggregators. group-cyclic goes down to the nearest factor or multiple of the
 * number of servers, which shows as count < requested. Domains can be empty when the range has fewer units than
 * domains. METHOD_AUTO takes the method with the fewest conflicts per stripe, then the fewest servers per
 * aggregator, among those whose largest domain is within 1.25 of the smallest possible. INVALID: last < first or >=
 * 2^63, no aggregators, a layout without servers or stripes.
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_domains_init(themis_aggregation_method_t method,
                                                                          const themis_aggregation_layout_t *layout,
                                                                          uint64_t first, uint64_t last,
                                                                          uint32_t aggregators,
                                                                          themis_aggregation_domains_t *domains);

/* The domain of the byte at `offset` (in the range), and in *end the byte after the run of bytes of that domain. O(1).
 */
THEMIS_AGGREGATION_EXPORT uint32_t themis_aggregation_domains_locate(const themis_aggregation_domains_t *domains,
                                                                     uint64_t offset, uint64_t *end);

/* Bytes of the domain. */
THEMIS_AGGREGATION_EXPORT uint64_t themis_aggregation_domains_size(const themis_aggregation_domains_t *domains,
                                                                   uint32_t domain);

/*
 * A domain's bytes are numbered from 0 in the order of the file; round r of a buffer of b bytes is positions [r * b, (r
 * + 1) * b). position: how many bytes of the domain lie below file offset `offset` (any offset; the position of that
 * byte if it is of the domain). seek: the file offset of the byte at `position` < size. O(1), transpose O(log units).
 */
THEMIS_AGGREGATION_EXPORT uint64_t themis_aggregation_domains_position(const themis_aggregation_domains_t *domains,
                                                                       uint32_t domain, uint64_t offset);
THEMIS_AGGREGATION_EXPORT uint64_t themis_aggregation_domains_seek(const themis_aggregation_domains_t *domains,
                                                                   uint32_t domain, uint64_t position);

/* Extents of one domain from a file offset on, in the order of the file; adjacent ones are joined unless the method is
 * stripe-size. The domains object is borrowed until the iterator is no longer used. */
typedef struct themis_aggregation_iterator {
    const themis_aggregation_domains_t *domains;
    uint32_t domain;
    uint64_t next; /* file offset */
} themis_aggregation_iterator_t;

THEMIS_AGGREGATION_EXPORT void themis_aggregation_iterator_init(const themis_aggregation_domains_t *domains,
                                                                uint32_t domain, uint64_t from,
                                                                themis_aggregation_iterator_t *iterator);
/* false when there are no more; *extent is then unchanged. */
THEMIS_AGGREGATION_EXPORT bool themis_aggregation_iterator_next(themis_aggregation_iterator_t *iterator,
                                                                themis_aggregation_extent_t *extent);

/* The server of the stripe that holds `offset`. */
static inline uint32_t themis_aggregation_layout_server(const themis_aggregation_layout_t *layout, uint64_t offset)
{
    return (uint32_t)((layout->first_server + offset / layout->stripe_size) % layout->servers);
}

/* ---- Evaluation of a cut ---- */

/*
 * Two ratings that need no cluster, over at most `limit` stripes from the start of the range. Each server has a lock
 * manager whose smallest lock is one stripe: a lock is granted as far as no other aggregator's lock is in the way, and
 * a request into another's lock revokes that part of it, which is one conflict. Aggregators write their stripes in
 * order, all at the same pace. NO_MEMORY is possible.
 */
typedef struct themis_aggregation_evaluation {
    uint32_t servers_max; /* servers used by one aggregator, of those that have any stripe */
    double servers_mean;
    uint64_t conflicts;      /* on all servers */
    uint64_t conflicts_max;  /* on one server */
    uint64_t shared_stripes; /* stripes with bytes of more than one domain */
    uint64_t bytes_max;      /* of one domain */
} themis_aggregation_evaluation_t;

THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_domains_evaluate(
    const themis_aggregation_domains_t *domains, uint64_t limit, themis_aggregation_evaluation_t *evaluation);

/* ---- Communication matrix ---- */

/* Adds the bytes of each extent to bytes[domains->count], by domain. Extents in any order; parts outside the range do
 * not count. */
THEMIS_AGGREGATION_EXPORT void themis_aggregation_count(const themis_aggregation_domains_t *domains,
                                                        const themis_aggregation_extent_t *extent, size_t extents,
                                                        uint64_t *bytes);

/* One entry of C: bytes of `domain` that processes of `node` hold. Counts are sent in this form. */
typedef struct themis_aggregation_cell {
    uint32_t node, domain;
    uint64_t bytes;
} themis_aggregation_cell_t;

/* C, sparse: cells sorted by (node, domain), no two alike, none of 0 bytes. */
typedef struct themis_aggregation_matrix {
    uint32_t nodes, domains;
    size_t cells;
    themis_aggregation_cell_t *cell;
} themis_aggregation_matrix_t;

/* Takes cells in any order, with repetitions; copies them. RANGE: a cell outside nodes x domains, or bytes that add up
 * to 2^63 or more. */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_matrix_create(uint32_t nodes, uint32_t domains,
                                                                           const themis_aggregation_cell_t *cell,
                                                                           size_t cells,
                                                                           themis_aggregation_matrix_t **matrix);
THEMIS_AGGREGATION_EXPORT void themis_aggregation_matrix_destroy(themis_aggregation_matrix_t *matrix);

/* Bytes of each domain on each server: bytes[domains * servers], row-major, in proportion to the domain's stripes
 * there.
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_matrix_server_bytes(
    const themis_aggregation_matrix_t *matrix, const themis_aggregation_domains_t *domains, uint64_t *bytes);

/* ---- Candidates ---- */

/*
 * The processes that may become aggregators, node by node, and on each node in order of preference: candidate k is
 * process rank[k] on node node[k]. The default placement gives domain k to candidate k.
 */
typedef struct themis_aggregation_candidates {
    uint32_t nodes, count;
    uint32_t *node; /* [count], ascending */
    uint32_t *rank; /* [count] */
} themis_aggregation_candidates_t;

/*
 * node_of_rank[ranks]: the node of each rank, below nodes. limit[nodes]: how many aggregators a node may have, NULL for
 * 1 each. preference[ranks]: lower is chosen earlier within a node, NULL for rank order. cb_nodes does not shorten this
 * list, since any node may be chosen; it limits the number of domains (themis_aggregation_aggregator_count).
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_candidates_create(
    const uint32_t *node_of_rank, uint32_t ranks, uint32_t nodes, const uint32_t *limit, const uint32_t *preference,
    themis_aggregation_candidates_t **candidates);
THEMIS_AGGREGATION_EXPORT void themis_aggregation_candidates_destroy(themis_aggregation_candidates_t *candidates);

/*
 * Reads the hint cb_config_list: items "NAME:NUMBER", "NAME" (1) or "NAME:*" (all), separated by commas; NAME "*" is
 * every node not matched by an item before it. limit[nodes]: 0 for nodes that no item names. PARSE: not such a list;
 * limit is then unchanged.
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_config_list(const char *text, const char *const *name,
                                                                         uint32_t nodes, uint32_t *limit);

/* ---- Number of aggregators ---- */

#define THEMIS_AGGREGATION_COUNT_AUTO 0
#define THEMIS_AGGREGATION_PER_SERVER (-1)

typedef struct themis_aggregation_count_input {
    uint64_t bytes; /* of the whole access */
    uint32_t nodes; /* that hold processes */
    uint32_t candidates;
    uint32_t max;         /* cb_nodes; 0: no limit */
    uint32_t servers;     /* of the file */
    uint64_t stripe_size; /* bytes */
    uint64_t buffer_size; /* cb_buffer_size, bytes */
} themis_aggregation_count_input_t;

/*
 * wanted > 0: that many; THEMIS_AGGREGATION_PER_SERVER: one for each server; THEMIS_AGGREGATION_COUNT_AUTO: the number
 * with the smallest predicted time in a model of the call, where data crosses the aggregators' network ports and the
 * servers' ports at the same speed, and each aggregator costs one request to each server it uses in every round. Never
 * more than the limits allow, and at least 1.
 */
THEMIS_AGGREGATION_EXPORT uint32_t themis_aggregation_aggregator_count(int64_t wanted,
                                                                       const themis_aggregation_count_input_t *in);

/* ---- Plan ---- */

typedef enum themis_aggregation_placement {
    THEMIS_AGGREGATION_DEFAULT,  /* domain k goes to candidate k (OTP) */
    THEMIS_AGGREGATION_LOCALITY, /* assignment that keeps most bytes on their node (LATP) */
    THEMIS_AGGREGATION_TOPOLOGY, /* assignment with the fewest hop-bytes (TATP) */
    THEMIS_AGGREGATION_AUTO, /* topology where it saves at least 1 % of the default's hop-bytes and does not increase
                                the load of the busiest link by a greater fraction than it saves; else default */
    THEMIS_AGGREGATION_PLACEMENTS = THEMIS_AGGREGATION_AUTO
} themis_aggregation_placement_t;

/* "default", "locality", "topology", "auto"; parse gives INVALID for others. */
THEMIS_AGGREGATION_EXPORT const char *themis_aggregation_placement_name(themis_aggregation_placement_t placement);
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_placement_parse(const char *name,
                                                                             themis_aggregation_placement_t *placement);

/* What a plan is made from; everything is borrowed for the call. */
typedef struct themis_aggregation_problem {
    themis_aggregation_placement_t placement;
    const themis_aggregation_domains_t *domains;
    const themis_aggregation_matrix_t *matrix;         /* nodes x domains->count */
    const themis_aggregation_candidates_t *candidates; /* at least domains->count */
    const themis_aggregation_distances_t *distances;   /* of matrix->nodes nodes; NULL: flat */
    const uint16_t
        *server_distance; /* [nodes * servers] in 1/16 hops from node to server, row-major; NULL: not counted */
    const uint32_t *keep; /* [domains->count] candidates to keep instead of choosing (static-cyclic after its first
                             call: stripes stay with their aggregators); NULL: choose */
    const themis_aggregation_fabric_t *fabric; /* for the link loads; NULL: only the nodes' own ports are known */
    const uint32_t *vertex;                    /* [nodes] hosts in the fabric, with fabric */
    const uint32_t *server_vertex;             /* [servers] hosts in the fabric; NULL: server traffic is not routed */
} themis_aggregation_problem_t;

/* One placement and what it costs. hop_bytes and server_hop_bytes are in bytes x hops. Loads are bytes over the busiest
 * link in one direction, messages being divided equally among all shortest paths; without a fabric, over the busiest
 * node's port. */
typedef struct themis_aggregation_choice {
    uint32_t *candidate;     /* [domains] index into the candidates */
    double hop_bytes;        /* shuffle */
    double server_hop_bytes; /* aggregators to servers */
    uint64_t moved_bytes;    /* that leave their node in the shuffle */
    uint64_t max_link_load;
} themis_aggregation_choice_t;

/* On ranks that got the plan by broadcast chosen.candidate and otp.candidate are NULL; all else is there. */
typedef struct themis_aggregation_plan {
    uint32_t domains;
    themis_aggregation_placement_t placement; /* in force, never AUTO */
    uint32_t *aggregator;                     /* [domains] rank */
    themis_aggregation_choice_t chosen;
    themis_aggregation_choice_t otp; /* the default placement, for comparison */
    bool certified;                  /* chosen is proved optimal for its placement (locality, topology) */
} themis_aggregation_plan_t;

/*
 * Makes a plan; owned by the caller. INVALID: shapes do not fit, or fewer candidates than domains. RANGE: hop-bytes
 * beyond 2^63. Memory: domains x candidates x 8 bytes. No two domains have the same candidate.
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_plan_create(const themis_aggregation_problem_t *problem,
                                                                         themis_aggregation_plan_t **plan);
THEMIS_AGGREGATION_EXPORT void themis_aggregation_plan_destroy(themis_aggregation_plan_t *plan);

/* Load in bytes of each link of problem->fabric with the given aggregators, candidate[domains], by shuffle and server
 * traffic: load[2 * link] from first to second, load[2 * link + 1] back; a link of width w counts 1/w. For pictures and
 * tests. */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_link_loads(const themis_aggregation_problem_t *problem,
                                                                        const uint32_t *candidate, double *load);

/* ---- Reuse of plans ---- */

/*
 * Equal for two calls that touch the same bytes shifted by a whole period of the domains (stripe size x servers, for
 * static-cyclic also x aggregators), so the time steps of a checkpoint share one plan. pattern: any number that
 * identifies the shape of the call relative to its first byte, the same on all ranks.
 */
typedef struct themis_aggregation_plan_key {
    uint64_t pattern, length, phase;
    uint32_t count, method, placement, reserved; /* reserved is 0 */
} themis_aggregation_plan_key_t;

THEMIS_AGGREGATION_EXPORT themis_aggregation_plan_key_t themis_aggregation_plan_key(
    const themis_aggregation_domains_t *domains, themis_aggregation_placement_t placement, uint64_t pattern);

#ifdef __cplusplus
}
#endif
#endif
