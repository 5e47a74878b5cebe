/* SPDX-License-Identifier: BSD-3-Clause */
/* Servers that were given to a job (doc/dfra.md): one allocation, and the table of those in force, which lasts in a
 * database of its own. */
#pragma once
#include <jansson.h>
#include "dfra/site.h"
#include "history/record.h"
#include "server/name_db.h"

/* In force at a time; and of one user who is no administrator. */
enum { THEMIS_SERVER_ALLOCATIONS_MOST = 4096, THEMIS_SERVER_ALLOCATIONS_OF_USER = 64 };

enum { THEMIS_SERVER_ALLOCATION_REASON = 1024 };

typedef struct themis_server_allocation {
    struct themis_server_allocation *next, *prev; /* the table's, by id */
    struct themis_server_allocation *of_bucket;   /* the table's, by user and job; later ones are before */
    uint64_t id;                                  /* at least 1; later ones have larger ones */
    uint64_t token;                               /* by which a request that is sent again is known; 0: none */
    uint32_t user;                                /* uid */
    uint32_t nodes;
    char application[THEMIS_HISTORY_NAME_BYTES], job[THEMIS_HISTORY_NAME_BYTES]; /* job "": unknown */
    themis_dfra_kind_t kind;
    uint64_t made, expires; /* s since 1970 */
    char reason[THEMIS_SERVER_ALLOCATION_REASON];
    uint32_t servers;
    uint32_t server[]; /* [servers], numbers at the site */
} themis_server_allocation_t;

typedef struct themis_server_allocations themis_server_allocations_t;

/*
 * The table, with what an earlier server has left. `state` is the server's directory, below which the database is; "":
 * in memory. `index` of this server. Servers that the site does not have any more are left out, with a warning.
 */
themis_status_t themis_server_allocations_create(const char *state, uint32_t index,
                                                 const themis_dfra_named_site_t *site,
                                                 themis_server_allocations_t **allocations);
void themis_server_allocations_destroy(themis_server_allocations_t *allocations); /* NULL is allowed */

/* Room for one, without an id; freed with free unless it was added. NULL: no memory. */
themis_server_allocation_t *themis_server_allocation_make(uint32_t servers);
/* Gives it an id and keeps it; on success it is the table's, and survives a power failure. THEMIS_QUOTA: there are too
 * many, of the user if `is_limited`. */
themis_status_t themis_server_allocations_add(themis_server_allocations_t *allocations,
                                              themis_server_allocation_t *allocation, int is_limited);
/* The same for another end. */
themis_status_t themis_server_allocations_extend(themis_server_allocations_t *allocations,
                                                 themis_server_allocation_t *allocation, uint64_t expires);
/* It ends and is freed. On failure it is in force still. */
themis_status_t themis_server_allocations_remove(themis_server_allocations_t *allocations,
                                                 themis_server_allocation_t *allocation);
/* Ends those whose lease has run out at `now`, s since 1970. In the database they are until they are forgotten. */
void themis_server_allocations_expire(themis_server_allocations_t *allocations, uint64_t now);
/* Takes out what has expired, for the next function, which may be called while others use the table. */
themis_server_allocation_t *themis_server_allocations_take_expired(themis_server_allocations_t *allocations);
/* Removes them from the database, with one sync, and frees them. On failure the next start does so. */
void themis_server_allocations_forget(themis_server_allocations_t *allocations, themis_server_allocation_t *expired);

/* Borrowed until the table changes; NULL: none. */
themis_server_allocation_t *themis_server_allocations_find(const themis_server_allocations_t *allocations, uint64_t id);
themis_server_allocation_t *themis_server_allocations_find_token(const themis_server_allocations_t *allocations,
                                                                 uint32_t user, uint64_t token);
/* The last one of a job. */
themis_server_allocation_t *themis_server_allocations_find_job(const themis_server_allocations_t *allocations,
                                                               uint32_t user, const char *job);
/* By id: the first with one above `after`; NULL: no more. */
themis_server_allocation_t *themis_server_allocations_next(const themis_server_allocations_t *allocations,
                                                           uint64_t after);
uint32_t themis_server_allocations_count(const themis_server_allocations_t *allocations);

/* As it is shown and kept; the caller's, or NULL: no memory. */
json_t *themis_server_allocation_json(const themis_server_allocation_t *allocation,
                                      const themis_dfra_named_site_t *site);
