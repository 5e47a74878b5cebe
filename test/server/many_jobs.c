/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * many_jobs PORT FROM TO: clients of the jobs job-FROM to job-(TO - 1) look up one name at the server on this host, one
 * after the other, and disconnect without GOODBYE. Their jobs stay in the server's table for its `lease`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "net/net.h"
#include "proto/proto.h"
#include "util/clock.h"

typedef struct reply {
    int arrived, refused; /* replies so far */
} reply_t;

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    reply_t *reply = arg;
    themis_proto_header_t header;

    reply->arrived++;
    reply->refused += themis_proto_decode_header(bytes, length, &header) != THEMIS_OK || header.status != THEMIS_OK;
}

static themis_status_t send_request(themis_net_conn_t *conn, themis_proto_opcode_t opcode, const void *body)
{
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = (uint16_t)opcode, .id = opcode};
    uint8_t bytes[512];
    size_t length;
    themis_status_t status = themis_proto_encode(&header, body, bytes, sizeof bytes, &length);

    return status == THEMIS_OK ? themis_net_send(conn, bytes, length) : status;
}

static themis_status_t ask(themis_net_conn_t *conn, long number)
{
    themis_proto_lookup_t path = {{"/", 1}};
    themis_proto_hello_t hello = {.session = 1000000 + (uint64_t)number, .nodes = 1, .priority = 1};
    char job[32];

    hello.job = (themis_proto_text_t){job, (uint32_t)snprintf(job, sizeof job, "job-%ld", number)};
    hello.uid = getuid();
    hello.gid = getgid();
    themis_status_t status = send_request(conn, THEMIS_OP_HELLO, &hello);
    return status == THEMIS_OK ? send_request(conn, THEMIS_OP_LOOKUP, &path) : status;
}

static themis_status_t visit(themis_net_t *net, reply_t *reply, uint16_t port, long number)
{
    uint64_t until = themis_util_clock_now() + 10 * THEMIS_NS_PER_S;
    themis_net_conn_t *conn;

    *reply = (reply_t){0};
    themis_status_t status = themis_net_connect(net, "127.0.0.1", port, 10 * THEMIS_NS_PER_S, &conn);
    if (status != THEMIS_OK)
        return status;
    status = ask(conn, number);
    while (status == THEMIS_OK && reply->arrived < 2 && themis_util_clock_now() < until)
        themis_net_progress(net, THEMIS_NS_PER_S);
    if (status == THEMIS_OK && (reply->arrived < 2 || reply->refused))
        status = THEMIS_REFUSED;
    themis_net_conn_close(conn);
    themis_net_conn_unref(conn);
    return status;
}

int main(int argc, char **argv)
{
    static const themis_net_handlers_t handlers = {.message = on_message};
    themis_net_t *net;
    reply_t reply;

    if (argc != 4)
        return 2;
    themis_status_t status = themis_net_create(NULL, &handlers, &reply, &net);
    if (status != THEMIS_OK)
        return 1;
    for (long i = atol(argv[2]); status == THEMIS_OK && i < atol(argv[3]); i++)
        status = visit(net, &reply, (uint16_t)atoi(argv[1]), i);
    themis_net_destroy(net);
    if (status != THEMIS_OK)
        fprintf(stderr, "%s\n", themis_status_string(status));
    return status != THEMIS_OK;
}
