/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Claims keep a name what it is while servers are asked about it: who looks it up or opens it claims it shared, who
 * removes or replaces it exclusively. Only those wait that want the same name, or one below a directory that is being
 * renamed, in the order in which they came.
 */
#pragma once
#include "posix/filesystem.h"

typedef enum themis_posix_claim_kind { THEMIS_POSIX_SHARED, THEMIS_POSIX_EXCLUSIVE } themis_posix_claim_kind_t;

typedef struct themis_posix_claim {
    struct themis_posix_claim *next;
    const void *holder; /* claims that were made together do not exclude each other */
    themis_posix_node_t
        *parent; /* NULL: the root directory itself; held while the claim waits or is had, as is `below` */
    themis_posix_node_t *below; /* all names below this directory are claimed as well; NULL: none */
    themis_posix_claim_kind_t kind;
    char name[THEMIS_CLIENT_NAME_BYTES];
    char path[THEMIS_PATH_BYTES]; /* of the name, once it is claimed */
} themis_posix_claim_t;

/* What is to be claimed: a name of a directory, which the caller holds a reference of. ENAMETOOLONG. */
int themis_posix_claim_init(themis_posix_claim_t *claim, themis_posix_node_t *parent, const char *name,
                            themis_posix_claim_kind_t kind);

/*
 * Waits until all of the claims can be had at once. ENOENT: a name is that of a hidden file, or its directory is gone.
 * EINTR: the caller has abandoned the call. caller NULL: never given up.
 */
int themis_posix_claim(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_claim_t *claims,
                       int count);
void themis_posix_unclaim(themis_posix_t *filesystem, themis_posix_claim_t *claims, int count);

/* Claims one name of a directory: errors as of both functions above. */
int themis_posix_claim_name(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                            themis_posix_node_t *parent, const char *name, themis_posix_claim_kind_t kind,
                            themis_posix_claim_t *claim);

/* Claims the name that a node has, also a hidden one. ESTALE: it has none any more. */
int themis_posix_claim_node(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                            themis_posix_claim_kind_t kind, themis_posix_claim_t *claim);
