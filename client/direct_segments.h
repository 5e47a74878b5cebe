/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of servers of this host that this process has mapped: each segment once for each connection, kept while
 * something refers to it, and some for later. No other user can change what is where: a segment is memory that is
 * sealed against shrinking, or a file of this process's own user that is closed to others, which is checked. A child
 * after a fork does not have the mappings.
 *
 * Threads: all functions may be called by several at once. They may wait for a server, so none is called with the
 * session's lock held.
 */
#pragma once
#include <pthread.h>
#include "client/call.h"

/* Segment 0 is the beacon, which cannot be written. */
typedef struct themis_client_direct_segment {
    struct themis_client_direct_segment *next;
    uint32_t server;
    uint64_t connection, serial;
    char *base; /* page of the first byte; 2 MiB aligned unless it is the beacon */
    uint64_t bytes;
    uint64_t references;
} themis_client_direct_segment_t;

typedef struct themis_client_direct_segments {
    themis_client_calls_t *calls;
    pthread_mutex_t lock;
    themis_client_direct_segment_t *first; /* oldest first */
    uint64_t idle;                         /* bytes of those that nothing refers to */
} themis_client_direct_segments_t;

void themis_client_direct_segments_init(themis_client_direct_segments_t *segments, themis_client_calls_t *calls);
/* Nothing refers to a segment any more. */
void themis_client_direct_segments_free(themis_client_direct_segments_t *segments);

/* Adds a reference to a segment of a server's connection, which is mapped if it was not. Any failure means that there
 * is no direct access to it; THEMIS_DISCONNECTED: another connection has taken the place of this one. */
themis_status_t themis_client_direct_segments_get(themis_client_direct_segments_t *segments, uint32_t server,
                                                  uint64_t connection, uint64_t serial,
                                                  themis_client_direct_segment_t **segment);
void themis_client_direct_segments_ref(themis_client_direct_segments_t *segments,
                                       themis_client_direct_segment_t *segment);
/* NULL is allowed. */
void themis_client_direct_segments_put(themis_client_direct_segments_t *segments,
                                       themis_client_direct_segment_t *segment);
