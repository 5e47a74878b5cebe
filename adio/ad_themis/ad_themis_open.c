/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank 0 opens the file and broadcasts the outcome, the handle, the servers and the job, so that all ranks are clients
 * of the same servers and job even where their environments differ. The other ranks send no message to open the file;
 * only their sessions connect to a server, once in the lifetime of a process.
 */
#include "ad_themis_open.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "ad_themis_cache.h"
#include "ad_themis_direct.h"
#include "ad_themis_coll_file.h"
#include "ad_themis_control.h"
#include "ad_themis_file.h"
#include "ad_themis_hints.h"
#include "ad_themis_hooks.h"
#include "ad_themis_name.h"
#include "ad_themis_session.h"
#include "adio_cb_config_list.h"
#include "adio_extern.h"
#include "util/config.h"
#include "util/log.h"

enum { OPENER = 0 };

/* What the opener broadcasts, followed by the handle, the list of servers and the job with their final zeros. */
typedef struct open_message {
    int32_t status;
    uint32_t nodes;
    uint64_t end;                  /* size of the file if it is opened for append */
    uint32_t handle, servers, job; /* bytes */
    char text[AD_THEMIS_TEXT];     /* of a failure */
} open_message_t;

static size_t extra_bytes(const open_message_t *message)
{
    return (size_t)message->handle + message->servers + message->job;
}

/* Distinct host names among the ranks; rank 0 has gathered them for cb_config_list. 0: not known. */
static uint32_t count_nodes(MPI_Comm comm)
{
    ADIO_cb_name_array array;
    uint32_t nodes = 0;
    int found = 0;

    if (ADIOI_cb_config_list_keyval == MPI_KEYVAL_INVALID)
        return 0;
    MPI_Comm_get_attr(comm, ADIOI_cb_config_list_keyval, &array, &found);
    if (!found || !array || !array->names)
        return 0;
    for (int i = 0; i < array->namect; i++) {
        int j = 0;

        /* Ranks of one node mostly follow one another: look back from the nearest. */
        for (j = i - 1; j >= 0 && strcmp(array->names[i], array->names[j]) != 0; j--)
            ;
        nodes += j < 0;
    }
    return nodes;
}

/* ROMIO may turn a write into a read and a write of more bytes, so the file is opened for both where that is allowed.
 */
static themis_status_t open_with_mode(themis_t *session, const char *path, int access_mode, uint32_t mode,
                                      const themis_layout_t *layout, themis_file_t **handle)
{
    int flags = access_mode & ADIO_RDONLY ? THEMIS_OPEN_READ : THEMIS_OPEN_READ | THEMIS_OPEN_WRITE;
    themis_status_t status;

    if (access_mode & ADIO_CREATE)
        flags |= THEMIS_OPEN_CREATE;
    if (access_mode & ADIO_EXCL)
        flags |= THEMIS_OPEN_EXCLUSIVE;
    status = themis_open(session, path, flags, mode, layout, handle);
    if (status == THEMIS_ACCESS && (access_mode & ADIO_WRONLY))
        status = themis_open(session, path, flags & ~THEMIS_OPEN_READ, mode, layout, handle);
    return status;
}

static uint32_t creation_mode(ADIO_File fd)
{
    mode_t mask;

    if (fd->perm != ADIO_PERM_NULL)
        return (uint32_t)fd->perm;
    mask = umask(022);
    umask(mask);
    return 0666 & ~(uint32_t)mask;
}

static void warn_of_layout(ADIO_File fd, const char *key, int requested, const char *instead, uint32_t given)
{
    themis_warn("themis:%s: hint %s = \"%d\" exceeds the number of servers: %s %u", ADIOI_THEMIS_File_name(fd), key,
                requested, instead, given);
}

/* The layout that the hints ask for, reduced to what the servers can give. */
static themis_layout_t requested_layout(ADIO_File fd, uint32_t servers)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    themis_layout_t layout = {.first = THEMIS_FIRST_ANY};

    if (fd->hints->striping_unit > 0)
        layout.stripe_size = (uint64_t)fd->hints->striping_unit;
    if (file->striping_factor > 0)
        layout.count = (uint32_t)file->striping_factor < servers ? (uint32_t)file->striping_factor : servers;
    if (file->striping_factor > (int64_t)servers)
        warn_of_layout(fd, "striping_factor", file->striping_factor, "limited to", servers);
    if (file->start_iodevice >= 0)
        layout.first = (uint32_t)file->start_iodevice % servers;
    if (file->start_iodevice >= (int64_t)servers)
        warn_of_layout(fd, "start_iodevice", file->start_iodevice, "wraps to", layout.first);
    return layout;
}

/* The hints are the same on all ranks. */
static void options_from_hints(ADIO_File fd, const char *servers, uint32_t nodes, themis_options_t *options)
{
    const char *timeout = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_timeout);

    themis_options_init(options);
    options->servers = *servers ? servers : ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_servers);
    options->placement = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_file_servers);
    options->policy = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_policy);
    options->nodes = nodes;
    if (timeout)
        themis_util_config_duration(timeout, &options->timeout);
}

/* Opens on this rank; *end is the size for append. */
static themis_status_t open_here(ADIO_File fd, const themis_options_t *options, const char *path, int access_mode,
                                 uint64_t *end)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    themis_session_info_t info;
    themis_layout_t layout;
    themis_stat_t stat;
    themis_status_t status = ADIOI_THEMIS_Session_get(options, &file->session);

    if (status == THEMIS_OK)
        status = themis_session_info(file->session, &info);
    if (status != THEMIS_OK)
        return status;
    layout = requested_layout(fd, info.servers);
    status = open_with_mode(file->session, path, access_mode, creation_mode(fd), &layout, &file->handle);
    *end = 0;
    if (status == THEMIS_OK && (access_mode & ADIO_APPEND)) {
        status = themis_file_stat(file->handle, &stat);
        if (status == THEMIS_OK)
            *end = stat.size;
    }
    return status;
}

static themis_status_t open_by_name(ADIO_File fd, int access_mode, uint32_t nodes, uint64_t *end)
{
    char *servers, *path;
    themis_options_t options;
    themis_status_t status = strlen(fd->filename) + AD_THEMIS_NAME_ROOM < PATH_MAX ? THEMIS_OK : THEMIS_NAME_TOO_LONG;

    if (status == THEMIS_OK)
        status = ADIOI_THEMIS_Name_split(fd->filename, &servers, &path);
    if (status != THEMIS_OK)
        return status;
    options_from_hints(fd, servers, nodes, &options);
    AD_THEMIS_UNLOCKED(status, open_here(fd, &options, path, access_mode, end));
    free(servers);
    free(path);
    return status;
}

/* The bytes that follow the message, owned by the caller; NULL on failure, with the reason in message->status. */
static char *message_pack(ADIO_File fd, open_message_t *message)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    themis_session_info_t info;
    size_t length = 0;
    char *bytes;

    message->status = themis_session_info(file->session, &info);
    if (message->status != THEMIS_OK)
        return NULL;
    message->servers = (uint32_t)strlen(info.server_list) + 1;
    message->job = (uint32_t)strlen(info.job) + 1;
    bytes = malloc(THEMIS_HANDLE_BYTES + message->servers + message->job);
    message->status = bytes ? themis_file_pack(file->handle, bytes, THEMIS_HANDLE_BYTES, &length) : THEMIS_NO_MEMORY;
    if (message->status != THEMIS_OK) {
        free(bytes);
        return NULL;
    }
    message->handle = (uint32_t)length;
    memcpy(bytes + length, info.server_list, message->servers);
    memcpy(bytes + length + message->servers, info.job, message->job);
    return bytes;
}

/* On the other ranks: a session with the same servers for the same job, and the handle from its bytes. */
static themis_status_t take_over(ADIO_File fd, const open_message_t *message, const char *bytes)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    const char *servers = bytes + message->handle;
    themis_options_t options;
    themis_status_t status;

    options_from_hints(fd, servers, message->nodes, &options);
    options.job = servers + message->servers;
    status = ADIOI_THEMIS_Session_get(&options, &file->session);
    if (status == THEMIS_OK)
        status = themis_file_unpack(file->session, bytes, message->handle, &file->handle);
    return status;
}

/* Fills in what ROMIO and MPI_File_get_info know about an open file. */
static void file_show(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    int cached = ADIOI_THEMIS_Cache_asked(fd);
    themis_session_info_t info;

    themis_file_layout(file->handle, &file->layout);
    fd->hints->striping_unit = (int)file->layout.stripe_size;
    fd->hints->striping_factor = (int)file->layout.count;
    fd->hints->start_iodevice = (int)file->layout.first;
    fd->blksize = (long)file->layout.stripe_size;
    ADIOI_THEMIS_Hints_show_number(fd, "striping_unit", (double)file->layout.stripe_size);
    ADIOI_THEMIS_Hints_show_number(fd, "themis_stripe_count", file->layout.count);
    ADIOI_THEMIS_Hints_show_number(fd, "themis_stripe_first", file->layout.first);
    /* Programs pass on what is shown under the standard names as a request of their own. */
    if (file->striping_factor > 0)
        ADIOI_THEMIS_Hints_show_number(fd, "striping_factor", file->layout.count);
    if (file->start_iodevice >= 0)
        ADIOI_THEMIS_Hints_show_number(fd, "start_iodevice", file->layout.first);
    ADIOI_THEMIS_Hints_show(fd, "themis_cache", cached ? "on" : "off");
    ADIOI_THEMIS_Direct_opened(fd);
    /* In ROMIO since MPICH 4.1. HDF5 reads it: at "false" it calls MPI_File_sync after collective writes. */
    ADIOI_THEMIS_Hints_show(fd, "romio_visibility_immediate", cached ? "false" : "true");
    if (themis_session_info(file->session, &info) != THEMIS_OK)
        return;
    ADIOI_THEMIS_Name_complete(fd, info.server_list);
    ADIOI_THEMIS_Hints_show(fd, "themis_servers", info.server_list);
    if (info.policy && *info.policy)
        ADIOI_THEMIS_Hints_show(fd, "themis_policy", info.policy);
}

/* The rank that opens warns of a policy that the servers did not grant, with the first file of the session. */
static void warn_of_policy(ADIO_File fd)
{
    const char *policy = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_policy);
    themis_session_info_t info;

    if (!policy || themis_session_info(ADIOI_THEMIS_file(fd)->session, &info) != THEMIS_OK || info.policy_granted ||
        !ADIOI_THEMIS_Session_warn_once(ADIOI_THEMIS_file(fd)->session))
        return;
    themis_warn("themis:%s: hint themis_policy = \"%s\" is ignored: %s%s; in force is %s", ADIOI_THEMIS_File_name(fd),
                policy, info.policy_fault, *info.policy_fault ? "" : "it is not in the servers' list of policies",
                info.policy);
}

static void file_opened(ADIO_File fd, int access_mode, uint64_t end)
{
    file_show(fd);
    fd->access_mode = access_mode;
    fd->fd_sys = -1;
    fd->is_open = 1;
    fd->dirty_write = 0;
    if (access_mode & ADIO_APPEND)
        fd->fp_ind = fd->fp_sys_posn = (ADIO_Offset)end;
}

static void file_discard(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);

    if (file && file->handle)
        themis_close(file->handle);
    ADIOI_THEMIS_File_free(fd);
}

/* The open of one rank alone, for deferred opens. */
void ADIOI_THEMIS_Open(ADIO_File fd, int *error_code)
{
    uint64_t end;
    themis_status_t status = ADIOI_THEMIS_File_make(fd) ? open_by_name(fd, fd->access_mode, 0, &end) : THEMIS_NO_MEMORY;

    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
    if (status == THEMIS_OK)
        file_opened(fd, fd->access_mode, end);
}

void ADIOI_THEMIS_OpenColl(ADIO_File fd, int rank, int access_mode, int *error_code)
{
    open_message_t message = {.status = THEMIS_NO_MEMORY};
    themis_status_t status = THEMIS_OK;
    char *bytes = NULL;
    int have = ADIOI_THEMIS_File_make(fd) != NULL;

    if (rank == OPENER) {
        message.nodes = count_nodes(fd->comm);
        message.status = have ? open_by_name(fd, access_mode, message.nodes, &message.end) : THEMIS_NO_MEMORY;
        if (message.status == THEMIS_OK)
            bytes = message_pack(fd, &message);
        if (message.status != THEMIS_OK)
            snprintf(message.text, sizeof message.text, "%s", themis_last_error());
    }
    MPI_Bcast(&message, sizeof message, MPI_BYTE, OPENER, fd->comm);
    if (message.status != THEMIS_OK) {
        *error_code = ADIOI_THEMIS_Error(__func__, __LINE__, message.status, fd->filename, message.text);
        file_discard(fd);
        return;
    }
    /* A rank without memory for these few bytes could not take part in the broadcast either. */
    if (rank != OPENER)
        bytes = ADIOI_Malloc(extra_bytes(&message));
    MPI_Bcast(bytes, (int)extra_bytes(&message), MPI_BYTE, OPENER, fd->comm);
    if (rank != OPENER)
        AD_THEMIS_UNLOCKED(status, have ? take_over(fd, &message, bytes) : THEMIS_NO_MEMORY);
    *error_code = ADIOI_THEMIS_Error_agree(fd, __func__, status);
    if (rank == OPENER)
        free(bytes);
    else
        ADIOI_Free(bytes);
    if (*error_code != MPI_SUCCESS) {
        file_discard(fd);
        return;
    }
    file_opened(fd, access_mode, message.end);
    if (rank == OPENER)
        warn_of_policy(fd);
    ADIOI_THEMIS_file(fd)->everywhere = 1;
    *error_code = ADIOI_THEMIS_Coll_open(fd);
    if (*error_code != MPI_SUCCESS)
        file_discard(fd);
}

/* Written data is durable when the file is closed. */
void ADIOI_THEMIS_Close(ADIO_File fd, int *error_code)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    themis_status_t status = THEMIS_OK;

    *error_code = MPI_SUCCESS;
    if (!file)
        return;
    if (file->everywhere && !(fd->access_mode & ADIO_RDONLY))
        ADIOI_THEMIS_Flush(fd, error_code);
    ADIOI_THEMIS_Coll_close(fd);
    AD_THEMIS_UNLOCKED(status, ADIOI_THEMIS_Cache_end(fd));
    if (*error_code == MPI_SUCCESS)
        *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
    if (file->handle)
        AD_THEMIS_UNLOCKED(status, themis_close(file->handle));
    file->handle = NULL;
    if (*error_code == MPI_SUCCESS)
        *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
    ADIOI_THEMIS_File_free(fd);
    fd->is_open = 0;
}
