/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/mode_choice.h"

/* Pieces from this size on cost a server less than the shuffle of their bytes. */
#define LARGE_PIECE (UINT64_C(64) << 10)

themis_collective_mode_t themis_collective_mode_choice_hint(const themis_collective_options_t *options,
                                                            themis_direction_t direction)
{
    return options->mode == THEMIS_COLLECTIVE_AUTO ? options->mode_for[direction] : options->mode;
}

static int is_always_list(const themis_collective_options_t *options, themis_direction_t direction, uint32_t nodes)
{
    themis_collective_mode_t mode = themis_collective_mode_choice_hint(options, direction);
    return mode == THEMIS_COLLECTIVE_LIST || (mode == THEMIS_COLLECTIVE_AUTO && nodes == 1 && options->servers_local);
}

themis_collective_mode_t themis_collective_mode_choice_always(const themis_collective_options_t *options,
                                                              uint32_t nodes)
{
    int always = is_always_list(options, THEMIS_READ, nodes) && is_always_list(options, THEMIS_WRITE, nodes);
    return always ? THEMIS_COLLECTIVE_LIST : THEMIS_COLLECTIVE_AUTO;
}

themis_collective_mode_t themis_collective_mode_choice_make(const themis_collective_options_t *options,
                                                            themis_direction_t direction, uint32_t nodes,
                                                            const themis_collective_consensus_record_t *record)
{
    themis_collective_mode_t mode = themis_collective_mode_choice_hint(options, direction);
    if (record->flags & THEMIS_COLLECTIVE_UNORDERED || !record->bytes)
        return THEMIS_COLLECTIVE_LIST;
    if (mode != THEMIS_COLLECTIVE_AUTO)
        return mode;
    if (is_always_list(options, direction, nodes))
        return THEMIS_COLLECTIVE_LIST;
    return record->bytes / record->pieces >= LARGE_PIECE ? THEMIS_COLLECTIVE_LIST : THEMIS_COLLECTIVE_TWOPHASE;
}
