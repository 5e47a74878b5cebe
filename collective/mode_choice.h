/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice between list I/O and two-phase I/O, made from what all ranks have in common, so that all decide alike. The
 * numbers and the reasons are in doc/collective.md.
 */
#pragma once
#include "collective/consensus_record.h"
#include "collective/options.h"
#include "util/runs.h"

/* What the hints say for one direction: AUTO leaves it to choose. */
themis_collective_mode_t themis_collective_mode_choice_hint(const themis_collective_options_t *options,
                                                            themis_direction_t direction);

/* The mode that every call of the file will have, or AUTO if that depends on the call. */
themis_collective_mode_t themis_collective_mode_choice_always(const themis_collective_options_t *options,
                                                              uint32_t nodes);

/* LIST or TWOPHASE for one call, from the consensus on its accesses. */
themis_collective_mode_t themis_collective_mode_choice_make(const themis_collective_options_t *options,
                                                            themis_direction_t direction, uint32_t nodes,
                                                            const themis_collective_consensus_record_t *record);
