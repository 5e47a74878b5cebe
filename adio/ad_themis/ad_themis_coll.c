/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_coll.h"
#include <stdio.h>
#include <stdlib.h>
#include "ad_themis_cache.h"
#include "ad_themis_coll_file.h"
#include "ad_themis_coll_info.h"
#include "ad_themis_file.h"
#include "ad_themis_hooks.h"
#include "ad_themis_io.h"
#include "ad_themis_request.h"
#include "ad_themis_view.h"

/* The shuffle, packing and the cache copy the bytes in this process, which a wrong address would crash. */
static themis_status_t check_buffer(ADIOI_THEMIS_Coll *coll, const void *buf, const themis_util_runs_t *memory)
{
    uintptr_t base = (uintptr_t)buf;

    if (!memory->bytes)
        return THEMIS_OK;
    struct iovec ends[2] = {{(void *)(base + themis_util_runs_first(memory)), 1},
                            {(void *)(base + memory->end - 1), 1}};
    if (themis_util_memory_check(ends, 2, &coll->seen) == THEMIS_OK)
        return THEMIS_OK;
    coll->failed = THEMIS_BAD_ADDRESS;
    snprintf(coll->failure, sizeof coll->failure, "the buffer is not in this process's memory");
    return THEMIS_BAD_ADDRESS;
}

/* What this rank accesses, from `position` of the view's data on, or why it cannot take part; the other ranks wait for
 * it in either case. */
static themis_status_t coll_prepare(ADIOI_THEMIS_Coll *coll, const ADIOI_THEMIS_Access *access, uint64_t position,
                                    themis_util_runs_t *file, themis_util_runs_t *memory)
{
    themis_status_t status = ADIOI_THEMIS_View_runs(access, position, &coll->buffer, file, memory);

    if (status == THEMIS_OK)
        status = check_buffer(coll, access->buf, memory);
    if (status == THEMIS_OK)
        AD_THEMIS_UNLOCKED(status, ADIOI_THEMIS_Coll_note(coll, ADIOI_THEMIS_Cache_flush(access->fd)));
    access->fd->dirty_write |= access->direction == THEMIS_WRITE;
    access->fd->fp_sys_posn = -1;
    return status;
}

/* --- blocking --- */

/* In atomic mode each rank's access is one under a lock, once all ranks have come; then they share the outcome. */
static int coll_run_atomic(ADIOI_THEMIS_Coll *coll, const ADIOI_THEMIS_Access *access, ADIO_Status *result)
{
    themis_status_t all;
    int code;

    AD_THEMIS_UNLOCKED(all, themis_collective_sync(coll->coll, THEMIS_OK));
    if (all != THEMIS_OK)
        return ADIOI_THEMIS_Coll_code(coll, __func__, all);
    code = ADIOI_THEMIS_Io_strided(access, result);
    AD_THEMIS_UNLOCKED(all, themis_collective_sync(coll->coll, code == MPI_SUCCESS ? THEMIS_OK : THEMIS_IO));
    return code == MPI_SUCCESS ? ADIOI_THEMIS_Coll_code(coll, __func__, all) : code;
}

int ADIOI_THEMIS_Coll_run(const ADIOI_THEMIS_Access *access, ADIO_Status *result)
{
    ADIO_File fd = access->fd;
    themis_collective_access_t own_access;
    themis_status_t own, status;
    ADIOI_THEMIS_Coll *coll;
    uint64_t position, done = 0;

    ADIOI_THEMIS_file(fd)->collective_calls++;
    coll = ADIOI_THEMIS_Coll_get(fd);
    if (!coll)
        return ADIOI_THEMIS_Error(__func__, __LINE__, THEMIS_NO_MEMORY, fd->filename, NULL);
    if (fd->atomicity)
        return coll_run_atomic(coll, access, result);
    position = ADIOI_THEMIS_View_position(access, ADIOI_THEMIS_View_type(fd));
    own = coll_prepare(coll, access, position, &coll->file, &coll->memory);
    own_access = (themis_collective_access_t){access->direction, &coll->file, &coll->memory, access->buf};
    AD_THEMIS_UNLOCKED(status, themis_collective_run(coll->coll, &own_access, own, &done));
    if (status == THEMIS_OK && access->position == AD_THEMIS_AT_POINTER)
        fd->fp_ind = ADIOI_THEMIS_View_offset(fd, position + done);
    ADIOI_THEMIS_Access_set_status(access, done, result);
    ADIOI_THEMIS_Coll_info_show(coll);
    return ADIOI_THEMIS_Coll_code(coll, __func__, status);
}

/* --- non-blocking --- */

typedef struct coll_request {
    ADIOI_THEMIS_Request base;
    ADIOI_THEMIS_Coll *coll;
    themis_collective_operation_t *op; /* NULL: ended */
    themis_util_runs_t file, memory;
} coll_request_t;

static int request_ended(coll_request_t *request, themis_status_t status)
{
    request->op = NULL;
    request->base.code = ADIOI_THEMIS_Coll_code(request->coll, __func__, status);
    ADIOI_THEMIS_Coll_info_show(request->coll);
    return MPI_Grequest_complete(request->base.mpi);
}

static int request_poll(void *state, MPI_Status *status)
{
    coll_request_t *request = state;
    themis_status_t now;

    if (!request->op)
        return MPI_SUCCESS;
    now = themis_collective_test(request->op, &request->base.done);
    return now == THEMIS_IN_PROGRESS ? MPI_SUCCESS : request_ended(request, now);
}

static int request_wait(int count, void **states, double timeout, MPI_Status *status)
{
    int code = MPI_SUCCESS;

    for (int i = 0; i < count; i++) {
        coll_request_t *request = states[i];

        if (request->op &&
            request_ended(request, themis_collective_wait(request->op, &request->base.done)) != MPI_SUCCESS)
            code = MPI_ERR_OTHER;
    }
    return code;
}

static int request_free(void *state)
{
    coll_request_t *request = state;

    themis_util_runs_free(&request->file);
    themis_util_runs_free(&request->memory);
    free(request);
    return MPI_SUCCESS;
}

static ADIOI_THEMIS_Request_class coll_requests = {.poll = request_poll, .wait = request_wait, .free = request_free};

/* Starts a call; `request` has its lists afterwards. */
static themis_status_t request_begin(coll_request_t *request, const ADIOI_THEMIS_Access *access)
{
    ADIO_File fd = access->fd;
    ADIOI_THEMIS_Coll *coll = request->coll;
    uint64_t position = ADIOI_THEMIS_View_position(access, ADIOI_THEMIS_View_type(fd));
    themis_status_t own = coll_prepare(coll, access, position, &request->file, &request->memory);
    themis_collective_access_t own_access = {access->direction, &request->file, &request->memory, access->buf};
    int held = themis_glue_lock_release();

    request->op = themis_collective_start(coll->coll, &own_access, own);
    if (!request->op)
        own = themis_collective_decline(coll->coll, &own_access, THEMIS_NO_MEMORY);
    themis_glue_lock_acquire(held);
    if (access->position == AD_THEMIS_AT_POINTER)
        fd->fp_ind = ADIOI_THEMIS_View_offset(fd, position + ADIOI_THEMIS_Access_bytes(access));
    return request->op ? THEMIS_OK : own;
}

int ADIOI_THEMIS_Coll_start(const ADIOI_THEMIS_Access *access, MPI_Request *mpi)
{
    ADIO_File fd = access->fd;
    themis_collective_access_t nothing = {.direction = access->direction};
    themis_status_t status = THEMIS_NO_MEMORY;
    ADIOI_THEMIS_Coll *coll;
    coll_request_t *request;

    if (fd->atomicity)
        return ADIOI_THEMIS_Request_run(access, ADIOI_THEMIS_Coll_run, mpi);
    ADIOI_THEMIS_file(fd)->collective_calls++;
    coll = ADIOI_THEMIS_Coll_get(fd);
    request = coll ? calloc(1, sizeof *request) : NULL;
    if (request) {
        request->coll = coll;
        status = request_begin(request, access);
    } else if (coll) {
        AD_THEMIS_UNLOCKED(status, themis_collective_decline(coll->coll, &nothing, THEMIS_NO_MEMORY));
    }
    if (status == THEMIS_OK)
        ADIOI_THEMIS_Request_start(&coll_requests, &request->base, mpi);
    else if (request)
        request_free(request);
    return ADIOI_THEMIS_Error(__func__, __LINE__, status, fd->filename, NULL);
}
