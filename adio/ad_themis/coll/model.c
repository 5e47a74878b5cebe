/* SPDX-License-Identifier: BSD-3-Clause */
#include "adio/ad_themis/coll/model.h"

/* Pieces from this size on cost a server less than what it takes to exchange their bytes first. */
#define LARGE_PIECE (UINT64_C(64) << 10)

themis_coll_mode_t themis_coll_model_always(const themis_coll_config_t *config, uint32_t nodes)
{
    if (config->mode == THEMIS_COLL_LIST)
        return THEMIS_COLL_LIST;
    if (config->mode == THEMIS_COLL_AUTO && nodes == 1 && config->servers_local)
        return THEMIS_COLL_LIST;
    return THEMIS_COLL_AUTO;
}

themis_coll_mode_t themis_coll_model_choose(const themis_coll_config_t *config, uint32_t nodes,
                                            const themis_coll_vote_t *vote)
{
    if (vote->flags & THEMIS_COLL_UNORDERED || !vote->bytes)
        return THEMIS_COLL_LIST;
    if (config->mode != THEMIS_COLL_AUTO)
        return config->mode;
    if (nodes == 1 && config->servers_local)
        return THEMIS_COLL_LIST;
    return vote->bytes / vote->pieces >= LARGE_PIECE ? THEMIS_COLL_LIST : THEMIS_COLL_TWOPHASE;
}
