/* SPDX-License-Identifier: BSD-3-Clause */
/* The operand of a consensus: what each rank contributes, and how two contributions become one. */
#pragma once
#include <stdint.h>
#include "themis/status.h"

/* Combined as each field says. */
typedef struct themis_collective_consensus_record {
    int64_t status;     /* min: themis_status_t, so all ranks get the same error */
    uint64_t first;     /* min: first byte accessed; UINT64_MAX for a rank without bytes */
    uint64_t end;       /* max: end of the bytes accessed */
    uint64_t bytes;     /* sum */
    uint64_t max_bytes; /* max: bytes of one rank */
    uint64_t pieces;    /* sum */
    uint64_t pattern;   /* sum: shape and place of each rank's access (twophase.c) */
    uint64_t weight;    /* sum: the factor of each rank's place in `pattern` */
    uint64_t flags;     /* or: THEMIS_COLLECTIVE_UNORDERED */
} themis_collective_consensus_record_t;

enum {
    THEMIS_COLLECTIVE_UNORDERED = 1 /* a rank's list is not in ascending order, so it cannot be cut at domains */
};

/* The record of a rank that contributes its status only. */
#define THEMIS_COLLECTIVE_STATUS_RECORD(own)                                                                           \
    ((themis_collective_consensus_record_t){.status = (own), .first = UINT64_MAX})

void themis_collective_consensus_record_combine(themis_collective_consensus_record_t *into,
                                                const themis_collective_consensus_record_t *from);
