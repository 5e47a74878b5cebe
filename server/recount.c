/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/recount.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "server/server.h"
#include "util/clock.h"
#include "util/log.h"

struct themis_server_recount {
    pthread_t thread;
    _Atomic int stop;
};

static void *recount_main(void *arg)
{
    themis_server_t *server = arg;
    uint64_t begun = themis_util_clock_now();
    themis_status_t status = themis_store_recount(server->store, &server->recount->stop);

    if (status != THEMIS_OK)
        themis_error("what users have in the store cannot be counted: %s; they seem to have less",
                     themis_status_string(status));
    else if (!server->recount->stop)
        themis_debug("what users have in the store was counted in %.3f s",
                     (double)(themis_util_clock_now() - begun) * 1e-9);
    server->recounting = 0;
    return NULL;
}

themis_status_t themis_server_recount_start(themis_server_t *server)
{
    if (!themis_store_blocking(server->store))
        return THEMIS_OK;
    struct themis_server_recount *recount = calloc(1, sizeof *recount);
    if (!recount)
        return THEMIS_NO_MEMORY;
    server->recount = recount;
    server->recounting = 1;
    int cause = pthread_create(&recount->thread, NULL, recount_main, server);
    if (!cause)
        return THEMIS_OK;
    themis_error("cannot start a thread that counts what is in the store: %s", strerror(cause));
    server->recount = NULL;
    free(recount);
    return THEMIS_NO_MEMORY;
}

void themis_server_recount_stop(themis_server_t *server)
{
    struct themis_server_recount *recount = server->recount;

    if (!recount)
        return;
    recount->stop = 1;
    pthread_join(recount->thread, NULL);
    free(recount);
    server->recount = NULL;
}
