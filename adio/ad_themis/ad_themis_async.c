/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-blocking independent reads and writes: a request of the client library behind an MPI request. MPI_Test and
 * MPI_Wait drive it through MPICH's extended generalized requests; no thread does. Where the server copies the bytes by
 * itself the transfer proceeds without any call.
 */
#include <stdlib.h>
#include "ad_themis.h"
#include "util/clock.h"

/* MPICH's MPI_Wait asks again and again and never calls wait_fn; it sleeps so long in one of its polls. */
static const uint64_t longest_pause = 50 * THEMIS_NS_PER_US;

typedef struct async {
    ADIOI_THEMIS_Pending pending;
    ADIO_File fd;
    themis_file_t *handle;
    themis_t *session; /* borrowed */
    ADIOI_THEMIS_Access access;
    themis_direction_t direction;
    themis_request_t *request; /* of the current batch; NULL: complete */
    themis_status_t status;
} async_t;

/* Issues the next batch; without one, or after a failure, `request` stays NULL. */
static void next_batch(async_t *async)
{
    themis_list_t list;

    async->request = NULL;
    if (ADIOI_THEMIS_Access_next(&async->access)) {
        async->status = THEMIS_NO_MEMORY;
        return;
    }
    if (async->access.batch == 0)
        return;
    list = ADIOI_THEMIS_Access_list(&async->access);
    async->status = async->direction == THEMIS_WRITE ? themis_iwrite_list(async->handle, &list, &async->request)
                                                     : themis_iread_list(async->handle, &list, &async->request);
    if (async->status != THEMIS_OK)
        async->request = NULL;
}

/* A batch has ended with `status`. */
static void batch_ended(async_t *async, themis_status_t status, size_t done)
{
    async->request = NULL;
    async->status = status;
    if (status == THEMIS_OK)
        async->pending.done += done;
    if (status == THEMIS_OK && done == async->access.batch)
        next_batch(async);
}

static int complete(async_t *async)
{
    /* The text of the failure belongs to this thread only now. */
    async->pending.code = async->status == THEMIS_OK
                              ? MPI_SUCCESS
                              : ADIOI_THEMIS_Error(__func__, __LINE__, async->status, themis_file_path(async->handle),
                                                   themis_last_error());
    return MPI_Grequest_complete(async->pending.mpi);
}

static int poll_fn(void *state, MPI_Status *status)
{
    async_t *async = state;
    themis_status_t now;
    size_t done = 0;

    if (!async->request)
        return MPI_SUCCESS;
    now = themis_request_test(async->request, &done);
    if (now == THEMIS_IN_PROGRESS && ADIOI_THEMIS_Pending_waits(&async->pending)) {
        themis_progress(async->session, longest_pause);
        async->pending.polled = themis_util_clock_now();
        now = themis_request_test(async->request, &done);
    }
    if (now == THEMIS_IN_PROGRESS)
        return MPI_SUCCESS;
    batch_ended(async, now, done);
    return async->request ? MPI_SUCCESS : complete(async);
}

static int wait_fn(int count, void **states, double timeout, MPI_Status *status)
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
        if (complete(async) != MPI_SUCCESS)
            rc = MPI_ERR_OTHER;
    }
    return rc;
}

static int free_fn(void *state)
{
    async_t *async = state;

    ADIOI_THEMIS_Access_end(&async->access);
    free(async);
    return MPI_SUCCESS;
}

static ADIOI_THEMIS_Pending_class requests = {.poll = poll_fn, .wait = wait_fn, .free = free_fn};

static async_t *async_make(ADIO_File fd, themis_direction_t direction)
{
    async_t *async = calloc(1, sizeof *async);

    if (!async)
        return NULL;
    async->fd = fd;
    async->handle = ADIOI_THEMIS_file(fd)->handle;
    async->session = ADIOI_THEMIS_file(fd)->session;
    async->direction = direction;
    return async;
}

/* Starts what `async` describes; owns it from here on. */
static void start(async_t *async, ADIO_Request *request, int *error_code)
{
    ADIO_File fd = async->fd;
    int held = ADIOI_THEMIS_Lock_release();

    async->status = ADIOI_THEMIS_Settle(fd);
    if (async->status == THEMIS_OK)
        next_batch(async);
    ADIOI_THEMIS_Lock_acquire(held);
    *error_code = ADIOI_THEMIS_FAILURE(async->status, fd->filename);
    if (async->status != THEMIS_OK || !async->request) {
        if (*error_code == MPI_SUCCESS)
            MPIO_Completed_request_create(&fd, 0, error_code, request);
        free_fn(async);
        return;
    }
    ADIOI_THEMIS_Pending_start(&requests, &async->pending, request);
}

/* In atomic mode the whole access happens under a lock, so it is over when the call returns. */
static void at_once(ADIO_File fd, themis_direction_t direction, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                    int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    ADIO_Status status;
    MPI_Count moved = 0;

    if (direction == THEMIS_WRITE)
        ADIOI_THEMIS_WriteStrided(fd, buf, count, datatype, file_ptr_type, offset, &status, error_code);
    else
        ADIOI_THEMIS_ReadStrided(fd, buf, count, datatype, file_ptr_type, offset, &status, error_code);
    if (*error_code != MPI_SUCCESS)
        return;
    if (MPI_Get_elements_x(&status, MPI_BYTE, &moved) != MPI_SUCCESS)
        moved = (MPI_Count)ADIOI_THEMIS_Bytes(count, datatype);
    MPIO_Completed_request_create(&fd, moved, error_code, request);
}

static void strided(ADIO_File fd, themis_direction_t direction, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                    int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    async_t *async;
    int failed;

    if (fd->atomicity) {
        at_once(fd, direction, buf, count, datatype, file_ptr_type, offset, request, error_code);
        return;
    }
    async = async_make(fd, direction);
    failed = !async || ADIOI_THEMIS_Access_begin(fd, buf, count, datatype, file_ptr_type, offset, &async->access) != 0;
    if (failed) {
        if (async)
            free_fn(async);
        *error_code = ADIOI_THEMIS_Error(__func__, __LINE__, THEMIS_NO_MEMORY, fd->filename, "");
        return;
    }
    if (direction == THEMIS_WRITE)
        fd->dirty_write = 1;
    if (file_ptr_type == ADIO_INDIVIDUAL)
        fd->fp_ind = ADIOI_THEMIS_Access_target(&async->access);
    start(async, request, error_code);
}

static void contiguous(ADIO_File fd, themis_direction_t direction, void *buf, uint64_t bytes, int file_ptr_type,
                       ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    async_t *async = async_make(fd, direction);

    if (file_ptr_type == ADIO_INDIVIDUAL)
        offset = fd->fp_ind;
    if (!async) {
        *error_code = ADIOI_THEMIS_Error(__func__, __LINE__, THEMIS_NO_MEMORY, fd->filename, "");
        return;
    }
    ADIOI_THEMIS_Access_plain(buf, bytes, (uint64_t)offset, &async->access);
    if (direction == THEMIS_WRITE)
        fd->dirty_write = 1;
    if (file_ptr_type == ADIO_INDIVIDUAL)
        fd->fp_ind += (ADIO_Offset)bytes;
    fd->fp_sys_posn = offset + (ADIO_Offset)bytes;
    start(async, request, error_code);
}

void ADIOI_THEMIS_IreadContig(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,
                              ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    contiguous(fd, THEMIS_READ, buf, ADIOI_THEMIS_Bytes(count, datatype), file_ptr_type, offset, request, error_code);
}

void ADIOI_THEMIS_IwriteContig(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    contiguous(fd, THEMIS_WRITE, (void *)buf, ADIOI_THEMIS_Bytes(count, datatype), file_ptr_type, offset, request,
               error_code);
}

void ADIOI_THEMIS_IreadStrided(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,
                               ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    strided(fd, THEMIS_READ, buf, count, datatype, file_ptr_type, offset, request, error_code);
}

void ADIOI_THEMIS_IwriteStrided(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    strided(fd, THEMIS_WRITE, (void *)buf, count, datatype, file_ptr_type, offset, request, error_code);
}
