/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a local connection consists of: the socket and the memory that both processes map.
 *
 * A process that is about to sleep, or that waits for room, says so in the memory that both share; only then does the
 * other wake it, by a byte in the socket. So two busy processes exchange messages without system calls. Nobody needs
 * the bytes: they are read when the peer may have sent MAX_WAKEUPS of them. A socket holds more than 250; where it is
 * full, the process that sleeps has been woken anyway.
 */
#pragma once
#include "net/conn.h"
#include "net/local/ring.h"
#include "net/local/staging.h"

/* The shared memory. The process that sends through rings[i] uses staging[i]. */
enum { THEMIS_NET_TO_SERVER = 0, THEMIS_NET_TO_CLIENT = 1 };
enum { THEMIS_NET_MAX_DESCRIPTORS = 8 }; /* received before the messages that they belong to */
typedef struct themis_net_channel_shared {
    themis_net_ring_shared_t rings[2];
    themis_net_staging_shared_t staging[2];
} themis_net_channel_shared_t;

typedef struct themis_net_channel {
    int fd;     /* the socket; -1 none */
    int pid_fd; /* readable when the peer has ended; -1 none */
    themis_net_peer_credentials_t peer;
    atomic_int may_copy; /* by process_vm_readv and process_vm_writev */
    atomic_int hung_up;  /* the peer is gone, but what it has written has not been read yet */
    themis_net_channel_shared_t *memory;
    atomic_uint wakeups; /* how often the peer was allowed to wake us since the socket was emptied */

    uint32_t staged; /* our staging buffers in use, a bit for each; net->lock */
    themis_net_staging_shared_t *mine, *theirs;

    pthread_mutex_t out_lock; /* guards `out` to `has_waiting`, which is read without it too */
    themis_net_ring_t out;
    unsigned char *waiting; /* bytes for which the ring had no room: [waiting_start, waiting_end) */
    size_t waiting_start, waiting_end, waiting_room;
    atomic_int has_waiting;

    themis_net_ring_t in; /* the rest belongs to the progressing thread */
    unsigned char *message;
    size_t message_length, message_have;
    int message_is_frame, message_has_descriptor;
    int receives_descriptors;                    /* 1: client */
    int descriptors[THEMIS_NET_MAX_DESCRIPTORS]; /* the oldest first */
    unsigned descriptor_count;
    int delivered; /* that of the message whose handler runs; -1: none, or it was taken */
} themis_net_channel_t;

/* Takes ownership of the socket `fd`, and maps the file `memory`, which the caller closes. NULL on failure: `fd` is
 * closed. */
themis_net_channel_t *themis_net_channel_new(int fd, int memory, int server);
/* Moves the connection to the local transport, which takes ownership of `channel`; net->lock held. Returns 0 if the
 * connection has been lost or cannot be moved. */
int themis_net_channel_attach(themis_net_conn_t *conn, themis_net_channel_t *channel);

void themis_net_channel_wake_peer(const themis_net_channel_t *channel);
/* The next file descriptor that came by the socket, owned by the caller, or -1. Progressing thread. */
int themis_net_channel_receive_descriptor(themis_net_channel_t *channel);
/* Before a sleep of the progressing thread: asks the peer to wake us. Returns 0 if it must not sleep: there may be
 * something to read, or the socket has just been emptied. */
int themis_net_channel_arm(themis_net_conn_t *conn);
void themis_net_channel_disarm(themis_net_channel_t *channel);
/* The peer is gone: what it has written is read, then the connection is lost. net->lock held. */
void themis_net_channel_hang_up(themis_net_conn_t *conn);

/* Shuts the socket down (net->lock held); frees (last reference; NULL is allowed). */
void themis_net_channel_close(themis_net_conn_t *conn);
void themis_net_channel_free(themis_net_channel_t *channel);
