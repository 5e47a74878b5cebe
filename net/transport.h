/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a transport does for a net and for a connection. A net has two: between hosts net/tcp, or net/ucx where it is
 * told to, and net/local between processes of one host. A connection begins at the network and may move to the local
 * transport before it is open.
 */
#pragma once
#include <netinet/in.h>
#include "net/descriptor.h"
#include "net/frame.h"
#include "net/net.h"

enum { THEMIS_NET_NETWORK, THEMIS_NET_LOCAL, THEMIS_NET_TRANSPORTS };
enum { THEMIS_NET_MAX_QUEUED = 64 << 20 }; /* bytes that wait in one direction of a connection */

/* A received payload: bytes that are there, or a rendezvous that has to be fetched. */
typedef struct themis_net_payload {
    void *data;
    size_t length;
    int rendezvous;
    void (*release)(themis_net_t *net, void *data); /* not NULL: the receiver may set `kept`, and calls this later */
    int kept;
} themis_net_payload_t;

/* Called with the lock held for a frame to a connection that is neither lost nor closed. */
typedef void (*themis_net_on_frame_fn)(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                       themis_net_payload_t *payload);

/* Called once, with the lock held, when the transport no longer needs the buffer of a post or fetch. */
typedef void (*themis_net_done_fn)(void *arg, themis_status_t status);

/* A pull or push as its caller wants it: between the peer's exposed memory and ours. */
typedef struct themis_net_copy {
    const themis_net_descriptor_t *remote;
    uint64_t offset; /* in the remote range */
    const struct iovec *local;
    size_t count;
    uint64_t total; /* bytes of local, which the remote range has */
    int push;       /* 1: from local to remote */
} themis_net_copy_t;

/* Functions that may be NULL say so; of a connection's, the lock is held unless something else is said. */
typedef struct themis_net_transport {
    /* Makes the transport's state of a net; destroy is called also after a failure. */
    themis_status_t (*create)(themis_net_t *net);
    void (*destroy)(themis_net_t *net);
    /* Listens at *address, which `host` named, and sets it to what was taken. Lock held. */
    themis_status_t (*listen)(themis_net_t *net, const char *host, struct sockaddr_in *address);

    /* The next five are called by the progressing thread; progress of the network also by a thread that waits in
     * themis_net_unexpose or themis_net_destroy. */
    /* Looks for what has arrived; `thorough`: also where it costs a system call. 1: there was something. Lock held. */
    int (*progress)(themis_net_t *net, int thorough);
    /* Hands messages to the handlers; returns how many. Lock not held. NULL: messages come as frames. */
    unsigned (*receive)(themis_net_t *net);
    /* Before a sleep: has the descriptors signal what arrives; returns 0 if something is there. Lock held. */
    int (*arm)(themis_net_t *net);
    /* After a sleep. May be NULL. */
    void (*disarm)(themis_net_t *net);
    /* One of the transport's own descriptors is ready. Lock not held. May be NULL. */
    void (*on_event)(themis_net_t *net, uint64_t what);

    size_t chunk_bytes; /* of bulk data in a frame, at most */
    /* Starts to connect to conn->address by the network (lock not held), or moves the connection to this transport
     * until `deadline`. THEMIS_UNSUPPORTED: the peer cannot be reached this way. */
    themis_status_t (*connect)(themis_net_conn_t *conn, uint64_t deadline);
    /* A client goes on by the network, in state HANDSHAKE since the server is on another host, or in state PROVED. May
     * wait for munged. THEMIS_IN_PROGRESS: the server is to answer, and the state is PROVING. Lock not held. NULL: the
     * frame READY does it. */
    themis_status_t (*prove)(themis_net_conn_t *conn);
    /* Sends a message, in order with others. Lock not held. NULL: messages are posted as frames with numbers. */
    themis_status_t (*send)(themis_net_conn_t *conn, const void *bytes, size_t length);
    /* The same with a file descriptor; and that of the message whose handler runs. NULL: it cannot. Lock not held. */
    themis_status_t (*send_descriptor)(themis_net_conn_t *conn, const void *bytes, size_t length, int fd);
    int (*take_descriptor)(themis_net_conn_t *conn);
    /* Sends a frame; `key` is filled in. The payload is copied if `done` is NULL, else it stays until `done`, which is
     * called in any case, perhaps before this returns. */
    themis_status_t (*post)(themis_net_conn_t *conn, const themis_net_frame_t *frame, const void *payload,
                            size_t length, themis_net_done_fn done, void *arg);
    /* Brings a payload to `buffer` and calls `done`, perhaps before this returns. */
    void (*fetch)(themis_net_conn_t *conn, const themis_net_payload_t *payload, void *buffer, themis_net_done_fn done,
                  void *arg);
    /* Takes a staging buffer for `bytes` of exposed memory, returns its number or -1; gives it back. May be NULL. */
    int (*stage)(themis_net_conn_t *conn, uint64_t bytes, unsigned char **buffer);
    void (*unstage)(themis_net_conn_t *conn, int buffer);
    /* Copies in the calling thread, lock not held. THEMIS_UNSUPPORTED: use frames. May be NULL. */
    themis_status_t (*copy)(themis_net_conn_t *conn, const themis_net_copy_t *copy);
    /* Starts to close what the connection has of this transport, with everything flushed or not. */
    void (*close)(themis_net_conn_t *conn, int flush);
    /* With the last reference, the lock held or not. May be NULL. */
    void (*free)(themis_net_conn_t *conn);
} themis_net_transport_t;
