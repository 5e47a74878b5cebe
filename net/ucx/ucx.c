/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX: one context and one worker for each net, a listener, an endpoint for each connection, and active messages whose
 * header is a frame. All of it under net->lock. The settings are those of our own context: the MPI library of the same
 * process has another one, and the environment is not touched.
 */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "net/local/channel.h"
#include "util/clock.h"
#include "util/log.h"

enum { AM_ID = 1, MAX_STRANGERS = 1024 };

/*
 * Shared memory of UCX is left out: it has no way to find out that a peer died, and one receive queue for all peers,
 * which a peer can spoil for the others. What is on one host goes through net/local/channel.c instead.
 */
static const char *const settings[][2] = {{"TLS", "^sm,self"}, {"CM_REUSEADDR", "y"}};

/* A send or a fetch under way. */
typedef struct op {
    themis_net_conn_t *conn; /* holds a reference */
    themis_net_done_fn done;
    void *arg;
    size_t length;
    themis_net_frame_t frame;
    unsigned char bytes[];
} op_t;

static themis_status_t status_from_ucx(ucs_status_t status)
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

/* The connection a frame is for. A HELLO has no key yet: the endpoint it came over tells. */
static themis_net_conn_t *receiver(themis_net_t *net, const themis_net_frame_t *frame, const ucp_am_recv_param_t *param)
{
    themis_net_conn_t *conn;

    if (frame->type != THEMIS_NET_HELLO) {
        HASH_FIND(hh, net->conns, &frame->key, sizeof frame->key, conn);
        return conn;
    }
    if (frame->key != THEMIS_NET_MAGIC || !(param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP))
        return NULL;
    for (conn = net->conns; conn != NULL; conn = conn->hh.next)
        if (conn->ep == param->reply_ep)
            return conn;
    return NULL;
}

static void hand_over(themis_net_conn_t *conn, const themis_net_frame_t *frame, themis_net_payload_t *payload)
{
    switch (frame->type) {
    case THEMIS_NET_HELLO:
        themis_net_on_hello(conn, frame);
        break;
    case THEMIS_NET_WELCOME:
        themis_net_on_welcome(conn, frame);
        break;
    case THEMIS_NET_READY:
        themis_net_on_ready(conn);
        break;
    case THEMIS_NET_MESSAGE:
        themis_net_on_message(conn, frame, payload);
        break;
    default:
        themis_net_on_bulk(conn, frame, payload);
    }
}

static ucs_status_t on_arrival(void *arg, const void *header, size_t header_length, void *data, size_t length,
                               const ucp_am_recv_param_t *param)
{
    themis_net_t *net = arg;
    themis_net_frame_t frame;
    themis_net_payload_t payload = {.data = data,
                                    .length = length,
                                    .rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0,
                                    .keepable = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0};

    if (header_length != sizeof frame)
        return UCS_OK;
    memcpy(&frame, header, sizeof frame);
    themis_net_frame_swap(&frame);
    themis_net_conn_t *conn = receiver(net, &frame, param);
    /* who is at the other end of a local connection was proved there and nowhere else */
    if (conn != NULL && conn->local == NULL && !themis_net_conn_is_dead(conn))
        hand_over(conn, &frame, &payload);
    return payload.kept ? UCS_INPROGRESS : UCS_OK;
}

/* --- sending and fetching ---------------------------------------------------------------------------------------- */

static void op_end(op_t *op, ucs_status_t status)
{
    if (op->done != NULL) {
        op->conn->borrowed--;
        op->done(op->arg, status_from_ucx(status));
    }
    op->conn->queued_out -= op->length;
    themis_net_conn_unref(op->conn);
    free(op);
}

static void on_sent(void *request, ucs_status_t status, void *arg)
{
    ((op_t *)arg)->conn->net->ops--;
    op_end(arg, status);
    ucp_request_free(request);
}

static void on_fetched(void *request, ucs_status_t status, size_t length, void *arg)
{
    ((op_t *)arg)->conn->net->ops--;
    op_end(arg, status);
    ucp_request_free(request);
}

/* The ring takes a copy, so `payload` is not needed any more when this returns. */
static themis_status_t post_locally(themis_net_conn_t *conn, const themis_net_frame_t *frame, const void *payload,
                                    size_t length, themis_net_done_fn done, void *arg)
{
    themis_status_t status = themis_net_local_post(conn, frame, payload, length);

    if (done != NULL)
        done(arg, status);
    return status;
}

themis_status_t themis_net_post(themis_net_conn_t *conn, const themis_net_frame_t *frame, const void *payload,
                                size_t length, themis_net_done_fn done, void *arg)
{
    ucp_request_param_t param = {.op_attr_mask =
                                     UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
                                 .cb.send = on_sent,
                                 .flags = frame->type == THEMIS_NET_HELLO ? UCP_AM_SEND_FLAG_REPLY : 0};
    if (conn->local != NULL)
        return post_locally(conn, frame, payload, length, done, arg);
    op_t *op = conn->ep == NULL ? NULL : malloc(sizeof *op + (done == NULL ? length : 0));
    if (op == NULL) {
        if (done != NULL)
            done(arg, THEMIS_DISCONNECTED);
        return conn->ep == NULL ? THEMIS_DISCONNECTED : THEMIS_NO_MEMORY;
    }
    *op = (op_t){.conn = conn, .done = done, .arg = arg, .length = length, .frame = *frame};
    op->frame.key = frame->type == THEMIS_NET_HELLO ? THEMIS_NET_MAGIC : conn->peer_key;
    themis_net_frame_swap(&op->frame);
    if (done == NULL && length > 0)
        payload = memcpy(op->bytes, payload, length);
    themis_net_conn_ref(conn);
    conn->queued_out += length;
    conn->borrowed += done != NULL;
    param.user_data = op;
    ucs_status_ptr_t request =
        ucp_am_send_nbx(conn->ep, AM_ID, &op->frame, sizeof op->frame, length > 0 ? payload : NULL, length, &param);
    if (UCS_PTR_IS_PTR(request)) {
        conn->net->ops++;
        conn->net->kick = 1;
        return THEMIS_OK;
    }
    ucs_status_t status = UCS_PTR_STATUS(request);
    op_end(op, status);
    return status_from_ucx(status);
}

void themis_net_fetch(themis_net_conn_t *conn, const themis_net_payload_t *payload, void *buffer,
                      themis_net_done_fn done, void *arg)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                 .cb.recv_am = on_fetched};

    if (!payload->rendezvous) {
        memcpy(buffer, payload->data, payload->length);
        done(arg, THEMIS_OK);
        return;
    }
    op_t *op = calloc(1, sizeof *op);
    if (op == NULL) {
        done(arg, THEMIS_NO_MEMORY);
        return;
    }
    op->conn = conn;
    op->done = done;
    op->arg = arg;
    param.user_data = op;
    themis_net_conn_ref(conn);
    conn->borrowed++;
    ucs_status_ptr_t request = ucp_am_recv_data_nbx(conn->net->worker, payload->data, buffer, payload->length, &param);
    if (UCS_PTR_IS_PTR(request)) {
        conn->net->ops++;
        conn->net->kick = 1;
    } else {
        op_end(op, UCS_PTR_STATUS(request));
    }
}

/* --- endpoints --------------------------------------------------------------------------------------------------- */

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    themis_net_conn_t *conn = arg;

    if (conn->ep == ep)
        themis_net_conn_lose(conn, status_from_ucx(status));
}

static themis_status_t endpoint_create(themis_net_conn_t *conn, ucp_ep_params_t *params)
{
    params->field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params->err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params->err_handler.cb = on_error;
    params->err_handler.arg = conn;
    ucs_status_t status = ucp_ep_create(conn->net->worker, params, &conn->ep);
    if (status == UCS_OK) {
        themis_net_conn_ref(conn); /* until the endpoint is closed */
        return THEMIS_OK;
    }
    conn->ep = NULL;
    themis_debug("cannot make an endpoint for %s: %s", conn->peer, ucs_status_string(status));
    return status == UCS_ERR_NO_MEMORY ? THEMIS_NO_MEMORY : THEMIS_UNREACHABLE;
}

/* Once in a row: who connects tries again and again. */
static void tell_unknown(const char *host)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char told[256];

    pthread_mutex_lock(&lock);
    int again = strcmp(told, host) == 0;
    snprintf(told, sizeof told, "%s", host);
    pthread_mutex_unlock(&lock);
    if (!again)
        themis_error("cannot find an IPv4 address of host '%s'", host);
}

static themis_status_t resolve(const char *host, uint16_t port, int passive, struct sockaddr_in *address)
{
    /* UCX 1.13 overruns its heap with IPv6 over TCP */
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0};
    struct addrinfo *found;
    char service[8];

    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(host != NULL && *host != '\0' ? host : NULL, service, &hints, &found) != 0) {
        tell_unknown(host != NULL ? host : "");
        return THEMIS_UNREACHABLE;
    }
    memcpy(address, found->ai_addr, sizeof *address);
    freeaddrinfo(found);
    return THEMIS_OK;
}

themis_status_t themis_net_worker_connect(themis_net_conn_t *conn, const char *host, uint16_t port)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR,
                              .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
                              .sockaddr = {(const struct sockaddr *)&conn->address, sizeof conn->address}};

    themis_status_t status = resolve(host, port, 0, &conn->address);
    if (status != THEMIS_OK)
        return status;
    themis_net_lock(conn->net);
    status = endpoint_create(conn, &params);
    if (status == THEMIS_OK) {
        themis_net_frame_t hello = {.type = THEMIS_NET_HELLO, .id = conn->key, .token = THEMIS_NET_WIRE};
        status = themis_net_post(conn, &hello, NULL, 0, NULL, NULL);
    }
    themis_net_unlock(conn->net);
    return status;
}

static void set_peer(themis_net_conn_t *conn, ucp_conn_request_h request)
{
    ucp_conn_request_attr_t attr = {.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR};
    char host[48], port[8];
    int known = ucp_conn_request_query(request, &attr) == UCS_OK;

    conn->unidentified = conn->net->options.local_copy && !conn->net->options.emulate_hosts &&
                         (!known || themis_net_is_own_address((struct sockaddr *)&attr.client_address));
    if (known && getnameinfo((struct sockaddr *)&attr.client_address, sizeof attr.client_address, host, sizeof host,
                             port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(conn->peer, sizeof conn->peer, "%s:%s", host, port);
}

static void on_request(ucp_conn_request_h request, void *arg)
{
    themis_net_t *net = arg;
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST, .conn_request = request};
    int room = net->strangers < MAX_STRANGERS && themis_net_has_descriptors(net);
    themis_net_conn_t *conn = room ? themis_net_conn_new(net, 1) : NULL;

    if (conn == NULL) {
        ucp_listener_reject(net->listener, request);
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

void themis_net_worker_close(themis_net_conn_t *conn, int flush)
{
    ucp_request_param_t param = {.op_attr_mask =
                                     UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
                                 .cb.send = on_closed,
                                 .user_data = conn,
                                 .flags = flush ? 0 : UCP_EP_CLOSE_FLAG_FORCE};
    ucp_ep_h ep = conn->ep;

    if (ep == NULL)
        return;
    conn->ep = NULL;
    conn->net->closing++;
    conn->net->kick = 1;
    ucs_status_ptr_t request = ucp_ep_close_nbx(ep, &param);
    if (UCS_PTR_IS_PTR(request))
        return;
    conn->net->closing--;
    themis_net_conn_unref(conn);
}

/* --- context, worker, listener ----------------------------------------------------------------------------------- */

static ucs_status_t context_create(ucp_context_h *context)
{
    ucp_params_t params = {.field_mask =
                               UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED | UCP_PARAM_FIELD_NAME,
                           .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP,
                           .mt_workers_shared = 0,
                           .name = "themis"};
    ucp_config_t *config;

    ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return status;
    for (size_t i = 0; status == UCS_OK && i < sizeof settings / sizeof *settings; i++) {
        status = ucp_config_modify(config, settings[i][0], settings[i][1]);
        if (status != UCS_OK)
            themis_error("UCX does not take the setting %s=%s: %s", settings[i][0], settings[i][1],
                         ucs_status_string(status));
    }
    if (status == UCS_OK)
        status = ucp_init(&params, config, context);
    ucp_config_release(config);
    return status;
}

themis_status_t themis_net_worker_create(themis_net_t *net)
{
    ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                                                    UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS,
                                      .id = AM_ID,
                                      .flags = UCP_AM_FLAG_WHOLE_MSG,
                                      .cb = on_arrival,
                                      .arg = net};

    ucs_status_t status = context_create(&net->context);
    if (status != UCS_OK)
        goto failed;
    status = ucp_worker_create(net->context, &params, &net->worker);
    if (status != UCS_OK)
        goto failed;
    status = ucp_worker_set_am_recv_handler(net->worker, &handler);
    if (status == UCS_OK)
        status = ucp_worker_get_efd(net->worker, &net->ucx_fd);
    if (status == UCS_OK)
        return THEMIS_OK;
failed:
    themis_error("cannot start UCX: %s", ucs_status_string(status));
    themis_net_worker_destroy(net);
    return status == UCS_ERR_NO_MEMORY ? THEMIS_NO_MEMORY : THEMIS_IO;
}

void themis_net_worker_destroy(themis_net_t *net)
{
    if (net->listener != NULL)
        ucp_listener_destroy(net->listener);
    if (net->closing > 0) {
        /* a peer that does not answer: UCX 1.13 aborts when a worker goes with a close under way, so it stays */
        net->worker = NULL;
        net->context = NULL;
    }
    if (net->worker != NULL)
        ucp_worker_destroy(net->worker);
    if (net->context != NULL)
        ucp_cleanup(net->context);
    net->listener = NULL;
    net->worker = NULL;
    net->context = NULL;
}

themis_status_t themis_net_worker_listen(themis_net_t *net, const char *host, uint16_t port)
{
    struct sockaddr_in address;
    ucp_listener_params_t params = {.field_mask =
                                        UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                                    .sockaddr = {(const struct sockaddr *)&address, sizeof address},
                                    .conn_handler = {on_request, net}};
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};

    themis_status_t status = resolve(host, port, 1, &address);
    if (status != THEMIS_OK)
        return status;
    ucs_status_t ucx = ucp_listener_create(net->worker, &params, &net->listener);
    if (ucx == UCS_OK)
        ucx = ucp_listener_query(net->listener, &attr);
    if (ucx != UCS_OK) {
        themis_error("cannot listen at %s:%u: %s", host != NULL && *host ? host : "*", port,
                     ucx == UCS_ERR_BUSY ? "address already in use" : ucs_status_string(ucx));
        return ucx == UCS_ERR_BUSY ? THEMIS_BUSY : THEMIS_IO;
    }
    memcpy(&net->address, &attr.sockaddr, sizeof net->address);
    return THEMIS_OK;
}
