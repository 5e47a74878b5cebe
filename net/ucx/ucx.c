/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/ucx/ucx.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "net/ucx/active_message.h"
#include "net/ucx/endpoint.h"
#include "net/ucx/log_limit.h"
#include "util/log.h"

enum { MAX_POLLS = 16 };

/*
 * Shared memory of UCX is left out: it has no way to find out that a peer died, and one receive queue for all peers,
 * which a peer can spoil for the others. What is on one host goes through net/local instead.
 */
static const char *const settings[][2] = {{"TLS", "^sm,self"}, {"CM_REUSEADDR", "y"}};

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

static void ucx_destroy(themis_net_t *net)
{
    themis_net_ucx_t *ucx = net->ucx;

    if (ucx == NULL)
        return;
    if (ucx->listener != NULL)
        ucp_listener_destroy(ucx->listener);
    /* a peer that does not answer: UCX 1.13 aborts when a worker goes with a close under way, so it stays */
    if (ucx->worker != NULL && net->closing == 0)
        ucp_worker_destroy(ucx->worker);
    if (ucx->context != NULL && net->closing == 0)
        ucp_cleanup(ucx->context);
    free(ucx);
    net->ucx = NULL;
}

/* The process that has used UCX; a child of it cannot. */
static _Atomic pid_t process;

static int is_forked(void)
{
    pid_t none = 0;
    const pid_t self = getpid();

    return !atomic_compare_exchange_strong(&process, &none, self) && none != self;
}

static themis_status_t ucx_create(themis_net_t *net)
{
    ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                  .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    int fd;

    if (is_forked()) {
        themis_error("UCX cannot be used in a process that was forked from one with UCX");
        return THEMIS_UNSUPPORTED;
    }
    net->ucx = calloc(1, sizeof *net->ucx);
    if (net->ucx == NULL)
        return THEMIS_NO_MEMORY;
    ucs_status_t status = context_create(&net->ucx->context);
    if (status == UCS_OK)
        status = ucp_worker_create(net->ucx->context, &params, &net->ucx->worker);
    if (status == UCS_OK)
        status = themis_net_active_message_receive(net);
    if (status == UCS_OK)
        status = ucp_worker_get_efd(net->ucx->worker, &fd);
    if (status == UCS_OK && themis_net_watch(net, fd, EPOLLIN, THEMIS_NET_EPOLL_NETWORK) != 0)
        status = UCS_ERR_IO_ERROR;
    if (status == UCS_OK)
        return THEMIS_OK;
    themis_error("cannot start UCX: %s", ucs_status_string(status));
    ucx_destroy(net);
    return status == UCS_ERR_NO_MEMORY ? THEMIS_NO_MEMORY : THEMIS_IO;
}

static themis_status_t ucx_listen(themis_net_t *net, const char *host, struct sockaddr_in *address)
{
    ucp_listener_params_t params = {.field_mask =
                                        UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
                                    .sockaddr = {(const struct sockaddr *)address, sizeof *address},
                                    .conn_handler = {themis_net_endpoint_accept, net}};
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};

    themis_net_log_limit();
    ucs_status_t status = ucp_listener_create(net->ucx->worker, &params, &net->ucx->listener);
    if (status == UCS_OK)
        status = ucp_listener_query(net->ucx->listener, &attr);
    if (status != UCS_OK) {
        themis_error("cannot listen at %s:%u: %s", host != NULL && *host ? host : "*", ntohs(address->sin_port),
                     status == UCS_ERR_BUSY ? "address already in use" : ucs_status_string(status));
        return status == UCS_ERR_BUSY ? THEMIS_BUSY : THEMIS_IO;
    }
    memcpy(address, &attr.sockaddr, sizeof *address);
    net->address = *address;
    net->listening = 1;
    return THEMIS_OK;
}

/* UCX costs a system call for each look: only when something can come from there, else now and then. */
static int ucx_progress(themis_net_t *net, int thorough)
{
    int active = 0;

    if (!thorough && net->ucx->operations == 0 && net->closing == 0 && net->networked == 0)
        return 0;
    net->ucx->armed = 0;
    for (int i = 0; i < MAX_POLLS && ucp_worker_progress(net->ucx->worker) > 0; i++)
        active = 1;
    return active;
}

/* UCX stays armed until it is looked at again. */
static int ucx_arm(themis_net_t *net)
{
    if (!net->ucx->armed)
        net->ucx->armed = ucp_worker_arm(net->ucx->worker) == UCS_OK;
    return net->ucx->armed;
}

const themis_net_transport_t themis_net_ucx_transport = {
    .create = ucx_create,
    .destroy = ucx_destroy,
    .listen = ucx_listen,
    .progress = ucx_progress,
    .arm = ucx_arm,
    .chunk_bytes = THEMIS_NET_CHUNK,
    .connect = themis_net_endpoint_connect,
    .post = themis_net_active_message_post,
    .fetch = themis_net_active_message_fetch,
    .close = themis_net_endpoint_close,
};
