/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages and bulk data between processes.
 *
 * Messages arrive whole and in order per connection. Bulk data does not travel in messages: the client exposes memory
 * and puts a small descriptor of it into its request; when the server serves the request it pulls from or pushes to
 * that memory, any part of it, in any order.
 *
 * Between hosts all goes by TCP (net/tcp), in sealed records of peers that have shown each other who they are
 * (net/auth.h), or by UCX (net/ucx), which does not ask who a peer is, where the net is told to. For bulk data the
 * server asks for the bytes, or sends them, with further frames, and the client has to make progress.
 *
 * Two processes of one host (net/local) use a local socket and memory that both map, and nothing else: so what the
 * kernel says of the socket's peer holds for each message and each byte of the connection. A few KiB of bulk data go
 * through that memory; more is copied once, by process_vm_readv or process_vm_writev in the server's calling thread, if
 * both processes belong to one user (the credentials of the socket decide, never what the peer says of itself).
 *
 * Threads: every function may be called from any thread. Handlers run in the thread that calls themis_net_progress (or
 * that waits in themis_net_connect), without internal locks held, one at a time; they may send, pull, push, expose and
 * close, but not connect. Nothing here sleeps while it holds a lock.
 *
 * Processes: a child of a fork must not use a net of its parent, but may make one. UCX does not survive a fork, so one
 * with UCX is refused (THEMIS_UNSUPPORTED) if the parent has had one; a daemon forks first.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include "net/auth.h"
#include "themis/status.h"

typedef struct themis_net themis_net_t;
typedef struct themis_net_conn themis_net_conn_t;
typedef struct themis_net_exposed themis_net_exposed_t;

enum { THEMIS_NET_DESCRIPTOR_BYTES = 40 };

typedef struct themis_net_handlers {
    /* A peer has connected to a listening net. May be NULL. */
    void (*opened)(void *arg, themis_net_conn_t *conn);
    /* A message has arrived; `bytes` are borrowed for the call. */
    void (*message)(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length);
    /* The connection is gone, for `why`; called once for each connection, and the last call for it. It is not called
     * for a connection that this side closed. */
    void (*closed)(void *arg, themis_net_conn_t *conn, themis_status_t why);
} themis_net_handlers_t;

/* What connects hosts. */
typedef enum themis_net_network { THEMIS_NET_TCP, THEMIS_NET_UCX } themis_net_network_t;

typedef struct themis_net_options {
    uint64_t spin;     /* ns that themis_net_progress polls before it sleeps */
    int local_copy;    /* 1: use the local transport between processes of one host; 0: all by the network */
    int yield;         /* 1: sched_yield between polls, for processes that share cores with their peers */
    int emulate_hosts; /* for tests: a peer that connects by the network counts as one of another host */
    themis_net_network_t network;
    themis_net_auth_t auth; /* of TCP; UCX has none */
} themis_net_options_t;

/* Handlers and `arg` are kept until themis_net_destroy. Options NULL: themis_net_options_default. */
void themis_net_options_default(themis_net_options_t *options); /* 20 us, local copies, yield, TCP, auth LOCAL */
themis_status_t themis_net_create(const themis_net_options_t *options, const themis_net_handlers_t *handlers, void *arg,
                                  themis_net_t **net);

/* Closes what is open. No other thread may be in a call. NULL is allowed. */
void themis_net_destroy(themis_net_t *net);

/* Accepts connections at host (NULL or "": all addresses) and port (0: any; *bound is what was taken). IPv4. */
themis_status_t themis_net_listen(themis_net_t *net, const char *host, uint16_t port, uint16_t *bound);

/*
 * Connects, progressing `net` meanwhile. THEMIS_NO_SERVER, THEMIS_UNREACHABLE or THEMIS_TIMED_OUT after at most
 * `timeout` ns; never hangs. The caller owns one reference.
 */
themis_status_t themis_net_connect(themis_net_t *net, const char *host, uint16_t port, uint64_t timeout,
                                   themis_net_conn_t **conn);

/*
 * The same in steps, for several connections at a time. themis_net_connect_start gives the caller a reference, but
 * until themis_net_connect_progress has succeeded the connection may only be closed. The latter progresses `net` for at
 * most `timeout` ns (0: one look); once the server has answered it may take up to 2 s more. THEMIS_IN_PROGRESS: not
 * connected yet; any failure has closed the connection and dropped the reference.
 */
themis_status_t themis_net_connect_start(themis_net_t *net, const char *host, uint16_t port, themis_net_conn_t **conn);
themis_status_t themis_net_connect_progress(themis_net_conn_t *conn, uint64_t timeout);

/* Closes the connection; pending pulls and pushes end with THEMIS_DISCONNECTED. The object lives on until the last
 * reference is dropped; calls on it then fail with THEMIS_DISCONNECTED. */
void themis_net_conn_close(themis_net_conn_t *conn);
void themis_net_conn_ref(themis_net_conn_t *conn);
void themis_net_conn_unref(themis_net_conn_t *conn);

/* A pointer of the caller's that goes with the connection; NULL at first. */
void themis_net_conn_set_user(themis_net_conn_t *conn, void *user);
void *themis_net_conn_user(const themis_net_conn_t *conn);

/* "host:port" of the peer, or its process and user if it is on this host, to be shown; lives as long as the
 * connection. */
const char *themis_net_conn_peer(const themis_net_conn_t *conn);

/*
 * Who the peer is: of a local connection as the kernel knows it, of another one as it has proved (net/auth.h).
 * THEMIS_UNSUPPORTED: it is on another host, and has proved nothing. THEMIS_ACCESS: the same, but it is on this host,
 * or may be, and did not use the local socket; it could be any user. May ask the system for the addresses of this host.
 */
typedef struct themis_net_peer_credentials {
    pid_t pid; /* local */
    uid_t uid;
    gid_t gid;
    int local;  /* 1: the connection is a local one */
    int server; /* 1: the peer has the servers' key */
} themis_net_peer_credentials_t;
themis_status_t themis_net_conn_credentials(const themis_net_conn_t *conn, themis_net_peer_credentials_t *credentials);

/* Sends a message of up to 2 MiB (else THEMIS_RANGE); the bytes are copied if they cannot leave at once. THEMIS_BUSY:
 * 64 MiB wait already for a peer that does not read. What is sent just before a close may be lost. */
themis_status_t themis_net_send(themis_net_conn_t *conn, const void *bytes, size_t length);

/*
 * The same with a file descriptor, which stays the caller's: only by a server, to a client on its host. The server
 * takes none. THEMIS_UNSUPPORTED: the peer is on another host. THEMIS_BUSY: also while too many have not been received.
 */
themis_status_t themis_net_send_descriptor(themis_net_conn_t *conn, const void *bytes, size_t length, int fd);

/* In the handler of a message: the file descriptor that came with it, owned by the caller, or -1. One that is not taken
 * is closed when the handler returns. */
int themis_net_take_descriptor(themis_net_conn_t *conn);

/*
 * Makes progress and calls handlers. Polls for up to options.spin ns without an event, then sleeps until something
 * arrives, themis_net_wake is called, or `timeout` ns are over (0: do not sleep, and do not spin either). Returns the
 * number of events handled. Several threads may be in it: one polls, the others wait.
 */
unsigned themis_net_progress(themis_net_t *net, uint64_t timeout);

/* Ends a sleep in themis_net_progress, now or the next one. Async-signal-safe. */
void themis_net_wake(themis_net_t *net);

/* --- client side of bulk data ------------------------------------------------------------------------------------ */

/*
 * Exposes `count` segments of memory, in their order one range of bytes, to the peer of `conn`: to pull from (writable
 * 0), or to push to. The array is copied, the memory stays the caller's and must neither move nor, if it is pulled
 * from, change before themis_net_unexpose.
 */
themis_status_t themis_net_expose(themis_net_conn_t *conn, const struct iovec *segments, size_t count, int writable,
                                  themis_net_exposed_t **exposed);

/*
 * To be called when the peer has said that it is done with memory that was exposed to push to: afterwards the bytes are
 * there. Only the first call has an effect, so what is written to the memory later stays. NULL is allowed.
 */
void themis_net_exposed_flush(themis_net_exposed_t *exposed);

/* The descriptor to put into a request. */
void themis_net_exposed_descriptor(const themis_net_exposed_t *exposed,
                                   unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES]);

/* Ends the exposure: messages of the peer cannot reach the memory any more. Waits for a transfer that is under way in
 * this process. NULL is allowed. */
void themis_net_unexpose(themis_net_exposed_t *exposed);

/* --- server side of bulk data ------------------------------------------------------------------------------------ */

/* Called from themis_net_progress when a transfer that returned THEMIS_IN_PROGRESS has ended. */
typedef void (*themis_net_moved_fn)(void *arg, themis_status_t status);

/*
 * Moves bytes [offset, offset + sum of local lengths) of the peer's exposed range into (pull) or from (push) local
 * memory. THEMIS_OK: done, `moved` will not be called. THEMIS_IN_PROGRESS: `moved` will be called once; until then the
 * local memory must stay, but no other argument. Any other status: not started. THEMIS_RANGE: outside of what is
 * exposed; THEMIS_PROTOCOL: not a descriptor; THEMIS_ACCESS: the other direction was exposed.
 */
themis_status_t themis_net_pull(themis_net_conn_t *conn, const unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES],
                                uint64_t offset, const struct iovec *local, size_t count, themis_net_moved_fn moved,
                                void *arg);
themis_status_t themis_net_push(themis_net_conn_t *conn, const unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES],
                                uint64_t offset, const struct iovec *local, size_t count, themis_net_moved_fn moved,
                                void *arg);
