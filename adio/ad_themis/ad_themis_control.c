/* SPDX-License-Identifier: BSD-3-Clause */
/* Size, space, sync, locks, the shared file pointer, and delete. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "ad_themis.h"
#include "util/config.h"

static themis_status_t file_size(ADIO_File fd, ADIO_Offset *size)
{
    themis_stat_t stat;
    themis_status_t status;

    status = ADIOI_THEMIS_Flush_caches(fd);
    if (status == THEMIS_OK)
        AD_THEMIS_UNLOCKED(status, themis_file_stat(ADIOI_THEMIS_file(fd)->handle, &stat));
    if (status == THEMIS_OK)
        *size = (ADIO_Offset)stat.size;
    return status;
}

void ADIOI_THEMIS_Fcntl(ADIO_File fd, int flag, ADIO_Fcntl_t *arg, int *error_code)
{
    themis_status_t status = THEMIS_OK;

    switch (flag) {
    case ADIO_FCNTL_GET_FSIZE:
        status = file_size(fd, &arg->fsize);
        break;
    case ADIO_FCNTL_SET_DISKSPACE:
        fd->dirty_write = 1;
        status = ADIOI_THEMIS_Flush_caches(fd);
        if (status == THEMIS_OK)
            AD_THEMIS_UNLOCKED(status, themis_allocate(ADIOI_THEMIS_file(fd)->handle, (uint64_t)arg->diskspace));
        break;
    case ADIO_FCNTL_SET_ATOMICITY:
        status = ADIOI_THEMIS_Flush_caches(fd);
        fd->atomicity = arg->atomicity != 0;
        ADIOI_THEMIS_Coll_allow_cache(fd, !fd->atomicity);
        break;
    default:
        *error_code = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_ARG, "**flag",
                                           "**flag %d", flag);
        return;
    }
    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
}

/* One rank syncs for all: a server does not ask whose bytes they are. Collective. */
void ADIOI_THEMIS_Flush(ADIO_File fd, int *error_code)
{
    int dirty = fd->dirty_write, any = 0, rank;
    themis_status_t status = THEMIS_OK;

    *error_code = ADIOI_THEMIS_Coll_sync(fd);
    if (*error_code != MPI_SUCCESS)
        return;
    MPI_Comm_rank(fd->comm, &rank);
    MPI_Allreduce(&dirty, &any, 1, MPI_INT, MPI_MAX, fd->comm);
    if (!any)
        return;
    if (rank == 0)
        AD_THEMIS_UNLOCKED(status, themis_sync(ADIOI_THEMIS_file(fd)->handle));
    ADIOI_THEMIS_Agree(fd, 0, __func__, status, error_code);
    if (*error_code == MPI_SUCCESS)
        fd->dirty_write = 0;
}

void ADIOI_THEMIS_Resize(ADIO_File fd, ADIO_Offset size, int *error_code)
{
    int rank, root = fd->hints->ranklist[0];
    themis_status_t status = THEMIS_OK;

    *error_code = ADIOI_THEMIS_Coll_sync(fd);
    if (*error_code != MPI_SUCCESS)
        return;
    MPI_Comm_rank(fd->comm, &rank);
    fd->dirty_write = 1;
    if (rank == root)
        AD_THEMIS_UNLOCKED(status, themis_truncate(ADIOI_THEMIS_file(fd)->handle, (uint64_t)size));
    ADIOI_THEMIS_Agree(fd, root, __func__, status, error_code);
}

/* Hints of the MPI_File_delete that this thread is in; ROMIO's table of operations has no place for them. */
static _Thread_local MPI_Info delete_hints = MPI_INFO_NULL;

void ADIOI_THEMIS_Delete_hints(MPI_Info info)
{
    delete_hints = info;
}

static themis_status_t delete (const char *filename)
{
    char *servers, *path, list[MPI_MAX_INFO_VAL + 1], timeout[MPI_MAX_INFO_VAL + 1];
    ADIOI_THEMIS_Wish wish = {0};
    themis_t *session;
    themis_status_t status = ADIOI_THEMIS_Name_split(filename, &servers, &path);

    if (status != THEMIS_OK)
        return status;
    if (*servers)
        wish.servers = servers;
    else if (ADIOI_THEMIS_Hint_given(delete_hints, AD_THEMIS_HINT_servers, filename, list))
        wish.servers = list;
    if (ADIOI_THEMIS_Hint_given(delete_hints, AD_THEMIS_HINT_timeout, filename, timeout))
        themis_util_config_duration(timeout, &wish.timeout);
    status = ADIOI_THEMIS_Session(&wish, &session);
    if (status == THEMIS_OK)
        AD_THEMIS_UNLOCKED(status, themis_unlink(session, path));
    free(servers);
    free(path);
    return status;
}

void ADIOI_THEMIS_Delete(const char *filename, int *error_code)
{
    themis_status_t status = delete (filename);

    *error_code = ADIOI_THEMIS_FAILURE(status, filename);
}

/* Byte ranges for atomic mode, and for the hidden file of the shared pointer in ROMIO's generic code. */
int ADIOI_THEMIS_SetLock(ADIO_File fd, int cmd, int type, ADIO_Offset offset, int whence, ADIO_Offset len)
{
    themis_file_t *handle = ADIOI_THEMIS_file(fd)->handle;
    int flags = type == F_WRLCK ? THEMIS_LOCK_EXCLUSIVE : THEMIS_LOCK_SHARED;
    themis_status_t status;

    if (len == 0)
        return MPI_SUCCESS;
    if (type == F_UNLCK)
        AD_THEMIS_UNLOCKED(status, themis_unlock(handle, (uint64_t)offset, (uint64_t)len));
    else
        AD_THEMIS_UNLOCKED(status, themis_lock(handle, (uint64_t)offset, (uint64_t)len,
                                               cmd == F_SETLK ? flags | THEMIS_LOCK_TRY : flags));
    return ADIOI_THEMIS_FAILURE(status, fd->filename);
}

void ADIOI_THEMIS_Shared_add(ADIO_File fd, ADIO_Offset increment, ADIO_Offset *before, int *error_code)
{
    themis_file_t *hidden = ADIOI_THEMIS_file(fd->shared_fp_fd)->handle;
    themis_status_t status;
    int64_t value = 0;

    AD_THEMIS_UNLOCKED(status,
                       increment ? themis_counter_add(hidden, increment, &value) : themis_counter_get(hidden, &value));
    *before = value;
    ADIOI_THEMIS_file(fd)->shared_failed = status != THEMIS_OK;
    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
}

void ADIOI_THEMIS_Shared_set(ADIO_File fd, ADIO_Offset value, int *error_code)
{
    themis_status_t status;

    AD_THEMIS_UNLOCKED(status, themis_counter_set(ADIOI_THEMIS_file(fd->shared_fp_fd)->handle, value));
    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
}
