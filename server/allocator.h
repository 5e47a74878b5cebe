/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocation service: decides which servers a job gets (dfra/), from the history, from the allocations in force and
 * from what jobs do now, and keeps the allocations. A thread of its own reads the history, watches jobs and servers,
 * and ends allocations whose lease has run out; requests are served by workers (allocation_requests.h), and a decision
 * is computation on what is in memory.
 *
 * Nothing is done while the key `allocate` is not set. All functions without the server's lock unless they say so.
 */
#pragma once
#include <stdatomic.h>
#include "server/allocation.h"
#include "server/allocation_runs.h"
#include "server/allocation_watch.h"
#include "server/server.h"

struct themis_server_allocator {
    themis_dfra_named_site_t site;
    uint32_t *listed; /* [site.servers]: their numbers in the list of servers */
    themis_server_allocation_runs_t *runs;
    themis_server_allocation_watch_t *watch;
    pthread_t thread;
    int started;
    _Atomic int stop;
    pthread_mutex_t lock; /* of what follows; taken before the server's, which is never held when it is taken */
    pthread_cond_t kick;
    themis_server_allocations_t *allocations;
    uint8_t *slow; /* [servers of the list] */
};

/* What is asked for. Texts are borrowed. */
typedef struct themis_server_allocation_wish {
    const char *application, *job;
    uint32_t user;
    int is_limited;        /* 1: it is the user who asks */
    int is_once;           /* 1: a job that has an allocation gets that again */
    uint64_t token, lease; /* s */
    const themis_dfra_range_t *range;
    uint32_t ranges, nodes;
} themis_server_allocation_wish_t;

themis_status_t themis_server_allocator_create(themis_server_t *server);
themis_status_t themis_server_allocator_start(themis_server_t *server);
void themis_server_allocator_destroy(themis_server_t *server);

/* Reads the site of the configuration, all of whose servers are in the list. `error` (`size` bytes) says what is wrong.
 * The site is to be released in any case; *listed (may be NULL) is the caller's on success. */
themis_status_t themis_server_allocator_read_site(const themis_server_config_t *config, themis_dfra_named_site_t *site,
                                                  uint32_t **listed, char *error, size_t size);

/* A table of a server, or a part of one, that was received or sent. */
void themis_server_allocator_note(themis_server_t *server, const themis_proto_table_t *table);

/*
 * Decides and keeps the allocation; *reply is what the client gets, the caller's. A token that is known gives the
 * allocation that is there. THEMIS_BUSY: the history has not been read yet. THEMIS_QUOTA as in
 * themis_server_allocations_add. `error` (`size` bytes) may say why it failed.
 */
themis_status_t themis_server_allocator_allocate(themis_server_t *server, const themis_server_allocation_wish_t *wish,
                                                 json_t **reply, char *error, size_t size);
