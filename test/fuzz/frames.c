/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer: a peer that sends arbitrary frames. UCX is replaced by the functions below, which complete sends and
 * fetches at once or later; all of net/ runs above them. The input is a list of steps: a frame to a connection that was
 * accepted or made, or something that the owner does meanwhile.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <ucs/debug/log_def.h>
#include "net/ucx/ucx.h"

enum { MAX_WAITING = 64, PAYLOAD = 4096 };

/* An operation that UCX has not ended. */
typedef struct waiting {
    void *arg;
    ucp_send_nbx_callback_t sent;
    ucp_am_recv_data_nbx_callback_t fetched;
} waiting_t;

static struct {
    ucp_am_recv_callback_t arrived;
    void *arg;
    ucp_listener_conn_callback_t requested;
    void *listener_arg;
    ucp_err_handler_t on_error[3]; /* of endpoint 1: accepted, 2: made */
    uint64_t key[3];               /* what frames to that connection have to carry */
    int next_endpoint;
    waiting_t waiting[MAX_WAITING];
    unsigned count;
    int slow; /* operations wait */
    int efd;
    int answer; /* a WELCOME is due */
} fake;

/* --- UCX --------------------------------------------------------------------------------------------------------- */

void ucs_log_push_handler(ucs_log_func_t handler)
{
    (void)handler;
}

ucs_status_t ucp_config_read(const char *prefix, const char *file, ucp_config_t **config)
{
    return UCS_OK;
}

ucs_status_t ucp_config_modify(ucp_config_t *config, const char *name, const char *value)
{
    return UCS_OK;
}

void ucp_config_release(ucp_config_t *config)
{
}

ucs_status_t ucp_init_version(unsigned major, unsigned minor, const ucp_params_t *params, const ucp_config_t *config,
                              ucp_context_h *context)
{
    *context = (ucp_context_h)&fake;
    return UCS_OK;
}

void ucp_cleanup(ucp_context_h context)
{
}

ucs_status_t ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params, ucp_worker_h *worker)
{
    *worker = (ucp_worker_h)&fake;
    return UCS_OK;
}

void ucp_worker_destroy(ucp_worker_h worker)
{
}

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h worker, const ucp_am_handler_param_t *param)
{
    fake.arrived = param->cb;
    fake.arg = param->arg;
    return UCS_OK;
}

ucs_status_t ucp_worker_get_efd(ucp_worker_h worker, int *fd)
{
    *fd = fake.efd;
    return UCS_OK;
}

ucs_status_t ucp_worker_arm(ucp_worker_h worker)
{
    return UCS_ERR_BUSY;
}

ucs_status_t ucp_listener_create(ucp_worker_h worker, const ucp_listener_params_t *params, ucp_listener_h *listener)
{
    fake.requested = params->conn_handler.cb;
    fake.listener_arg = params->conn_handler.arg;
    *listener = (ucp_listener_h)&fake;
    return UCS_OK;
}

ucs_status_t ucp_listener_query(ucp_listener_h listener, ucp_listener_attr_t *attr)
{
    memset(&attr->sockaddr, 0, sizeof attr->sockaddr);
    return UCS_OK;
}

void ucp_listener_destroy(ucp_listener_h listener)
{
}

ucs_status_t ucp_listener_reject(ucp_listener_h listener, ucp_conn_request_h request)
{
    return UCS_OK;
}

ucs_status_t ucp_conn_request_query(ucp_conn_request_h request, ucp_conn_request_attr_t *attr)
{
    return UCS_ERR_UNSUPPORTED;
}

ucs_status_t ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *ep)
{
    fake.on_error[fake.next_endpoint] = params->err_handler;
    *ep = (ucp_ep_h)(uintptr_t)fake.next_endpoint;
    return UCS_OK;
}

ucs_status_ptr_t ucp_ep_close_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    fake.on_error[(uintptr_t)ep].cb = NULL; /* UCX calls it no more */
    return NULL;
}

const char *ucs_status_string(ucs_status_t status)
{
    return "";
}

void ucp_request_free(void *request)
{
}

void ucp_am_data_release(ucp_worker_h worker, void *data)
{
    free(data);
}

static ucs_status_ptr_t later(waiting_t one)
{
    if (!fake.slow || fake.count == MAX_WAITING)
        return NULL;
    fake.waiting[fake.count++] = one;
    return &fake;
}

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header, size_t header_length, const void *buffer,
                                 size_t count, const ucp_request_param_t *param)
{
    themis_net_frame_t frame;
    volatile unsigned char sum = 0;

    memcpy(&frame, header, sizeof frame);
    if (frame.type == THEMIS_NET_HELLO || frame.type == THEMIS_NET_WELCOME)
        fake.key[(uintptr_t)ep] = frame.id;
    fake.answer |= frame.type == THEMIS_NET_HELLO;
    for (size_t i = 0; i < count; i++) /* every byte that is sent has to be readable */
        sum = (unsigned char)(sum + ((const unsigned char *)buffer)[i]);
    return later((waiting_t){.arg = param->user_data, .sent = param->cb.send});
}

ucs_status_ptr_t ucp_am_recv_data_nbx(ucp_worker_h worker, void *data, void *buffer, size_t count,
                                      const ucp_request_param_t *param)
{
    memset(buffer, 'r', count);
    return later((waiting_t){.arg = param->user_data, .fetched = param->cb.recv_am});
}

static void end_one(ucs_status_t status)
{
    if (fake.count == 0)
        return;
    waiting_t one = fake.waiting[0];
    memmove(fake.waiting, fake.waiting + 1, --fake.count * sizeof one);
    if (one.sent != NULL)
        one.sent(&fake, status, one.arg);
    else
        one.fetched(&fake, status, 0, one.arg);
}

static void arrive(int endpoint, themis_net_frame_t frame, const void *payload, size_t length, int attributes)
{
    ucp_am_recv_param_t param = {.recv_attr = (uint64_t)UCP_AM_RECV_ATTR_FIELD_REPLY_EP,
                                 .reply_ep = (ucp_ep_h)(uintptr_t)endpoint};
    void *data = malloc(length + 1); /* of its exact size, for the address sanitizer */

    memcpy(data, payload, length);
    if (attributes & 1)
        param.recv_attr |= UCP_AM_RECV_ATTR_FLAG_DATA;
    else if (attributes & 2)
        param.recv_attr |= UCP_AM_RECV_ATTR_FLAG_RNDV;
    if (fake.arrived(fake.arg, &frame, sizeof frame, data, length, &param) != UCS_INPROGRESS)
        free(data);
}

unsigned ucp_worker_progress(ucp_worker_h worker)
{
    if (fake.answer) {
        themis_net_frame_t welcome = {.key = fake.key[2], .type = THEMIS_NET_WELCOME, .id = 22};
        fake.answer = 0;
        arrive(2, welcome, "", 0, 0);
        return 1;
    }
    if (fake.count == 0)
        return 0;
    end_one(UCS_OK);
    return 1;
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

typedef struct world {
    themis_net_t *net;
    themis_net_conn_t *conns[3];
    themis_net_exposed_t *exposed[2];
    unsigned char memory[8192], local[8192];
    const uint8_t *at, *end;
    int moving;
} world_t;

static uint64_t take(world_t *world, size_t count)
{
    uint64_t number = 0;

    for (size_t i = 0; i < count && world->at < world->end; i++)
        number |= (uint64_t)*world->at++ << (8 * i);
    return number;
}

static void on_opened(void *arg, themis_net_conn_t *conn)
{
    world_t *world = arg;

    if (world->conns[1] == NULL) {
        themis_net_conn_ref(conn);
        world->conns[1] = conn;
    }
}

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    if (length < 100)
        themis_net_send(conn, bytes, length);
}

static void on_moved(void *arg, themis_status_t status)
{
    ((world_t *)arg)->moving--;
}

static void send_frame(world_t *world, int endpoint)
{
    uint64_t what = take(world, 1);
    themis_net_frame_t frame = {.key = fake.key[endpoint], .type = (uint32_t)what % 10};

    frame.id = take(world, 1 + (what >> 7) * 7);
    frame.token = take(world, 1 + (what >> 7) * 7);
    frame.offset = take(world, 2 + (what >> 7) * 6);
    frame.length = take(world, 2 + (what >> 7) * 6);
    frame.status = (int32_t)(what & 16 ? take(world, 4) : 0);
    if (frame.type == THEMIS_NET_HELLO) {
        frame.key = THEMIS_NET_MAGIC;
        frame.token = THEMIS_NET_WIRE;
    }
    size_t length = take(world, 2) % PAYLOAD, left = (size_t)(world->end - world->at);
    if (length > left)
        length = left;
    arrive(endpoint, frame, world->at, length, (int)(what >> 5) & 3);
    world->at += length;
}

static void move(world_t *world, int push)
{
    themis_net_descriptor_t said = {
        .token = take(world, 1), .total = take(world, 2), .count = 1, .flags = push ? THEMIS_NET_WRITABLE : 0};
    unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES];
    uint64_t cut = take(world, 1);
    struct iovec local[2] = {{world->local, cut}, {world->local + 4096, take(world, 2) % 4096}};

    themis_net_descriptor_write(&said, descriptor);
    if (world->conns[1] != NULL &&
        (push ? themis_net_push : themis_net_pull)(world->conns[1], descriptor, take(world, 1), local, 2, on_moved,
                                                   world) == THEMIS_IN_PROGRESS)
        world->moving++;
}

static void expose(world_t *world, int which)
{
    struct iovec pieces[3] = {{world->memory, 100}, {world->memory + 200, 0}, {world->memory + 4096, 4000}};

    themis_net_unexpose(world->exposed[which]);
    world->exposed[which] = NULL;
    if (world->conns[2] != NULL)
        themis_net_expose(world->conns[2], pieces, 1 + take(world, 1) % 3, which, &world->exposed[which]);
}

static void step(world_t *world)
{
    switch (take(world, 1) % 12) {
    case 0:
    case 1:
        send_frame(world, 1);
        break;
    case 2:
    case 3:
        send_frame(world, 2);
        break;
    case 4:
        move(world, 0);
        break;
    case 5:
        move(world, 1);
        break;
    case 6:
        expose(world, (int)take(world, 1) & 1);
        break;
    case 7:
        end_one(take(world, 1) & 1 ? UCS_OK : UCS_ERR_CONNECTION_RESET);
        break;
    case 8:
        fake.slow = (int)take(world, 1) & 1;
        break;
    case 9:
        themis_net_progress(world->net, 0);
        break;
    case 10: {
        int which = 1 + ((int)take(world, 1) & 1);
        if (fake.on_error[which].cb != NULL)
            fake.on_error[which].cb(fake.on_error[which].arg, (ucp_ep_h)(uintptr_t)which, UCS_ERR_CONNECTION_RESET);
        break;
    }
    default:
        themis_net_conn_close(world->conns[1 + (take(world, 1) & 1)]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    themis_net_options_t options = {.network = THEMIS_NET_UCX};
    themis_net_handlers_t handlers = {on_opened, on_message, NULL};
    world_t *world = calloc(1, sizeof *world);
    themis_net_frame_t hello = {THEMIS_NET_MAGIC, THEMIS_NET_HELLO, 0, 11, THEMIS_NET_WIRE, 0, 0};

    memset(&fake, 0, sizeof fake);
    fake.efd = eventfd(0, EFD_NONBLOCK);
    world->at = bytes;
    world->end = bytes + size;
    if (themis_net_create(&options, &handlers, world, &world->net) != THEMIS_OK ||
        themis_net_listen(world->net, NULL, 0, NULL) != THEMIS_OK)
        abort();
    fake.next_endpoint = 2;
    if (themis_net_connect(world->net, "127.0.0.1", 1, UINT64_C(1000000000000), &world->conns[2]) != THEMIS_OK)
        abort();
    fake.next_endpoint = 1;
    fake.requested((ucp_conn_request_h)&fake, fake.listener_arg);
    arrive(1, hello, "", 0, 0);
    for (unsigned i = 0; i < 200 && world->at < world->end; i++)
        step(world);
    for (int i = 1; i < 3; i++)
        themis_net_conn_close(world->conns[i]);
    for (int i = 0; i < 2; i++)
        themis_net_unexpose(world->exposed[i]);
    for (int i = 0; i < 100; i++)
        themis_net_progress(world->net, 0);
    if (world->moving != 0)
        abort(); /* a transfer has not ended with its connection */
    for (int i = 1; i < 3; i++)
        themis_net_conn_unref(world->conns[i]);
    themis_net_destroy(world->net);
    close(fake.efd);
    free(world);
    return 0;
}
