/* SPDX-License-Identifier: BSD-3-Clause */
/* Which hints are known, and which values they take. */
#pragma once
#include "ad_themis.h"

/* X(name, kind, choices): the hint is "themis_<name>"; its value is checked by its kind. */
#define AD_THEMIS_HINTS(X)                                                                                             \
    X(servers, SERVERS, NULL)                                                                                          \
    X(file_servers, SERVERS, NULL)                                                                                     \
    X(policy, TEXT, NULL)                                                                                              \
    X(timeout, DURATION, NULL)                                                                                         \
    X(collective, CHOICE, "auto|twophase|list")                                                                        \
    X(fd_method, CHOICE, "auto|even|aligned|stripe-size|static-cyclic|group-cyclic|transpose")                         \
    X(placement, CHOICE, "auto|default|locality|topology")                                                             \
    X(aggregators, AGGREGATORS, NULL)                                                                                  \
    X(topology, TOPOLOGY, NULL)                                                                                        \
    X(cache, CHOICE, "auto|off|on")                                                                                    \
    X(direct, CHOICE, "auto|on|off")                                                                                   \
    X(direct_used, SHOWN, NULL)                                                                                        \
    X(stripe_count, SHOWN, NULL)                                                                                       \
    X(stripe_first, SHOWN, NULL)                                                                                       \
    X(topology_used, SHOWN, NULL)                                                                                      \
    X(collective_used, SHOWN, NULL)                                                                                    \
    X(hop_bytes, SHOWN, NULL)                                                                                          \
    X(hop_bytes_default, SHOWN, NULL)                                                                                  \
    X(server_hop_bytes, SHOWN, NULL)                                                                                   \
    X(server_hop_bytes_default, SHOWN, NULL)                                                                           \
    X(max_link_bytes, SHOWN, NULL)                                                                                     \
    X(max_link_bytes_default, SHOWN, NULL)                                                                             \
    X(aggregators_used, SHOWN, NULL)                                                                                   \
    X(moved_bytes, SHOWN, NULL)                                                                                        \
    X(plans_made, SHOWN, NULL)

typedef enum ADIOI_THEMIS_Hint {
#define AD_THEMIS_HINT_ENUM(name, kind, choices) AD_THEMIS_HINT_##name,
    AD_THEMIS_HINTS(AD_THEMIS_HINT_ENUM)
#undef AD_THEMIS_HINT_ENUM
        AD_THEMIS_HINT_NUMBER
} ADIOI_THEMIS_Hint;

/* What a hint affects. */
typedef enum ADIOI_THEMIS_Hint_use {
    AD_THEMIS_USE_NONE,
    AD_THEMIS_USE_GIVEN, /* nothing; shown if it was given */
    AD_THEMIS_USE_OURS,
    AD_THEMIS_USE_ROMIO
} ADIOI_THEMIS_Hint_use;

/* Checks a hint that a program gave. *why: what is wrong with it, static, or NULL; NONE without a reason for hints of
 * other libraries and those that are only shown. text[MPI_MAX_INFO_VAL + 1]: the value in ROMIO's spelling. */
ADIOI_THEMIS_Hint_use ADIOI_THEMIS_Hint_check(const char *key, const char *value, char *text, const char **why);
const char *ADIOI_THEMIS_Hint_check_key(ADIOI_THEMIS_Hint hint);
/* The keys of ROMIO's hints that have no effect here, from index 0; NULL after the last. */
const char *ADIOI_THEMIS_Hint_check_without_effect(size_t index);
