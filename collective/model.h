/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost model: how a call goes, from what all ranks agreed on, so that all decide alike. The numbers and why are in
 * doc/collective.md.
 */
#ifndef THEMIS_COLLECTIVE_MODEL_H
#define THEMIS_COLLECTIVE_MODEL_H
#include "collective/config.h"
#include "collective/group.h"
#include "util/runs.h"

/* Bits of a vote's flags. */
enum {
    THEMIS_COLLECTIVE_UNORDERED = 1 /* a rank's list cannot be cut */
};

/* What the hints say for one direction: AUTO leaves it to choose. */
themis_collective_mode_t themis_collective_model_mode(const themis_collective_config_t *config,
                                                      themis_direction_t direction);

/* The mode that every call of the file will have, or AUTO if that depends on the call. */
themis_collective_mode_t themis_collective_model_always(const themis_collective_config_t *config, uint32_t nodes);

/* LIST or TWOPHASE for one call. */
themis_collective_mode_t themis_collective_model_choose(const themis_collective_config_t *config,
                                                        themis_direction_t direction, uint32_t nodes,
                                                        const themis_collective_vote_t *vote);

/* After a call in which no rank had more than SMALL bytes, up to STREAK calls go without agreement. A row doubles
 * after each agreement that finds nothing changed, up to STREAK_MOST, so that ranks seldom wait for one another; the
 * price is that an error is told up to 2 (STREAK_MOST + 1) calls late. */
#define THEMIS_COLLECTIVE_SMALL (UINT64_C(128) << 10)
#define THEMIS_COLLECTIVE_STREAK 31
#define THEMIS_COLLECTIVE_STREAK_MOST 511
#endif
