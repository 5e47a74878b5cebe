/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/model.h"

/* Pieces from this size on cost a server less than what it takes to exchange their bytes first. */
#define LARGE_PIECE (UINT64_C(64) << 10)

themis_coll_mode_t themis_coll_model_mode(const themis_coll_config_t *config, themis_coll_direction_t direction)
{
    return config->mode == THEMIS_COLL_AUTO ? config->wanted[direction] : config->mode;
}

static int always_list(const themis_coll_config_t *config, themis_coll_direction_t direction, uint32_t nodes)
{
    themis_coll_mode_t mode = themis_coll_model_mode(config, direction);

    return mode == THEMIS_COLL_LIST || (mode == THEMIS_COLL_AUTO && nodes == 1 && config->servers_local);
}

themis_coll_mode_t themis_coll_model_always(const themis_coll_config_t *config, uint32_t nodes)
{
    int always = always_list(config, THEMIS_COLL_READ, nodes) && always_list(config, THEMIS_COLL_WRITE, nodes);

    return always ? THEMIS_COLL_LIST : THEMIS_COLL_AUTO;
}

themis_coll_mode_t themis_coll_model_choose(const themis_coll_config_t *config, themis_coll_direction_t direction,
                                            uint32_t nodes, const themis_coll_vote_t *vote)
{
    themis_coll_mode_t mode = themis_coll_model_mode(config, direction);

    if (vote->flags & THEMIS_COLL_UNORDERED || !vote->bytes)
        return THEMIS_COLL_LIST;
    if (mode != THEMIS_COLL_AUTO)
        return mode;
    if (always_list(config, direction, nodes))
        return THEMIS_COLL_LIST;
    return vote->bytes / vote->pieces >= LARGE_PIECE ? THEMIS_COLL_LIST : THEMIS_COLL_TWOPHASE;
}
