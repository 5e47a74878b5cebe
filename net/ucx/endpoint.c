/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/ucx/endpoint.h"
#include <netdb.h>
#include <string.h>
#include "net/ucx/active_message.h"
#include "util/log.h"

enum { MAX_UNAUTHENTICATED = 1024 };

static void on_error(void *arg, ucp_ep_h endpoint, ucs_status_t status)
{
    themis_net_conn_t *conn = arg;

    if (conn->endpoint == endpoint)
        themis_net_conn_lose(conn, themis_net_active_message_status(status));
}

static themis_status_t endpoint_create(themis_net_conn_t *conn, ucp_ep_params_t *params)
{
    params->field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params->err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params->err_handler.cb = on_error;
    params->err_handler.arg = conn;
    ucs_status_t status = ucp_ep_create(conn->net->ucx->worker, params, &conn->endpoint);
    if (status == UCS_OK) {
        themis_net_conn_ref(conn); /* until the endpoint is closed */
        return THEMIS_OK;
    }
    conn->endpoint = NULL;
    themis_debug("cannot make an endpoint for %s: %s", conn->peer, ucs_status_string(status));
    return status == UCS_ERR_NO_MEMORY ? THEMIS_NO_MEMORY : THEMIS_UNREACHABLE;
}

themis_status_t themis_net_endpoint_connect(themis_net_conn_t *conn, uint64_t deadline)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR,
                              .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
                              .sockaddr = {(const struct sockaddr *)&conn->address, sizeof conn->address}};
    themis_net_frame_t hello = {.type = THEMIS_NET_HELLO, .id = conn->key, .token = THEMIS_NET_WIRE};

    themis_net_lock(conn->net);
    themis_status_t status = endpoint_create(conn, &params);
    if (status == THEMIS_OK)
        status = themis_net_active_message_post(conn, &hello, NULL, 0, NULL, NULL);
    themis_net_unlock(conn->net);
    return status;
}

/* Whether it is an address of this host is found out when it matters: that asks the system. */
static void set_peer(themis_net_conn_t *conn, ucp_conn_request_h request)
{
    ucp_conn_request_attr_t attr = {.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR};
    char host[48], port[8];

    conn->needs_local = conn->net->options.local_copy && !conn->net->options.emulate_hosts;
    if (ucp_conn_request_query(request, &attr) != UCS_OK)
        return;
    memcpy(&conn->address, &attr.client_address, sizeof conn->address);
    if (getnameinfo((struct sockaddr *)&attr.client_address, sizeof attr.client_address, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(conn->peer, sizeof conn->peer, "%s:%s", host, port);
}

void themis_net_endpoint_accept(ucp_conn_request_h request, void *arg)
{
    themis_net_t *net = arg;
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST, .conn_request = request};
    int room = net->unauthenticated < MAX_UNAUTHENTICATED && themis_net_conn_is_possible(net);
    themis_net_conn_t *conn = room ? themis_net_conn_new(net, 1) : NULL;

    if (conn == NULL) {
        ucp_listener_reject(net->ucx->listener, request);
        return;
    }
    set_peer(conn, request);
    if (endpoint_create(conn, &params) != THEMIS_OK)
        themis_net_conn_lose(conn, THEMIS_UNREACHABLE);
}

static void on_closed(void *request, ucs_status_t status, void *arg)
{
    themis_net_conn_t *conn = arg;

    conn->net->closing--;
    themis_net_conn_unref(conn);
    ucp_request_free(request);
}

void themis_net_endpoint_close(themis_net_conn_t *conn, int flush)
{
    ucp_request_param_t param = {.op_attr_mask =
                                     UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
                                 .cb.send = on_closed,
                                 .user_data = conn,
                                 .flags = flush ? 0 : UCP_EP_CLOSE_FLAG_FORCE};
    ucp_ep_h endpoint = conn->endpoint;

    if (endpoint == NULL)
        return;
    conn->endpoint = NULL;
    conn->net->closing++;
    conn->net->kick = 1;
    ucs_status_ptr_t request = ucp_ep_close_nbx(endpoint, &param);
    if (UCS_PTR_IS_PTR(request))
        return;
    conn->net->closing--;
    themis_net_conn_unref(conn);
}
