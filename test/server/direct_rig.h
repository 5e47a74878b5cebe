/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients that ask for direct access by hand, in this process or in processes of their own, and may misbehave. */
#pragma once
#include <sys/types.h>
#include "test/server/engine_rig.h"
#include "server/direct.h"
#include "util/direct.h"

enum { RIG_SEGMENTS = 32 };

typedef struct rig_segment {
    uint64_t serial;
    uint8_t *base;
    size_t bytes;
} rig_segment_t;

typedef struct rig_direct {
    rig_client_t *client;
    rig_segment_t segments[RIG_SEGMENTS]; /* mapped so far */
    int count;
} rig_direct_t;

/* How to map. */
enum { RIG_ALLOCATE = 1, RIG_INCOMPLETE = 2 };

/* What a MAP has brought. */
typedef struct rig_grant {
    themis_status_t status;
    uint32_t number; /* 0: none */
    uint64_t retry;  /* ns */
    themis_util_direct_slot_t *slot;
    themis_util_direct_cell_t *cell;
    uint32_t extents;
    uint8_t *memory;        /* of the first byte of the range, if an extent has it */
    uint64_t length;        /* bytes that follow there */
    _Atomic uint8_t *pages; /* states of the extent's pages, or NULL */
} rig_grant_t;

rig_direct_t *rig_direct_open(const themis_server_t *server, uint64_t session, const char *job);
void rig_direct_close(rig_direct_t *direct, int goodbye);

/* Asks for a segment. THEMIS_OK: the first one of that serial is mapped. */
themis_status_t rig_direct_segment(rig_direct_t *direct, uint64_t serial, rig_segment_t *segment);
/* MAP, and maps the segments that the reply names. */
rig_grant_t rig_direct_map(rig_direct_t *direct, uint64_t object, uint64_t offset, uint64_t length, int how);
/* The same until it is granted, for at most 20 s. */
rig_grant_t rig_direct_await(rig_direct_t *direct, uint64_t object, uint64_t offset, uint64_t length, int allocate);
/* As a client does: enters, writes or reads the range of the grant, leaves. Returns 0 if it was revoked. */
int rig_direct_write(const rig_grant_t *grant, uint64_t end, const void *bytes, size_t length);
int rig_direct_read(const rig_grant_t *grant, void *bytes, size_t length);

/*
 * Processes, which have to be forked before this one has a net. `main` runs in each of them once rig_crew_start tells
 * it the server; it calls rig_crew_report when it is ready, and may not return.
 */
typedef struct rig_crew {
    int count, go, reports; /* ends of pipes */
    pid_t *pids;
} rig_crew_t;
typedef void (*rig_crew_main_fn)(const themis_server_t *server, int number, void *arg);
rig_crew_t rig_crew_fork(int count, rig_crew_main_fn main, void *arg);
/* Starts the next `count` ones, and waits until each has reported. */
void rig_crew_start(const rig_crew_t *crew, const themis_server_t *server, int count);
void rig_crew_report(void);
/* SIGKILL to all. */
void rig_crew_kill(rig_crew_t *crew);

/* Waits up to 20 s until as many grants are in force and revoked. */
void rig_await_grants(themis_server_t *server, uint32_t grants, uint32_t revoked);
themis_server_direct_usage_t rig_usage(themis_server_t *server);
