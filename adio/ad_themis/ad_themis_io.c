/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_io.h"
#include "ad_themis_cache.h"
#include "ad_themis_direct.h"
#include "ad_themis_error.h"
#include "ad_themis_file.h"
#include "ad_themis_hooks.h"
#include "ad_themis_list.h"

/* One call to the servers, or to the cache of independent accesses. */
static themis_status_t io_transfer(const ADIOI_THEMIS_Access *access, int cached, const themis_list_t *list,
                                   size_t *done)
{
    themis_file_t *handle = ADIOI_THEMIS_file(access->fd)->handle;

    if (cached)
        return ADIOI_THEMIS_Cache_transfer(access->fd, access->direction, list, done);
    return access->direction == THEMIS_WRITE ? themis_write_list(handle, list, done)
                                             : themis_read_list(handle, list, done);
}

/* Before an access past the cache: what the cache holds goes to the servers. */
static themis_status_t io_flush(const ADIOI_THEMIS_Access *access, int cached)
{
    return cached ? THEMIS_OK : ADIOI_THEMIS_Cache_flush(access->fd);
}

static themis_status_t io_contiguous(const ADIOI_THEMIS_Access *access, ADIO_Offset offset, size_t *done)
{
    uint64_t bytes = ADIOI_THEMIS_Access_bytes(access);
    int cached = ADIOI_THEMIS_Cache_wanted(access->fd);
    themis_status_t status = io_flush(access, cached);
    struct iovec memory = {access->buf, bytes};
    themis_run_t run = {(uint64_t)offset, bytes, bytes, 1};
    themis_list_t list = {&memory, 1, &run, 1};

    if (status == THEMIS_OK && bytes > 0)
        AD_THEMIS_UNLOCKED(status, io_transfer(access, cached, &list, done));
    return status;
}

/* Batch by batch, until a read meets the end of the file. */
static themis_status_t io_batches(const ADIOI_THEMIS_Access *access, ADIOI_THEMIS_List *lists, size_t *total)
{
    int cached = ADIOI_THEMIS_Cache_wanted(access->fd);

    for (;;) {
        themis_status_t status;
        themis_list_t list;
        size_t done = 0;

        if (ADIOI_THEMIS_List_next(lists))
            return THEMIS_NO_MEMORY;
        if (lists->batch == 0)
            return THEMIS_OK;
        list = ADIOI_THEMIS_List_batch(lists);
        AD_THEMIS_UNLOCKED(status, io_transfer(access, cached, &list, &done));
        if (status != THEMIS_OK)
            return status;
        *total += done;
        if (done < lists->batch)
            return THEMIS_OK;
    }
}

/* Atomic mode: no other access may come in between, so the whole range is locked, holes included. */
static themis_status_t io_atomic(const ADIOI_THEMIS_Access *access, ADIOI_THEMIS_List *lists, size_t *total)
{
    themis_file_t *handle = ADIOI_THEMIS_file(access->fd)->handle;
    int kind = access->direction == THEMIS_WRITE ? THEMIS_LOCK_EXCLUSIVE : THEMIS_LOCK_SHARED;
    themis_status_t status, unlocked;
    uint64_t first, end;

    if (lists->left == 0)
        return THEMIS_OK;
    ADIOI_THEMIS_List_range(lists, &first, &end);
    AD_THEMIS_UNLOCKED(status, themis_lock(handle, first, end - first, kind));
    if (status != THEMIS_OK)
        return status;
    status = io_batches(access, lists, total);
    AD_THEMIS_UNLOCKED(unlocked, themis_unlock(handle, first, end - first));
    return status != THEMIS_OK ? status : unlocked;
}

static themis_status_t io_strided(const ADIOI_THEMIS_Access *access, size_t *total)
{
    ADIO_File fd = access->fd;
    themis_status_t status = THEMIS_NO_MEMORY;
    ADIO_Offset target = fd->fp_ind;
    ADIOI_THEMIS_List lists;

    if (ADIOI_THEMIS_List_begin(access, &lists) == 0) {
        target = ADIOI_THEMIS_List_target(&lists);
        status = io_flush(access, ADIOI_THEMIS_Cache_wanted(fd));
        if (status == THEMIS_OK)
            status = fd->atomicity ? io_atomic(access, &lists, total) : io_batches(access, &lists, total);
    }
    if (status == THEMIS_OK && access->position == AD_THEMIS_AT_POINTER)
        fd->fp_ind = target;
    ADIOI_THEMIS_List_end(&lists);
    return status;
}

/* MPI_SUCCESS, or an error code: no memory can be at `buf`. */
static int check_buffer(const void *buf, MPI_Count count, MPI_Datatype datatype)
{
    if (!ADIOI_THEMIS_Hook_buffer_bad(buf, count, datatype))
        return MPI_SUCCESS;
    return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_BUFFER, "**bufnull", 0);
}

int ADIOI_THEMIS_Io_contiguous(const ADIOI_THEMIS_Access *access, ADIO_Status *result)
{
    ADIO_File fd = access->fd;
    ADIO_Offset offset = access->position == AD_THEMIS_AT_POINTER ? fd->fp_ind : access->offset;
    int code = check_buffer(access->buf, (MPI_Count)ADIOI_THEMIS_Access_bytes(access), MPI_BYTE);
    themis_status_t status;
    size_t done = 0;

    if (code == MPI_SUCCESS) {
        fd->dirty_write |= access->direction == THEMIS_WRITE;
        status = io_contiguous(access, offset, &done);
        code = ADIOI_THEMIS_FAILURE(status, fd->filename);
    }
    ADIOI_THEMIS_Direct_show(fd);
    fd->fp_sys_posn = offset + (ADIO_Offset)done;
    if (access->position == AD_THEMIS_AT_POINTER)
        fd->fp_ind += (ADIO_Offset)done;
    ADIOI_THEMIS_Access_set_status(access, done, result);
    return code;
}

int ADIOI_THEMIS_Io_strided(const ADIOI_THEMIS_Access *access, ADIO_Status *result)
{
    ADIO_File fd = access->fd;
    int code = check_buffer(access->buf, access->count, access->datatype);
    themis_status_t status;
    size_t done = 0;

    if (code == MPI_SUCCESS) {
        fd->dirty_write |= access->direction == THEMIS_WRITE;
        status = io_strided(access, &done);
        code = ADIOI_THEMIS_FAILURE(status, fd->filename);
    }
    ADIOI_THEMIS_Direct_show(fd);
    fd->fp_sys_posn = -1;
    ADIOI_THEMIS_Access_set_status(access, done, result);
    return code;
}
