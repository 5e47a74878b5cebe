/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server in a thread of the test, for what a real one does not do when it is told: it has one file, "/f", of one
 * object, grants direct access or refuses it, takes it back and moves the bytes elsewhere at any moment, and tells
 * untruths about its memory.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "net/net.h"
#include "proto/proto.h"
#include "util/direct.h"

enum {
    FAKE_EXTENT = 16 << 10,
    FAKE_EXTENTS = 64, /* of the object; neighbours in it are none in memory */
    FAKE_BYTES = FAKE_EXTENT * FAKE_EXTENTS,
    FAKE_SEGMENT = 4 << 20
};

typedef enum fake_lie {
    FAKE_HONEST,
    FAKE_OUTSIDE,  /* an extent ends beyond its segment */
    FAKE_OVERFLOW, /* a place whose sum overflows */
    FAKE_BEACON,   /* an extent in the beacon's segment */
    FAKE_SLOT,     /* a slot that is not aligned */
    FAKE_UNSEALED, /* memory that can be cut off */
    FAKE_SHORT,    /* memory smaller than it says */
    FAKE_OPEN,     /* a file that others may write to */
    FAKE_FOREIGN,  /* a file of another user */
    FAKE_NO_FILE,  /* no descriptor */
    FAKE_LIES
} fake_lie_t;

typedef struct fake {
    char list[64];
    themis_net_t *net;
    themis_net_conn_t *conn; /* the last one */
    pthread_t thread;
    _Atomic int ended;
    pthread_mutex_t lock; /* of the object: held while bytes are served, moved, mapped */

    /* memory */
    int segment_fd, beacon_fd;
    char *memory;
    themis_util_direct_beacon_t *beacon;
    themis_util_direct_slot_t *slot;
    themis_util_direct_cell_t *cell;
    char allocated[FAKE_EXTENTS];
    int half; /* of the memory, in which they are; the other one is for the next move */
    uint32_t grant;

    /* what it does */
    _Atomic uint64_t refuse; /* 0: grants; else the time that it tells */
    _Atomic int lie;

    /* what it was asked */
    _Atomic unsigned maps, unmaps, segments, reads, writes;
} fake_t;

void fake_start(fake_t *fake);
void fake_stop(fake_t *fake);

/* Takes the grant back, and moves all bytes to other memory: what is copied to the old one from now on is lost. */
void fake_revoke(fake_t *fake);
/* Closes the client's connection. */
void fake_disconnect(fake_t *fake);
