/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking independent reads and writes. */
#include "ad_themis.h"

/* Linux maps nothing below. */
enum { LOWEST_ADDRESS = 65536 };

int ADIOI_THEMIS_Buffer_bad(const void *buf, MPI_Count count, MPI_Datatype datatype)
{
    MPI_Count lb, extent, size;

    if ((uintptr_t)buf >= LOWEST_ADDRESS || count <= 0 || datatype == MPI_DATATYPE_NULL ||
        MPIR_Ext_datatype_iscommitted(datatype) != MPI_SUCCESS)
        return 0;
    MPI_Type_size_x(datatype, &size);
    MPI_Type_get_true_extent_x(datatype, &lb, &extent);
    /* A type of addresses, to be used with MPI_BOTTOM, starts far from 0. */
    return size > 0 && (intptr_t)buf + lb < LOWEST_ADDRESS;
}

static int buffer_error(const char *function)
{
    return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, __LINE__, MPI_ERR_BUFFER, "**bufnull", 0);
}

/* What one call to the servers reads or writes; with the cache, the collective calls' one has to be empty. */
static themis_status_t move(ADIO_File fd, themis_direction_t direction, int cached, const themis_list_t *list,
                            size_t *done)
{
    themis_file_t *handle = ADIOI_THEMIS_file(fd)->handle;

    if (cached)
        return ADIOI_THEMIS_Cache_move(fd, direction, list, done);
    return direction == THEMIS_WRITE ? themis_write_list(handle, list, done) : themis_read_list(handle, list, done);
}

static void contiguous(ADIO_File fd, themis_direction_t direction, void *buf, uint64_t bytes, ADIO_Offset offset,
                       size_t *done, int *error_code)
{
    int cached = ADIOI_THEMIS_Cache_wanted(fd);
    themis_status_t status = cached ? ADIOI_THEMIS_Coll_settle(fd) : ADIOI_THEMIS_Settle(fd);
    struct iovec memory = {buf, bytes};
    themis_run_t run = {(uint64_t)offset, bytes, bytes, 1};
    themis_list_t list = {&memory, 1, &run, 1};

    *done = 0;
    if ((uintptr_t)buf < LOWEST_ADDRESS && bytes > 0) {
        *error_code = buffer_error(__func__);
        return;
    }
    if (direction == THEMIS_WRITE)
        fd->dirty_write = 1;
    if (status == THEMIS_OK && bytes > 0)
        AD_THEMIS_UNLOCKED(status, move(fd, direction, cached, &list, done));
    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
}

static void contiguous_at(ADIO_File fd, themis_direction_t direction, void *buf, uint64_t bytes, int file_ptr_type,
                          ADIO_Offset offset, size_t *done, int *error_code)
{
    if (file_ptr_type == ADIO_INDIVIDUAL)
        offset = fd->fp_ind;
    contiguous(fd, direction, buf, bytes, offset, done, error_code);
    fd->fp_sys_posn = offset + (ADIO_Offset)*done;
    if (file_ptr_type == ADIO_INDIVIDUAL)
        fd->fp_ind += (ADIO_Offset)*done;
}

void ADIOI_THEMIS_ReadContig(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,
                             ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    size_t done;

    contiguous_at(fd, THEMIS_READ, buf, ADIOI_THEMIS_Bytes(count, datatype), file_ptr_type, offset, &done, error_code);
    ADIOI_THEMIS_Status_set(status, datatype, done);
}

void ADIOI_THEMIS_WriteContig(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                              int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    size_t done;

    contiguous_at(fd, THEMIS_WRITE, (void *)buf, ADIOI_THEMIS_Bytes(count, datatype), file_ptr_type, offset, &done,
                  error_code);
    ADIOI_THEMIS_Status_set(status, datatype, done);
}

/* Batch by batch, until a read meets the end of the file. */
static themis_status_t batches(ADIO_File fd, themis_direction_t direction, ADIOI_THEMIS_Access *access, size_t *total)
{
    int cached = ADIOI_THEMIS_Cache_wanted(fd);

    for (;;) {
        themis_status_t status;
        themis_list_t list;
        size_t done = 0;

        if (ADIOI_THEMIS_Access_next(access))
            return THEMIS_NO_MEMORY;
        if (access->batch == 0)
            return THEMIS_OK;
        list = ADIOI_THEMIS_Access_list(access);
        AD_THEMIS_UNLOCKED(status, move(fd, direction, cached, &list, &done));
        if (status != THEMIS_OK)
            return status;
        *total += done;
        if (done < access->batch) {
            return THEMIS_OK;
        }
    }
}

/* Atomic mode: nothing else of the range's accesses in between, so all of it is locked, holes included. */
static themis_status_t atomic_range(ADIO_File fd, themis_direction_t direction, ADIOI_THEMIS_Access *access,
                                    size_t *total)
{
    themis_file_t *handle = ADIOI_THEMIS_file(fd)->handle;
    int kind = direction == THEMIS_WRITE ? THEMIS_LOCK_EXCLUSIVE : THEMIS_LOCK_SHARED;
    themis_status_t status, unlocked;
    uint64_t first, behind;

    if (access->left == 0)
        return THEMIS_OK;
    ADIOI_THEMIS_Access_range(access, &first, &behind);
    AD_THEMIS_UNLOCKED(status, themis_lock(handle, first, behind - first, kind));
    if (status != THEMIS_OK)
        return status;
    status = batches(fd, direction, access, total);
    AD_THEMIS_UNLOCKED(unlocked, themis_unlock(handle, first, behind - first));
    return status != THEMIS_OK ? status : unlocked;
}

static size_t strided(ADIO_File fd, themis_direction_t direction, const void *buf, AD_THEMIS_COUNT count,
                      MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset, int *error_code)
{
    themis_status_t status = THEMIS_NO_MEMORY;
    ADIOI_THEMIS_Access access;
    size_t total = 0;
    ADIO_Offset target = fd->fp_ind;

    if (ADIOI_THEMIS_Buffer_bad(buf, count, datatype)) {
        *error_code = buffer_error(__func__);
        return 0;
    }
    if (direction == THEMIS_WRITE)
        fd->dirty_write = 1;
    if (ADIOI_THEMIS_Access_begin(fd, buf, count, datatype, file_ptr_type, offset, &access) == 0) {
        target = ADIOI_THEMIS_Access_target(&access);
        status = ADIOI_THEMIS_Cache_wanted(fd) ? ADIOI_THEMIS_Coll_settle(fd) : ADIOI_THEMIS_Settle(fd);
        if (status == THEMIS_OK)
            status =
                fd->atomicity ? atomic_range(fd, direction, &access, &total) : batches(fd, direction, &access, &total);
    }
    if (status == THEMIS_OK && file_ptr_type == ADIO_INDIVIDUAL)
        fd->fp_ind = target;
    fd->fp_sys_posn = -1;
    ADIOI_THEMIS_Access_end(&access);
    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
    return total;
}

void ADIOI_THEMIS_ReadStrided(ADIO_File fd, void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype, int file_ptr_type,
                              ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    ADIOI_THEMIS_Status_set(status, datatype,
                            strided(fd, THEMIS_READ, buf, count, datatype, file_ptr_type, offset, error_code));
}

void ADIOI_THEMIS_WriteStrided(ADIO_File fd, const void *buf, AD_THEMIS_COUNT count, MPI_Datatype datatype,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Status *status, int *error_code)
{
    ADIOI_THEMIS_Status_set(status, datatype,
                            strided(fd, THEMIS_WRITE, buf, count, datatype, file_ptr_type, offset, error_code));
}
