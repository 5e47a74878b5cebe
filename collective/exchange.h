/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two phases of a call, in rounds: bytes go between the ranks of a node and its leader through shared memory,
 * between leaders and aggregators as one message per round, and between aggregators and the servers as one list per
 * round. Two rounds are under way at once everywhere, so the exchange of one overlaps the I/O of the other.
 *
 * A rank has up to three roles (member of its node, leader, aggregator), each a machine of its own that goes on when
 * what it waits for is there. An aggregator whose I/O fails goes on exchanging, so that nobody waits for it.
 */
#ifndef THEMIS_COLLECTIVE_EXCHANGE_H
#define THEMIS_COLLECTIVE_EXCHANGE_H
#include "collective/group.h"
#include "collective/plan.h"
#include "collective/sink.h"
#include "collective/window.h"

/* Memory of an aggregator that is kept from call to call. Start with zeros. */
typedef struct themis_collective_buffers {
    themis_collective_window_t window[2];
    char *messages[2];
    uint64_t capacity; /* of each of them */
} themis_collective_buffers_t;
void themis_collective_buffers_free(themis_collective_buffers_t *buffers);

/* What one rank brings to a call; everything is borrowed until the call has ended. */
typedef struct themis_collective_access {
    themis_direction_t direction;
    const themis_util_runs_t *file;   /* ordered */
    const themis_util_runs_t *memory; /* same number of bytes, offsets from base */
    void *base;
} themis_collective_access_t;

typedef struct themis_collective_exchange themis_collective_exchange_t;

/*
 * Does not communicate; that all ranks have one is to be agreed on before the first step. The plan is borrowed; `first`
 * is the first byte of this call.
 */
themis_status_t themis_collective_exchange_create(themis_collective_group_t *group,
                                                  const themis_collective_plan_t *plan, uint64_t first,
                                                  const themis_collective_access_t *access,
                                                  const themis_collective_sink_t *sink,
                                                  themis_collective_buffers_t *buffers,
                                                  themis_collective_exchange_t **exchange);
/*
 * THEMIS_IN_PROGRESS, or this rank's result. *eof: the offset of the first byte that this rank, as an aggregator, found
 * to lie behind the end of the file, UINT64_MAX if none.
 */
themis_status_t themis_collective_exchange_step(themis_collective_exchange_t *exchange, uint64_t *eof);
/* A number that grows whenever this rank gets on with anything: rounds sized, moved, sent, received, at the servers. */
uint64_t themis_collective_exchange_moves(const themis_collective_exchange_t *exchange);
/* NULL is allowed. */
void themis_collective_exchange_destroy(themis_collective_exchange_t *exchange);
#endif
