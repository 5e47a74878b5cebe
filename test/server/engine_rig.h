/* SPDX-License-Identifier: BSD-3-Clause */
/* A server in this process and clients that speak the wire format to it, over loopback. */
#pragma once
#include "net/net.h"
#include "proto/proto.h"
#include "server/drain.h"
#include "server/engine.h"
#include "server/lifecycle.h"

#define RIG_MIB (UINT64_C(1) << 20)

typedef struct rig_client {
    uint32_t uid;    /* that the kernel has told the server */
    int is_unlisted; /* 1: without the flag that servers want to have before they make an object */
    int raw;         /* 1: requests are sent as they are, without a capability that the rig has signed */
    themis_net_t *net;
    themis_net_conn_t *conn;
    uint64_t session, next_id;
    /* the last reply, or the one that is waited for if that came before it */
    uint64_t awaited;
    int replied, closed;
    uint32_t replies; /* so far */
    size_t length;
    uint8_t bytes[1 << 16];
    int descriptor; /* that came with it, or -1; owned by who takes it */
    themis_proto_header_t header;
    themis_proto_body_t body;
} rig_client_t;

/* What the servers sign capabilities with; not freed. */
themis_server_capabilities_t *rig_capabilities(void);
/* A running server; `change` (may be NULL) alters the configuration before. */
themis_server_t *rig_server_start(void (*change)(themis_server_config_t *config));
void rig_server_stop(themis_server_t *server);
/* Requests that a worker or the network has. */
uint32_t rig_in_service(themis_server_t *server);

/* A client with its own net; `session` 0: none, and no HELLO is sent. */
rig_client_t *rig_client_open(const themis_server_t *server, uint64_t session, const char *job);
/* The same as if from another host: bytes move only while the client progresses its net. */
rig_client_t *rig_client_open_far(const themis_server_t *server, uint64_t session, const char *job);
/* With GOODBYE, or without a message. */
void rig_client_close(rig_client_t *client, int goodbye);

/* Sends a request and returns its id; the reply comes by rig_wait. One about an object without a capability gets one
 * with all rights, for the client's user, unless the client is raw. */
uint64_t rig_send(rig_client_t *client, themis_proto_opcode_t opcode, const void *body);
/* The same with an id of an earlier request. */
void rig_send_as(rig_client_t *client, themis_proto_opcode_t opcode, const void *body, uint64_t id);
/* Waits for the reply to `id`: its status; THEMIS_TIMED_OUT after `ms`. */
themis_status_t rig_wait(rig_client_t *client, uint64_t id, unsigned ms);
/* Sends a request and waits for its reply. */
themis_status_t rig_call(rig_client_t *client, themis_proto_opcode_t opcode, const void *body);

/* Exposes memory for io's transfer; the caller unexposes it. */
themis_net_exposed_t *rig_expose(rig_client_t *client, void *memory, size_t length, int writable,
                                 themis_proto_io_t *io);
/* READ or WRITE of runs. */
themis_status_t rig_io(rig_client_t *client, themis_proto_opcode_t opcode, uint64_t object,
                       const themis_proto_run_t *runs, uint32_t count, void *memory, size_t length);
themis_status_t rig_write(rig_client_t *client, uint64_t object, uint64_t offset, const void *memory, size_t length);
themis_status_t rig_read(rig_client_t *client, uint64_t object, uint64_t offset, void *memory, size_t length);

/* Sends a WRITE of the object's first bytes and returns its id; *exposed has to be unexposed. */
uint64_t rig_send_write(rig_client_t *client, uint64_t object, void *memory, size_t length,
                        themis_net_exposed_t **exposed);

/* Bytes that depend on `seed`. */
void rig_fill(uint8_t *bytes, size_t length, unsigned seed);
themis_proto_text_t rig_text(const char *bytes);
/* CREATE of a file. */
themis_status_t rig_create(rig_client_t *client, const char *path, uint32_t flags, uint64_t *object);
/* Has the job of this user a place in the policy's tree? */
int rig_is_in_tree(themis_server_t *server, const char *id);
