/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open and close. Rank 0 opens the file and tells the others: the outcome, the handle, and of which servers and which
 * job it is, so that all ranks are clients of the same even where their environments differ. The others send no message
 * for it; only their sessions reach a server, once in the life of a process.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "ad_themis.h"
#include "adio_cb_config_list.h"
#include "adio_extern.h"
#include "util/config.h"
#include "util/log.h"

enum {
    OPENER = 0,
    NAME_ROOM = 64 /* ROMIO hangs where a name with an ending of its own does not fit into PATH_MAX */
};

/* What the opener broadcasts, followed by `extra` bytes: the handle, then the texts with their final zeros. */
typedef struct announcement {
    int32_t status;
    uint32_t nodes;
    uint64_t timeout, end; /* ns; size of the file if it is opened for append */
    uint32_t handle, servers, job, policy;
    char text[AD_THEMIS_TEXT];
} announcement_t;

static size_t extra_bytes(const announcement_t *said)
{
    return (size_t)said->handle + said->servers + said->job + said->policy;
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

/* Writes may come as a read and a write of more than was asked for, so a file is opened for both where that is allowed.
 */
static themis_status_t open_flags(themis_t *session, const char *path, int access_mode, uint32_t mode,
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

/* What of a wish there are not enough servers for is given as far as it goes. */
static void warn_of_layout(ADIO_File fd, const char *key, int asked, const char *instead, uint32_t given)
{
    themis_warn("themis:%s: hint %s = \"%d\" is more than there are servers: %s %u", ADIOI_THEMIS_Name(fd), key, asked,
                instead, given);
}

/* The layout that the hints ask for; what the servers cannot give is not asked for. */
static themis_layout_t wanted_layout(ADIO_File fd, uint32_t servers)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    themis_layout_t layout = {.first = THEMIS_FIRST_ANY};

    if (fd->hints->striping_unit > 0)
        layout.stripe_size = (uint64_t)fd->hints->striping_unit;
    if (file->striping_factor > 0)
        layout.count = (uint32_t)file->striping_factor < servers ? (uint32_t)file->striping_factor : servers;
    if (file->striping_factor > (int64_t)servers)
        warn_of_layout(fd, "striping_factor", file->striping_factor, "it is", servers);
    if (file->start_iodevice >= 0)
        layout.first = (uint32_t)file->start_iodevice % servers;
    if (file->start_iodevice >= (int64_t)servers)
        warn_of_layout(fd, "start_iodevice", file->start_iodevice, "counted round and round it is", layout.first);
    return layout;
}

static void wish_from_hints(ADIO_File fd, const char *servers, uint32_t nodes, ADIOI_THEMIS_Wish *wish)
{
    const char *timeout = ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_timeout);

    memset(wish, 0, sizeof *wish);
    wish->servers = *servers ? servers : ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_servers);
    wish->policy = ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_policy);
    wish->nodes = nodes;
    if (timeout)
        themis_util_config_duration(timeout, &wish->timeout);
}

/* Opens on this rank; *end is the size for append. */
static themis_status_t open_here(ADIO_File fd, const ADIOI_THEMIS_Wish *wish, const char *path, int access_mode,
                                 uint64_t *end)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    themis_session_info_t info;
    themis_layout_t layout;
    themis_stat_t stat;
    themis_status_t status = ADIOI_THEMIS_Session(wish, &file->session);

    if (status == THEMIS_OK)
        status = themis_session_info(file->session, &info);
    if (status != THEMIS_OK)
        return status;
    layout = wanted_layout(fd, info.servers);
    status = open_flags(file->session, path, access_mode, creation_mode(fd), &layout, &file->handle);
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
    ADIOI_THEMIS_Wish wish;
    themis_status_t status = strlen(fd->filename) + NAME_ROOM < PATH_MAX ? THEMIS_OK : THEMIS_NAME_TOO_LONG;

    if (status == THEMIS_OK)
        status = ADIOI_THEMIS_Name_split(fd->filename, &servers, &path);
    if (status != THEMIS_OK)
        return status;
    wish_from_hints(fd, servers, nodes, &wish);
    AD_THEMIS_UNLOCKED(status, open_here(fd, &wish, path, access_mode, end));
    free(servers);
    free(path);
    return status;
}

/* Appends a text with its zero. */
static uint32_t put_text(char *bytes, size_t at, const char *text)
{
    uint32_t length = (uint32_t)strlen(text) + 1;

    memcpy(bytes + at, text, length);
    return length;
}

/* The handle and the session's texts as bytes, owned by the caller; NULL on failure, and then said->status says why. */
static char *announce(ADIO_File fd, announcement_t *said)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    const char *policy = ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_policy);
    const char *timeout = ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_timeout);
    themis_session_info_t info;
    size_t length = 0;
    char *bytes;

    said->status = themis_session_info(file->session, &info);
    if (said->status != THEMIS_OK)
        return NULL;
    policy = policy ? policy : "";
    bytes = malloc(THEMIS_HANDLE_BYTES + strlen(info.server_list) + strlen(info.job) + strlen(policy) + 3);
    said->status = bytes ? themis_file_pack(file->handle, bytes, THEMIS_HANDLE_BYTES, &length) : THEMIS_NO_MEMORY;
    if (said->status != THEMIS_OK) {
        free(bytes);
        return NULL;
    }
    said->handle = (uint32_t)length;
    said->servers = put_text(bytes, length, info.server_list);
    said->job = put_text(bytes, length + said->servers, info.job);
    said->policy = put_text(bytes, length + said->servers + said->job, policy);
    if (timeout)
        themis_util_config_duration(timeout, &said->timeout);
    return bytes;
}

/* The other ranks: a session with the same servers for the same job, and the handle from its bytes. */
static themis_status_t take_over(ADIO_File fd, const announcement_t *said, const char *bytes)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    const char *texts = bytes + said->handle;
    ADIOI_THEMIS_Wish wish = {.servers = texts,
                              .job = texts + said->servers,
                              .policy = said->policy > 1 ? texts + said->servers + said->job : NULL,
                              .timeout = said->timeout,
                              .nodes = said->nodes};
    themis_status_t status = ADIOI_THEMIS_Session(&wish, &file->session);

    if (status == THEMIS_OK)
        status = themis_file_unpack(file->session, bytes, said->handle, &file->handle);
    return status;
}

/* From here on the name has the servers in it: ROMIO deletes by name, and makes from it the name of the hidden file.
 * Where it would be too long for that, something short stands for them. */
static void name_in_full(ADIO_File fd, const char *server_list)
{
    char full[PATH_MAX - NAME_ROOM + sizeof "//" + AD_THEMIS_SHORT_SERVERS], servers[AD_THEMIS_SHORT_SERVERS];
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    const char *path = themis_file_path(file->handle);

    if (strlen(server_list) + strlen(path) + sizeof "//" > PATH_MAX - NAME_ROOM) {
        ADIOI_THEMIS_Servers_shorten(server_list, servers);
        server_list = servers;
    }
    snprintf(full, sizeof full, "//%s%s", server_list, path);
    if (!file->name)
        file->name = strdup(fd->filename);
    ADIOI_Free(fd->filename);
    fd->filename = ADIOI_Strdup(full);
}

/* What ROMIO and MPI_File_get_info are to know of an open file. */
static void show(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    int cached = ADIOI_THEMIS_Cache_asked(fd);
    themis_session_info_t info;

    themis_file_layout(file->handle, &file->layout);
    fd->hints->striping_unit = (int)file->layout.stripe_size;
    fd->hints->striping_factor = (int)file->layout.count;
    fd->hints->start_iodevice = (int)file->layout.first;
    fd->blksize = (long)file->layout.stripe_size;
    ADIOI_THEMIS_Hint_show_number(fd, "striping_unit", (long long)file->layout.stripe_size);
    ADIOI_THEMIS_Hint_show_number(fd, "themis_stripe_count", file->layout.count);
    ADIOI_THEMIS_Hint_show_number(fd, "themis_stripe_first", file->layout.first);
    /* Programs take what is shown under the standard names for a wish of their own. */
    if (file->striping_factor > 0)
        ADIOI_THEMIS_Hint_show_number(fd, "striping_factor", file->layout.count);
    if (file->start_iodevice >= 0)
        ADIOI_THEMIS_Hint_show_number(fd, "start_iodevice", file->layout.first);
    ADIOI_THEMIS_Hint_show(fd, "themis_cache", cached ? "on" : "off");
    /* Of ROMIO since MPICH 4.1; HDF5 goes by it: at "false" it calls MPI_File_sync after collective writes. */
    ADIOI_THEMIS_Hint_show(fd, "romio_visibility_immediate", cached ? "false" : "true");
    if (themis_session_info(file->session, &info) != THEMIS_OK)
        return;
    name_in_full(fd, info.server_list);
    ADIOI_THEMIS_Hint_show(fd, "themis_servers", info.server_list);
    if (info.policy && *info.policy)
        ADIOI_THEMIS_Hint_show(fd, "themis_policy", info.policy);
}

/* A wish for a policy that the servers did not grant is told by the rank that opens, with the first file. */
static void tell_of_policy(ADIO_File fd)
{
    const char *wish = ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_policy);
    themis_session_info_t info;

    if (!wish || themis_session_info(ADIOI_THEMIS_file(fd)->session, &info) != THEMIS_OK || info.policy_granted ||
        !ADIOI_THEMIS_Session_untold(ADIOI_THEMIS_file(fd)->session))
        return;
    themis_warn("themis:%s: hint themis_policy = \"%s\" is ignored: %s%s; in force is %s", ADIOI_THEMIS_Name(fd), wish,
                info.policy_fault, *info.policy_fault ? "" : "the servers' list of policies does not have it",
                info.policy);
}

static void opened(ADIO_File fd, int access_mode, uint64_t end)
{
    show(fd);
    fd->access_mode = access_mode;
    fd->fd_sys = -1;
    fd->is_open = 1;
    fd->dirty_write = 0;
    if (access_mode & ADIO_APPEND)
        fd->fp_ind = fd->fp_sys_posn = (ADIO_Offset)end;
}

static void discard(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);

    if (file && file->handle)
        themis_close(file->handle);
    ADIOI_THEMIS_File_free(fd);
}

/* One rank's open, as ROMIO's deferred opens do it. */
void ADIOI_THEMIS_Open(ADIO_File fd, int *error_code)
{
    uint64_t end;
    themis_status_t status = ADIOI_THEMIS_File_make(fd) ? open_by_name(fd, fd->access_mode, 0, &end) : THEMIS_NO_MEMORY;

    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
    if (status == THEMIS_OK)
        opened(fd, fd->access_mode, end);
}

/* All ranks that could take the handle over, or none. */
static void agree(ADIO_File fd, themis_status_t status, int *error_code)
{
    int mine = status, worst;

    *error_code = ADIOI_THEMIS_FAILURE(status, fd->filename);
    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MIN, fd->comm);
    if (worst != THEMIS_OK && status == THEMIS_OK)
        *error_code = ADIOI_THEMIS_Error(__func__, __LINE__, worst, fd->filename, "another rank could not open it");
}

void ADIOI_THEMIS_OpenColl(ADIO_File fd, int rank, int access_mode, int *error_code)
{
    announcement_t said = {.status = THEMIS_NO_MEMORY};
    themis_status_t status = THEMIS_OK;
    char *bytes = NULL;
    int have = ADIOI_THEMIS_File_make(fd) != NULL;

    if (rank == OPENER) {
        said.nodes = count_nodes(fd->comm);
        said.status = have ? open_by_name(fd, access_mode, said.nodes, &said.end) : THEMIS_NO_MEMORY;
        if (said.status == THEMIS_OK)
            bytes = announce(fd, &said);
        if (said.status != THEMIS_OK)
            snprintf(said.text, sizeof said.text, "%s", themis_last_error());
    }
    MPI_Bcast(&said, sizeof said, MPI_BYTE, OPENER, fd->comm);
    if (said.status != THEMIS_OK) {
        *error_code = ADIOI_THEMIS_Error(__func__, __LINE__, said.status, fd->filename, said.text);
        discard(fd);
        return;
    }
    /* A rank without memory for these few bytes could not go on in the broadcast either. */
    if (rank != OPENER)
        bytes = ADIOI_Malloc(extra_bytes(&said));
    MPI_Bcast(bytes, (int)extra_bytes(&said), MPI_BYTE, OPENER, fd->comm);
    if (rank != OPENER)
        AD_THEMIS_UNLOCKED(status, have ? take_over(fd, &said, bytes) : THEMIS_NO_MEMORY);
    agree(fd, status, error_code);
    if (rank == OPENER)
        free(bytes);
    else
        ADIOI_Free(bytes);
    if (*error_code != MPI_SUCCESS) {
        discard(fd);
        return;
    }
    opened(fd, access_mode, said.end);
    if (rank == OPENER)
        tell_of_policy(fd);
    ADIOI_THEMIS_file(fd)->everywhere = 1;
    *error_code = ADIOI_THEMIS_Coll_open(fd);
    if (*error_code != MPI_SUCCESS)
        discard(fd);
}

/* What was written is durable when the file is closed. */
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
