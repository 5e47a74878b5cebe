/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/model.h"

/* Pieces from this size on cost a server less than what it takes to exchange their bytes first. */
#define LARGE_PIECE (UINT64_C(64) << 10)

themis_collective_mode_t themis_collective_model_mode(const themis_collective_config_t *config,
                                                      themis_direction_t direction)
{
    return config->mode == THEMIS_COLLECTIVE_AUTO ? config->wanted[direction] : config->mode;
}

static int always_list(const themis_collective_config_t *config, themis_direction_t direction, uint32_t nodes)
{
    themis_collective_mode_t mode = themis_collective_model_mode(config, direction);

    return mode == THEMIS_COLLECTIVE_LIST || (mode == THEMIS_COLLECTIVE_AUTO && nodes == 1 && config->servers_local);
}

themis_collective_mode_t themis_collective_model_always(const themis_collective_config_t *config, uint32_t nodes)
{
    int always = always_list(config, THEMIS_READ, nodes) && always_list(config, THEMIS_WRITE, nodes);

    return always ? THEMIS_COLLECTIVE_LIST : THEMIS_COLLECTIVE_AUTO;
}

themis_collective_mode_t themis_collective_model_choose(const themis_collective_config_t *config,
                                                        themis_direction_t direction, uint32_t nodes,
                                                        const themis_collective_vote_t *vote)
{
    themis_collective_mode_t mode = themis_collective_model_mode(config, direction);

    if (vote->flags & THEMIS_COLLECTIVE_UNORDERED || !vote->bytes)
        return THEMIS_COLLECTIVE_LIST;
    if (mode != THEMIS_COLLECTIVE_AUTO)
        return mode;
    if (always_list(config, direction, nodes))
        return THEMIS_COLLECTIVE_LIST;
    return vote->bytes / vote->pieces >= LARGE_PIECE ? THEMIS_COLLECTIVE_LIST : THEMIS_COLLECTIVE_TWOPHASE;
}
