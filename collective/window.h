/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffer of an aggregator for one round: the bytes of its domain's next part in the order of the file. Packed
 * messages are scattered into it and gathered from it, and it is read or written by one list.
 */
#ifndef THEMIS_COLLECTIVE_WINDOW_H
#define THEMIS_COLLECTIVE_WINDOW_H
#include "collective/plan.h"
#include "collective/sink.h"

typedef struct themis_collective_window {
    const themis_collective_plan_t *plan;        /* borrowed */
    const themis_aggregation_domains_t *domains; /* of this call; borrowed */
    uint64_t round;
    char *bytes; /* [capacity], at least plan->window */
    uint64_t capacity;
    uint64_t *used;          /* a bit for each byte that was scattered in */
    themis_util_runs_t runs; /* what is read or written */
    void *request;           /* of the sink; NULL when none is under way */
    uint64_t asked;          /* bytes of the request */
} themis_collective_window_t;

/* Makes an empty window fit for a plan; one that was used before keeps its memory if that is enough. */
themis_status_t themis_collective_window_prepare(themis_collective_window_t *window,
                                                 const themis_collective_plan_t *plan,
                                                 const themis_aggregation_domains_t *domains);
void themis_collective_window_destroy(themis_collective_window_t *window);

/* Turns to another round; nothing may be under way. */
void themis_collective_window_turn(themis_collective_window_t *window, uint64_t round);

/* Bytes of one part (node) in a round of this rank's domain: the length of its message. */
uint64_t themis_collective_window_part_bytes(const themis_collective_plan_t *plan,
                                             const themis_aggregation_domains_t *domains, uint64_t round,
                                             const themis_collective_part_t *part);

/* Moves the message of one part into the window (WRITE) or out of it (READ). */
void themis_collective_window_move(themis_collective_window_t *window, const themis_collective_part_t *part,
                                   char *message, themis_direction_t direction);

/*
 * Starts reading what the parts ask for, or writing what was scattered in: exactly the bytes that someone wrote, never
 * a hole. A window without bytes starts nothing. test: THEMIS_IN_PROGRESS or the result; *eof becomes the offset of the
 * first byte asked for that lies behind the end of the file, and is left alone if there is none.
 */
themis_status_t themis_collective_window_start(themis_collective_window_t *window, const themis_collective_sink_t *sink,
                                               themis_direction_t direction);
themis_status_t themis_collective_window_test(themis_collective_window_t *window, const themis_collective_sink_t *sink,
                                              uint64_t *eof);
#endif
