/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective buffer of an aggregator: the bytes of its domain's present round, in the order of the file. Packed
 * messages are scattered into it and gathered from it, and it is read or written by one list.
 */
#pragma once
#include "collective/call_plan.h"
#include "collective/domain_extents.h"
#include "collective/file_ops.h"

typedef struct themis_collective_buffer {
    const themis_collective_call_plan_t *plan; /* borrowed */
    themis_collective_round_t round;           /* of this rank's domain; its domains are those of this call */
    char *bytes;                               /* [capacity], at least plan->round_bytes */
    uint64_t capacity;
    uint64_t *used;          /* a bit for each byte that was scattered in */
    themis_util_runs_t runs; /* what is read or written */
    void *request;           /* of the file operations; NULL when none is under way */
    uint64_t requested;      /* bytes of the request */
} themis_collective_buffer_t;

/* Makes a zeroed or used buffer fit for a plan; one that was used keeps its memory if that is enough. */
themis_status_t themis_collective_buffer_prepare(themis_collective_buffer_t *buffer,
                                                 const themis_collective_call_plan_t *plan,
                                                 const themis_aggregation_domains_t *domains);
/* Frees its memory and leaves it fit for prepare. */
void themis_collective_buffer_free(themis_collective_buffer_t *buffer);

/* Empties the buffer for another round; nothing may be under way. */
void themis_collective_buffer_set_round(themis_collective_buffer_t *buffer, uint64_t round);

/* Moves the message of one part into the buffer (WRITE) or out of it (READ). */
void themis_collective_buffer_move(themis_collective_buffer_t *buffer, const themis_collective_part_t *part,
                                   char *message, themis_direction_t direction);

/*
 * Starts reading what the parts ask for, or writing what was scattered in: exactly the bytes that someone wrote, never
 * a hole. A buffer without bytes starts nothing. test: THEMIS_IN_PROGRESS or the result; *eof becomes the offset of the
 * first requested byte that lies beyond the end of the file if that is lower, and is left alone if there is none.
 */
themis_status_t themis_collective_buffer_start(themis_collective_buffer_t *buffer,
                                               const themis_collective_file_ops_t *ops, themis_direction_t direction);
themis_status_t themis_collective_buffer_test(themis_collective_buffer_t *buffer,
                                              const themis_collective_file_ops_t *ops, uint64_t *eof);
