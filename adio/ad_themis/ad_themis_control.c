/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_control.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "ad_themis_cache.h"
#include "ad_themis_coll_file.h"
#include "ad_themis_file.h"
#include "ad_themis_hints.h"
#include "ad_themis_hooks.h"
#include "ad_themis_name.h"
#include "ad_themis_session.h"
#include "util/config.h"

static themis_status_t file_size(ADIO_File fd, ADIO_Offset *size)
{
    themis_stat_t stat;
    themis_status_t status;

    status = ADIOI_THEMIS_Cache_flush(fd);
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
        status = ADIOI_THEMIS_Cache_flush(fd);
        if (status == THEMIS_OK)
            AD_THEMIS_UNLOCKED(status, themis_allocate(ADIOI_THEMIS_file(fd)->handle, (uint64_t)arg->diskspace));
        break;
    case ADIO_FCNTL_SET_ATOMICITY:
        status = ADIOI_THEMIS_Cache_flush(fd);
        fd->atomicity = arg->atomicity != 0;
        break;
    default:
        *error_code = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_ARG, "**flag",
                                           "**flag %d", flag);
        return;
    }
    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
}

/* Collective: tells rank 0 what objects the other ranks know to exist. Returns whether any rank has written. */
static int gather_known(ADIO_File fd, int rank)
{
    themis_file_t *handle = ADIOI_THEMIS_file(fd)->handle;
    int words = 1 + (int)THEMIS_KNOWN_WORDS(ADIOI_THEMIS_file(fd)->layout.count), any;
    /* a rank without memory for these few bytes could not take part in the reduction either */
    uint32_t *known = ADIOI_Malloc((size_t)words * sizeof *known);
    uint32_t *all = ADIOI_Malloc((size_t)words * sizeof *all);

    known[0] = fd->dirty_write != 0;
    themis_file_known(handle, known + 1);
    MPI_Allreduce(known, all, words, MPI_UINT32_T, MPI_BOR, fd->comm);
    any = all[0] != 0;
    if (rank == 0)
        themis_file_learn(handle, all + 1);
    ADIOI_Free(known);
    ADIOI_Free(all);
    return any;
}

/* Collective. One rank syncs for all: a server syncs the bytes of all clients. */
void ADIOI_THEMIS_Flush(ADIO_File fd, int *error_code)
{
    themis_status_t status = THEMIS_OK;
    int rank;

    *error_code = ADIOI_THEMIS_Coll_sync(fd);
    if (*error_code != MPI_SUCCESS)
        return;
    MPI_Comm_rank(fd->comm, &rank);
    if (!gather_known(fd, rank))
        return;
    if (rank == 0)
        AD_THEMIS_UNLOCKED(status, themis_sync(ADIOI_THEMIS_file(fd)->handle));
    *error_code = ADIOI_THEMIS_Error_broadcast(fd, 0, __func__, status);
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
    *error_code = ADIOI_THEMIS_Error_broadcast(fd, root, __func__, status);
}

static themis_status_t file_delete(const char *filename)
{
    char *servers, *path, list[MPI_MAX_INFO_VAL + 1], timeout[MPI_MAX_INFO_VAL + 1];
    MPI_Info hints = ADIOI_THEMIS_Hook_delete_hints();
    themis_options_t options = {0};
    themis_t *session;
    themis_status_t status = ADIOI_THEMIS_Name_split(filename, &servers, &path);

    if (status != THEMIS_OK)
        return status;
    if (*servers)
        options.servers = servers;
    else if (ADIOI_THEMIS_Hints_given(hints, AD_THEMIS_HINT_servers, filename, list))
        options.servers = list;
    if (ADIOI_THEMIS_Hints_given(hints, AD_THEMIS_HINT_timeout, filename, timeout))
        themis_util_config_duration(timeout, &options.timeout);
    status = ADIOI_THEMIS_Session_get(&options, &session);
    if (status == THEMIS_OK)
        AD_THEMIS_UNLOCKED(status, themis_unlink(session, path));
    free(servers);
    free(path);
    return status;
}

void ADIOI_THEMIS_Delete(const char *filename, int *error_code)
{
    themis_status_t status = file_delete(filename);

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
