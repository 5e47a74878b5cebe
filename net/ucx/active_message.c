/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/ucx/active_message.h"
#include <stdlib.h>
#include <string.h>

enum { AM_ID = 1 };

/* A send or a fetch under way. */
typedef struct operation {
    themis_net_conn_t *conn; /* holds a reference */
    themis_net_done_fn done;
    void *arg;
    size_t length;
    themis_net_frame_t frame;
    unsigned char bytes[];
} operation_t;

themis_status_t themis_net_active_message_status(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
        return THEMIS_OK;
    case UCS_ERR_NO_MEMORY:
        return THEMIS_NO_MEMORY;
    case UCS_ERR_CANCELED:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_NOT_CONNECTED:
        return THEMIS_DISCONNECTED;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_SOME_CONNECTS_FAILED:
        return THEMIS_UNREACHABLE;
    case UCS_ERR_REJECTED:
        return THEMIS_REFUSED;
    case UCS_ERR_MESSAGE_TRUNCATED:
        return THEMIS_PROTOCOL;
    default:
        return THEMIS_IO;
    }
}

/* --- arrivals ---------------------------------------------------------------------------------------------------- */

static void data_release(themis_net_t *net, void *data)
{
    ucp_am_data_release(net->ucx->worker, data);
}

/* The connection a frame is for. A HELLO has no key yet: the endpoint by which it came tells. */
static themis_net_conn_t *receiver_find(themis_net_t *net, const themis_net_frame_t *frame,
                                        const ucp_am_recv_param_t *param)
{
    themis_net_conn_t *conn;

    if (frame->type != THEMIS_NET_HELLO) {
        HASH_FIND(hh, net->conns, &frame->key, sizeof frame->key, conn);
        return conn;
    }
    if (frame->key != THEMIS_NET_MAGIC || !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP))
        return NULL;
    for (conn = net->conns; conn != NULL; conn = conn->hh.next)
        if (conn->endpoint == param->reply_ep)
            return conn;
    return NULL;
}

static ucs_status_t on_arrival(void *arg, const void *header, size_t header_length, void *data, size_t length,
                               const ucp_am_recv_param_t *param)
{
    themis_net_t *net = arg;
    themis_net_frame_t frame;
    themis_net_payload_t payload = {
        .data = data, .length = length, .rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0};

    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA)
        payload.release = data_release;
    if (header_length != sizeof frame)
        return UCS_OK;
    memcpy(&frame, header, sizeof frame);
    themis_net_frame_swap(&frame);
    themis_net_conn_t *conn = receiver_find(net, &frame, param);
    /* who is at the other end of a local connection was proved there and nowhere else */
    if (conn != NULL && conn->transport == net->transports[THEMIS_NET_NETWORK] && !themis_net_conn_is_dead(conn))
        net->on_frame(conn, &frame, &payload);
    return payload.kept ? UCS_INPROGRESS : UCS_OK;
}

ucs_status_t themis_net_active_message_receive(themis_net_t *net)
{
    ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                    UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS,
                                      .id = AM_ID,
                                      .flags = UCP_AM_FLAG_WHOLE_MSG,
                                      .cb = on_arrival,
                                      .arg = net};

    return ucp_worker_set_am_recv_handler(net->ucx->worker, &handler);
}

/* --- sending and fetching ---------------------------------------------------------------------------------------- */

static operation_t *operation_new(themis_net_conn_t *conn, themis_net_done_fn done, void *arg, size_t extra)
{
    operation_t *operation = malloc(sizeof *operation + extra);

    if (operation == NULL)
        return NULL;
    *operation = (operation_t){.conn = conn, .done = done, .arg = arg};
    themis_net_conn_ref(conn);
    conn->borrowed += done != NULL;
    return operation;
}

static void operation_end(operation_t *operation, ucs_status_t status)
{
    if (operation->done != NULL) {
        operation->conn->borrowed--;
        operation->done(operation->arg, themis_net_active_message_status(status));
    }
    operation->conn->queued_out -= operation->length;
    themis_net_conn_unref(operation->conn);
    free(operation);
}

/* What UCX has returned: a request, which may have ended and freed the operation, or how the operation has ended. */
static themis_status_t operation_started(themis_net_t *net, operation_t *operation, ucs_status_ptr_t request)
{
    if (UCS_PTR_IS_PTR(request)) {
        net->ucx->operations++;
        net->kick = 1;
        return THEMIS_OK;
    }
    operation_end(operation, UCS_PTR_STATUS(request));
    return themis_net_active_message_status(UCS_PTR_STATUS(request));
}

static void on_sent(void *request, ucs_status_t status, void *arg)
{
    ((operation_t *)arg)->conn->net->ucx->operations--;
    operation_end(arg, status);
    ucp_request_free(request);
}

static void on_fetched(void *request, ucs_status_t status, size_t length, void *arg)
{
    on_sent(request, status, arg);
}

themis_status_t themis_net_active_message_post(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                               const void *payload, size_t length, themis_net_done_fn done, void *arg)
{
    ucp_request_param_t param = {.op_attr_mask =
                                     UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
                                 .cb.send = on_sent,
                                 .flags = frame->type == THEMIS_NET_HELLO ? UCP_AM_SEND_FLAG_REPLY : 0};
    operation_t *operation = conn->endpoint == NULL ? NULL : operation_new(conn, done, arg, done == NULL ? length : 0);

    if (operation == NULL) {
        if (done != NULL)
            done(arg, THEMIS_DISCONNECTED);
        return conn->endpoint == NULL ? THEMIS_DISCONNECTED : THEMIS_NO_MEMORY;
    }
    operation->length = length;
    operation->frame = *frame;
    operation->frame.key = frame->type == THEMIS_NET_HELLO ? THEMIS_NET_MAGIC : conn->peer_key;
    themis_net_frame_swap(&operation->frame);
    if (done == NULL && length > 0)
        payload = memcpy(operation->bytes, payload, length);
    conn->queued_out += length;
    param.user_data = operation;
    return operation_started(conn->net, operation,
                             ucp_am_send_nbx(conn->endpoint, AM_ID, &operation->frame, sizeof operation->frame,
                                             length > 0 ? payload : NULL, length, &param));
}

void themis_net_active_message_fetch(themis_net_conn_t *conn, const themis_net_payload_t *payload, void *buffer,
                                     themis_net_done_fn done, void *arg)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                 .cb.recv_am = on_fetched};

    if (!payload->rendezvous) {
        memcpy(buffer, payload->data, payload->length);
        done(arg, THEMIS_OK);
        return;
    }
    operation_t *operation = operation_new(conn, done, arg, 0);
    if (operation == NULL) {
        done(arg, THEMIS_NO_MEMORY);
        return;
    }
    param.user_data = operation;
    operation_started(conn->net, operation,
                      ucp_am_recv_data_nbx(conn->net->ucx->worker, payload->data, buffer, payload->length, &param));
}
