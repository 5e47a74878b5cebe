/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective reads and writes: from ROMIO's arguments to coll/ and back. */
#include <stdio.h>
#include <stdlib.h>
#include "ad_themis_coll.h"

/* What is exchanged between ranks, packed or kept back is copied by this process, whom a wrong address would end. */
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

/* In atomic mode each rank's access is one under a lock, once all have come; then all agree on how it went. */
static void run_atomic(ADIO_File fd, ADIOI_THEMIS_Coll *coll, themis_direction_t direction, void *buf,
                       AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                       ADIO_Status *status, int *error_code)
{
    themis_status_t own, all;

    AD_THEMIS_UNLOCKED(all, themis_collective_sync(coll->coll, THEMIS_OK));
    *error_code = ADIOI_THEMIS_Coll_code(fd, coll, __func__, all);
    if (all != THEMIS_OK)
        return;
    if (direction == THEMIS_WRITE)
        ADIOI_THEMIS_WriteStrided(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
    else
        ADIOI_THEMIS_ReadStrided(fd, buf, count, datatype, file_ptr_type, offset, status, error_code);
    own = *error_code == MPI_SUCCESS ? THEMIS_OK : THEMIS_IO;
    AD_THEMIS_UNLOCKED(all, themis_collective_sync(coll->coll, own));
    if (own == THEMIS_OK)
        *error_code = ADIOI_THEMIS_Coll_code(fd, coll, __func__, all);
}

static void run(ADIO_File fd, themis_direction_t direction, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    ADIOI_THEMIS_Coll *coll = ADIOI_THEMIS_Coll_get(fd);
    themis_collective_access_t access;
    themis_status_t own, result;
    uint64_t position, done = 0;

    if (!coll) {
        *error_code = ADIOI_THEMIS_Error(__func__, __LINE__, THEMIS_NO_MEMORY, fd->filename, NULL);
        return;
    }
    if (fd->atomicity) {
        run_atomic(fd, coll, direction, buf, count, datatype, file_ptr_type, offset, status, error_code);
        return;
    }
    position = ADIOI_THEMIS_View_position(fd, file_ptr_type, offset);
    own = ADIOI_THEMIS_Coll_describe(fd, coll, count, datatype, position, &coll->file, &coll->memory);
    if (own == THEMIS_OK)
        own = check_buffer(coll, buf, &coll->memory);
    if (own == THEMIS_OK)
        own = ADIOI_THEMIS_Coll_note(coll, ADIOI_THEMIS_Cache_settle(fd));
    access = (themis_collective_access_t){direction, &coll->file, &coll->memory, buf};
    fd->dirty_write |= direction == THEMIS_WRITE;
    AD_THEMIS_UNLOCKED(result, themis_collective_run(coll->coll, &access, own, &done));
    fd->fp_sys_posn = -1;
    if (result == THEMIS_OK && file_ptr_type == ADIO_INDIVIDUAL)
        fd->fp_ind = ADIOI_THEMIS_View_offset(fd, position + done);
    ADIOI_THEMIS_Status_set(status, datatype, done);
    ADIOI_THEMIS_Coll_show(fd, coll);
    *error_code = ADIOI_THEMIS_Coll_code(fd, coll, __func__, result);
}

void ADIOI_THEMIS_ReadStridedColl(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                  int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    run(fd, THEMIS_READ, buf, count, datatype, file_ptr_type, offset, status, error_code);
}

void ADIOI_THEMIS_WriteStridedColl(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                   int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    run(fd, THEMIS_WRITE, (void *)buf, count, datatype, file_ptr_type, offset, status, error_code);
}

/* --- non-blocking --- */

/* A call behind an MPI request. */
typedef struct pending {
    ADIOI_THEMIS_Pending base;
    ADIO_File fd;
    themis_collective_op_t *op; /* NULL: ended */
    themis_util_runs_t file, memory;
} pending_t;

static int ended(pending_t *pending, themis_status_t status)
{
    ADIOI_THEMIS_Coll *coll = ADIOI_THEMIS_file(pending->fd)->coll;

    pending->op = NULL;
    pending->base.code = ADIOI_THEMIS_Coll_code(pending->fd, coll, __func__, status);
    ADIOI_THEMIS_Coll_show(pending->fd, coll);
    return MPI_Grequest_complete(pending->base.mpi);
}

static int poll_fn(void *state, MPI_Status *status)
{
    pending_t *pending = state;
    themis_status_t now;

    if (!pending->op)
        return MPI_SUCCESS;
    now = themis_collective_test(pending->op, &pending->base.done);
    return now == THEMIS_IN_PROGRESS ? MPI_SUCCESS : ended(pending, now);
}

static int wait_fn(int count, void **states, double timeout, MPI_Status *status)
{
    int code = MPI_SUCCESS;

    for (int i = 0; i < count; i++) {
        pending_t *pending = states[i];

        if (pending->op && ended(pending, themis_collective_wait(pending->op, &pending->base.done)) != MPI_SUCCESS)
            code = MPI_ERR_OTHER;
    }
    return code;
}

static int free_fn(void *state)
{
    pending_t *pending = state;

    themis_util_runs_free(&pending->file);
    themis_util_runs_free(&pending->memory);
    free(pending);
    return MPI_SUCCESS;
}

static ADIOI_THEMIS_Pending_class requests = {.poll = poll_fn, .wait = wait_fn, .free = free_fn};

/* Begins a call; the caller's `pending` has its lists afterwards. */
static themis_status_t begin(pending_t *pending, themis_direction_t direction, void *buf, AD_THEMIS_COUNT count,
                             MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset)
{
    ADIO_File fd = pending->fd;
    ADIOI_THEMIS_Coll *coll = ADIOI_THEMIS_file(fd)->coll;
    uint64_t position = ADIOI_THEMIS_View_position(fd, file_ptr_type, offset);
    themis_status_t own =
        ADIOI_THEMIS_Coll_describe(fd, coll, count, datatype, position, &pending->file, &pending->memory);
    themis_collective_access_t access = {direction, &pending->file, &pending->memory, buf};
    int held = ADIOI_THEMIS_Lock_release();

    if (own == THEMIS_OK)
        own = check_buffer(coll, buf, &pending->memory);
    if (own == THEMIS_OK)
        own = ADIOI_THEMIS_Coll_note(coll, ADIOI_THEMIS_Cache_settle(fd));
    pending->op = themis_collective_start(coll->coll, &access, own);
    if (!pending->op)
        own = themis_collective_decline(coll->coll, &access, THEMIS_NO_MEMORY);
    ADIOI_THEMIS_Lock_acquire(held);
    if (file_ptr_type == ADIO_INDIVIDUAL)
        fd->fp_ind = ADIOI_THEMIS_View_offset(fd, position + ADIOI_THEMIS_Bytes(count, datatype));
    fd->fp_sys_posn = -1;
    fd->dirty_write |= direction == THEMIS_WRITE;
    return pending->op ? THEMIS_OK : own;
}

static void start(ADIO_File fd, themis_direction_t direction, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                  int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    ADIOI_THEMIS_Coll *coll = ADIOI_THEMIS_Coll_get(fd);
    pending_t *pending = coll ? calloc(1, sizeof *pending) : NULL;
    themis_status_t status = THEMIS_NO_MEMORY;
    themis_collective_access_t nothing = {.direction = direction};

    if (pending) {
        pending->fd = fd;
        status = begin(pending, direction, buf, count, datatype, file_ptr_type, offset);
    } else if (coll) {
        AD_THEMIS_UNLOCKED(status, themis_collective_decline(coll->coll, &nothing, THEMIS_NO_MEMORY));
    }
    *error_code = ADIOI_THEMIS_Error(__func__, __LINE__, status, fd->filename, NULL);
    if (status != THEMIS_OK) {
        if (pending)
            free_fn(pending);
        return;
    }
    ADIOI_THEMIS_Pending_start(&requests, &pending->base, request);
}

/* In atomic mode the access happens under a lock, so it is over when the call returns. */
static void at_once(ADIO_File fd, themis_direction_t direction, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                    int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    ADIO_Status status;
    MPI_Count moved;

    run(fd, direction, buf, count, datatype, file_ptr_type, offset, &status, error_code);
    if (*error_code != MPI_SUCCESS)
        return;
    if (MPI_Get_elements_x(&status, MPI_BYTE, &moved) != MPI_SUCCESS)
        moved = (MPI_Count)ADIOI_THEMIS_Bytes(count, datatype);
    MPIO_Completed_request_create(&fd, moved, error_code, request);
}

void ADIOI_THEMIS_IreadStridedColl(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                   int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    (fd->atomicity ? at_once : start)(fd, THEMIS_READ, buf, count, datatype, file_ptr_type, offset, request,
                                      error_code);
}

void ADIOI_THEMIS_IwriteStridedColl(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                                    int file_ptr_type, ADIO_Offset offset, ADIO_Request *request, int *error_code)
{
    (fd->atomicity ? at_once : start)(fd, THEMIS_WRITE, (void *)buf, count, datatype, file_ptr_type, offset, request,
                                      error_code);
}
