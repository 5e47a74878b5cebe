/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Test and MPI_Wait drive the client library's requests; no thread does. Where the server copies the bytes itself,
 * the transfer makes progress without any call.
 */
#include "ad_themis_async.h"
#include <stdlib.h>
#include "ad_themis_cache.h"
#include "ad_themis_direct.h"
#include "ad_themis_error.h"
#include "ad_themis_file.h"
#include "ad_themis_hooks.h"
#include "ad_themis_io.h"
#include "ad_themis_list.h"
#include "ad_themis_request.h"
#include "util/clock.h"

/* MPICH's MPI_Wait polls and never calls async_wait; a poll may sleep for this long. */
static const uint64_t max_sleep = 50 * THEMIS_NS_PER_US;

typedef struct async {
    ADIOI_THEMIS_Request base;
    themis_direction_t direction;
    themis_file_t *handle;
    themis_t *session; /* borrowed */
    ADIOI_THEMIS_List lists;
    themis_request_t *request; /* of the current batch; NULL: complete */
    themis_status_t status;
} async_t;

/* Issues the next batch; without one, or after a failure, `request` stays NULL. */
static void batch_start(async_t *async)
{
    themis_list_t list;

    async->request = NULL;
    if (ADIOI_THEMIS_List_next(&async->lists)) {
        async->status = THEMIS_NO_MEMORY;
        return;
    }
    if (async->lists.batch == 0)
        return;
    list = ADIOI_THEMIS_List_batch(&async->lists);
    async->status = async->direction == THEMIS_WRITE ? themis_iwrite_list(async->handle, &list, &async->request)
                                                     : themis_iread_list(async->handle, &list, &async->request);
    if (async->status != THEMIS_OK)
        async->request = NULL;
}

static void batch_ended(async_t *async, themis_status_t status, size_t done)
{
    async->request = NULL;
    async->status = status;
    if (status == THEMIS_OK)
        async->base.done += done;
    if (status == THEMIS_OK && done == async->lists.batch)
        batch_start(async);
}

static int async_complete(async_t *async)
{
    /* Only now is the text of the failure this thread's. */
    async->base.code = ADIOI_THEMIS_FAILURE(async->status, themis_file_path(async->handle));
    return MPI_Grequest_complete(async->base.mpi);
}

static int async_poll(void *state, MPI_Status *status)
{
    async_t *async = state;
    themis_status_t now;
    size_t done = 0;

    if (!async->request)
        return MPI_SUCCESS;
    now = themis_request_test(async->request, &done);
    if (now == THEMIS_IN_PROGRESS && ADIOI_THEMIS_Request_is_waited_for(&async->base)) {
        themis_progress(async->session, max_sleep);
        async->base.polled = themis_util_clock_now();
        now = themis_request_test(async->request, &done);
    }
    if (now == THEMIS_IN_PROGRESS)
        return MPI_SUCCESS;
    batch_ended(async, now, done);
    return async->request ? MPI_SUCCESS : async_complete(async);
}

static int async_wait(int count, void **states, double timeout, MPI_Status *status)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; i < count; i++) {
        async_t *async = states[i];

        if (!async->request)
            continue;
        while (async->request) {
            size_t done = 0;
            themis_status_t now = themis_request_wait(async->request, &done);

            batch_ended(async, now, done);
        }
        if (async_complete(async) != MPI_SUCCESS)
            rc = MPI_ERR_OTHER;
    }
    return rc;
}

static int async_free(void *state)
{
    async_t *async = state;

    ADIOI_THEMIS_List_end(&async->lists);
    free(async);
    return MPI_SUCCESS;
}

static ADIOI_THEMIS_Request_class async_requests = {.poll = async_poll, .wait = async_wait, .free = async_free};

/* Not started; NULL: out of memory. */
static async_t *async_make(const ADIOI_THEMIS_Access *access)
{
    async_t *async = calloc(1, sizeof *async);

    if (!async)
        return NULL;
    async->direction = access->direction;
    async->handle = ADIOI_THEMIS_file(access->fd)->handle;
    async->session = ADIOI_THEMIS_file(access->fd)->session;
    if (ADIOI_THEMIS_List_begin(access, &async->lists) == 0)
        return async;
    async_free(async);
    return NULL;
}

int ADIOI_THEMIS_Async_start(const ADIOI_THEMIS_Access *access, MPI_Request *request)
{
    ADIO_File fd = access->fd;
    async_t *async;
    int held, code;

    if (fd->atomicity)
        return ADIOI_THEMIS_Request_run(access, ADIOI_THEMIS_Io_strided, request);
    async = async_make(access);
    if (!async)
        return ADIOI_THEMIS_Error(__func__, __LINE__, THEMIS_NO_MEMORY, fd->filename, "");
    fd->dirty_write |= access->direction == THEMIS_WRITE;
    if (access->position == AD_THEMIS_AT_POINTER)
        fd->fp_ind = ADIOI_THEMIS_List_target(&async->lists);
    fd->fp_sys_posn = -1;
    held = themis_glue_lock_release();
    async->status = ADIOI_THEMIS_Cache_flush(fd);
    if (async->status == THEMIS_OK)
        batch_start(async);
    themis_glue_lock_acquire(held);
    ADIOI_THEMIS_Direct_show(fd);
    code = ADIOI_THEMIS_FAILURE(async->status, fd->filename);
    if (async->request) {
        ADIOI_THEMIS_Request_start(&async_requests, &async->base, request);
        return code;
    }
    async_free(async);
    if (code == MPI_SUCCESS)
        MPIO_Completed_request_create(&fd, 0, &code, request);
    return code;
}
