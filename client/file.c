/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/file.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "client/convert.h"
#include "client/error.h"
#include "client/path.h"

themis_status_t themis_client_file_create(themis_t *session, const char *path, int flags,
                                          const themis_proto_attr_t *attr, themis_file_t **result)
{
    themis_file_t *file = calloc(1, sizeof *file);

    if (file)
        file->path = strdup(path);
    if (!file || !file->path) {
        free(file);
        return themis_client_fail(THEMIS_NO_MEMORY, "%s: out of memory for a handle", path);
    }
    file->session = session;
    file->flags = flags;
    file->attr = *attr;
    file->attr.modified = attr->created; /* later times are known to the servers of the bytes */
    file->layout = themis_client_convert_layout(&attr->layout);
    themis_client_direct_file_init(file);
    pthread_mutex_lock(&session->poller.lock);
    file->locks.owner = session->next_owner++;
    pthread_mutex_unlock(&session->poller.lock);
    *result = file;
    return THEMIS_OK;
}

void themis_client_file_destroy(themis_file_t *file)
{
    themis_client_direct_file_free(file);
    free(file->path);
    free(file);
}

/* --- handles as bytes --------------------------------------------------------------------------------------------- */

enum { HANDLE_MAGIC = 0x54684832 };

/* The path follows. In the byte order of the machine, since the ranks of a job have one architecture. */
typedef struct handle {
    uint32_t magic, flags;
    uint64_t servers; /* hash of the server list, so that a handle does not reach another file system */
    themis_proto_attr_t attr;
    uint32_t path_bytes;
} handle_t;

static uint64_t server_list_hash(const themis_t *session)
{
    return XXH3_64bits(session->settings.server_list, strlen(session->settings.server_list));
}

themis_status_t themis_file_pack(const themis_file_t *file, void *bytes, size_t capacity, size_t *length)
{
    handle_t handle;

    memset(&handle, 0, sizeof handle); /* padding, too */
    handle.magic = HANDLE_MAGIC;
    handle.flags = (uint32_t)file->flags;
    handle.servers = server_list_hash(file->session);
    handle.attr = file->attr;
    handle.path_bytes = (uint32_t)strlen(file->path);
    if (capacity < sizeof handle + handle.path_bytes)
        return themis_client_fail(THEMIS_RANGE, "%s: the handle needs %zu bytes", file->path,
                                  sizeof handle + handle.path_bytes);
    memcpy(bytes, &handle, sizeof handle);
    memcpy((char *)bytes + sizeof handle, file->path, handle.path_bytes);
    *length = sizeof handle + handle.path_bytes;
    return THEMIS_OK;
}

themis_status_t themis_file_unpack(themis_t *session, const void *bytes, size_t length, themis_file_t **file)
{
    char path[THEMIS_PATH_BYTES];
    handle_t handle;

    if (length >= sizeof handle)
        memcpy(&handle, bytes, sizeof handle);
    if (length < sizeof handle || handle.magic != HANDLE_MAGIC || handle.path_bytes >= sizeof path ||
        length != sizeof handle + handle.path_bytes || handle.attr.layout.count == 0)
        return themis_client_fail(THEMIS_INVALID, "these bytes are not a file handle");
    if (handle.servers != server_list_hash(session))
        return themis_client_fail(THEMIS_STALE, "the handle belongs to other servers than %s",
                                  session->settings.server_list);
    memcpy(path, (const char *)bytes + sizeof handle, handle.path_bytes);
    path[handle.path_bytes] = '\0';
    return themis_client_file_create(session, path, (int)handle.flags, &handle.attr, file);
}

void themis_file_layout(const themis_file_t *file, themis_layout_t *layout)
{
    *layout = file->layout;
}

const char *themis_file_path(const themis_file_t *file)
{
    return file->path;
}

themis_t *themis_file_session(const themis_file_t *file)
{
    return file->session;
}
