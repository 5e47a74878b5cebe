/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: the stages of a two-phase call between the decision and the result, and the plans that a file keeps. */
#pragma once
#include "collective/operation.h"

/* Fills in this rank's part of a call's pattern. */
void themis_collective_twophase_describe(const themis_collective_operation_t *op,
                                         themis_collective_consensus_record_t *record);
/* All ranks have decided to go in two phases: op->consensus.record has the range and the pattern. */
void themis_collective_twophase_begin(themis_collective_operation_t *op);
void themis_collective_twophase_step(themis_collective_operation_t *op);
/* Frees what an operation that leaves the queue has; nothing if it is not two-phase. */
void themis_collective_twophase_end(themis_collective_operation_t *op);
/* Frees what the file keeps. */
void themis_collective_twophase_free(themis_collective_t *coll);
