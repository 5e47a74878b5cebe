/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing, handles as bytes, and what concerns a whole file. */
#include "client/file.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "client/call.h"
#include "client/error.h"
#include "client/multicall.h"
#include "client/namespace.h"
#include "client/placement.h"

static themis_status_t make_file(themis_t *session, const char *path, int flags, const themis_proto_attr_t *attr,
                                 themis_file_t **result)
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
    file->object = attr->id;
    file->mode = attr->mode;
    file->uid = attr->uid;
    file->gid = attr->gid;
    file->created = attr->created;
    file->layout = (themis_layout_t){attr->layout.stripe_size, attr->layout.count, attr->layout.first};
    pthread_mutex_lock(&session->lock);
    file->owner = session->next_owner++;
    pthread_mutex_unlock(&session->lock);
    *result = file;
    return THEMIS_OK;
}

static void free_file(themis_file_t *file)
{
    free(file->path);
    free(file);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* What the mode bits allow us; the servers have the last word. */
static themis_status_t check_mode(const char *path, int flags, const themis_proto_attr_t *attr)
{
    uint32_t wanted = (flags & THEMIS_OPEN_READ ? 4u : 0u) | (flags & THEMIS_OPEN_WRITE ? 2u : 0u);
    uint32_t shift = attr->uid == geteuid() ? 6 : attr->gid == getegid() ? 3 : 0;

    if (geteuid() == 0 || (attr->mode >> shift & wanted) == wanted)
        return THEMIS_OK;
    return themis_client_fail(THEMIS_ACCESS, "%s: %s", path, themis_status_string(THEMIS_ACCESS));
}

static themis_status_t check_found(const char *path, int flags, const themis_proto_attr_t *attr)
{
    themis_status_t status = THEMIS_OK;

    if (attr->type != THEMIS_PROTO_FILE)
        status = THEMIS_IS_DIRECTORY;
    else if ((flags & THEMIS_OPEN_CREATE) && (flags & THEMIS_OPEN_EXCLUSIVE))
        status = THEMIS_EXISTS;
    else if (attr->layout.count == 0 || (attr->layout.stripe_size == 0 && attr->layout.count > 1))
        status = THEMIS_CORRUPT;
    if (status != THEMIS_OK)
        return themis_client_fail(status, "%s: %s", path, themis_status_string(status));
    return check_mode(path, flags, attr);
}

/* Finds the file, or makes it. */
static themis_status_t find(themis_t *session, const char *path, int flags, const themis_proto_attr_t *wanted,
                            themis_proto_attr_t *attr)
{
    themis_status_t status = themis_client_namespace_lookup(session, path, attr);

    if (status == THEMIS_OK) {
        attr->fresh = 0;
        return check_found(path, flags, attr);
    }
    if (status != THEMIS_NO_ENTRY || !(flags & THEMIS_OPEN_CREATE))
        return status;
    uint32_t exclusive = flags & THEMIS_OPEN_EXCLUSIVE ? THEMIS_PROTO_CREATE_EXCLUSIVE : 0;
    status = themis_client_namespace_create(session, path, exclusive, wanted, attr);
    if (status == THEMIS_OK && !attr->fresh)
        status = check_found(path, flags, attr);
    return status;
}

themis_status_t themis_open(themis_t *session, const char *path, int flags, uint32_t mode,
                            const themis_layout_t *layout, themis_file_t **result)
{
    char normal[THEMIS_CLIENT_PATH_BYTES];
    themis_proto_attr_t attr, wanted = {.type = THEMIS_PROTO_FILE, .mode = mode, .layout.first = THEMIS_FIRST_ANY};
    themis_file_t *file;
    themis_status_t status = themis_client_namespace_normalise(path, normal);

    if (status != THEMIS_OK)
        return status;
    if (!(flags & (THEMIS_OPEN_READ | THEMIS_OPEN_WRITE)))
        return themis_client_fail(THEMIS_INVALID, "%s: opened neither for reading nor for writing", normal);
    if (layout)
        wanted.layout = (themis_proto_layout_t){layout->stripe_size, layout->count, layout->first};
    if ((status = find(session, normal, flags, &wanted, &attr)) != THEMIS_OK ||
        (status = make_file(session, normal, flags, &attr, &file)) != THEMIS_OK)
        return status;
    if ((flags & THEMIS_OPEN_TRUNCATE) && !attr.fresh)
        status = themis_truncate(file, 0);
    if (status != THEMIS_OK)
        free_file(file);
    else
        *result = file;
    return status;
}

themis_status_t themis_close(themis_file_t *file)
{
    themis_status_t status = THEMIS_OK;

    if (!file)
        return THEMIS_OK;
    if (file->locked)
        status = themis_unlock(file, 0, UINT64_MAX);
    free_file(file);
    return status;
}

/* --- handles as bytes --------------------------------------------------------------------------------------------- */

enum { HANDLE_MAGIC = 0x54684831 };

/* Ranks of one job are of one architecture; the path follows. */
typedef struct handle {
    uint32_t magic, flags;
    uint64_t servers; /* hash of the server list, so that a handle does not reach another file system */
    uint64_t object, created, stripe_size;
    uint32_t mode, uid, gid, count, first, path_bytes;
} handle_t;

static uint64_t list_hash(const themis_t *session)
{
    return XXH3_64bits(session->settings.server_list, strlen(session->settings.server_list));
}

themis_status_t themis_file_pack(const themis_file_t *file, void *bytes, size_t capacity, size_t *length)
{
    handle_t handle = {.magic = HANDLE_MAGIC,
                       .flags = (uint32_t)file->flags,
                       .servers = list_hash(file->session),
                       .object = file->object,
                       .created = file->created,
                       .stripe_size = file->layout.stripe_size,
                       .mode = file->mode,
                       .uid = file->uid,
                       .gid = file->gid,
                       .count = file->layout.count,
                       .first = file->layout.first,
                       .path_bytes = (uint32_t)strlen(file->path)};

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
    char path[THEMIS_CLIENT_PATH_BYTES];
    handle_t handle;

    if (length >= sizeof handle)
        memcpy(&handle, bytes, sizeof handle);
    if (length < sizeof handle || handle.magic != HANDLE_MAGIC || handle.path_bytes >= sizeof path ||
        length != sizeof handle + handle.path_bytes || handle.count == 0)
        return themis_client_fail(THEMIS_INVALID, "these bytes are not a file handle");
    if (handle.servers != list_hash(session))
        return themis_client_fail(THEMIS_STALE, "the handle belongs to other servers than %s",
                                  session->settings.server_list);
    memcpy(path, (const char *)bytes + sizeof handle, handle.path_bytes);
    path[handle.path_bytes] = '\0';
    themis_proto_attr_t attr = {.id = handle.object,
                                .type = THEMIS_PROTO_FILE,
                                .mode = handle.mode,
                                .uid = handle.uid,
                                .gid = handle.gid,
                                .created = handle.created,
                                .layout = {handle.stripe_size, handle.count, handle.first}};
    return make_file(session, path, (int)handle.flags, &attr, file);
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

/* --- whole files -------------------------------------------------------------------------------------------------- */

themis_status_t themis_file_stat(themis_file_t *file, themis_stat_t *stat)
{
    themis_proto_attr_t attr = {.id = file->object,
                                .type = THEMIS_PROTO_FILE,
                                .mode = file->mode,
                                .uid = file->uid,
                                .gid = file->gid,
                                .created = file->created,
                                .modified = file->created,
                                .layout = {file->layout.stripe_size, file->layout.count, file->layout.first}};

    return themis_client_namespace_stat(file->session, file->path, &attr, stat);
}

typedef struct resizing {
    const themis_file_t *file;
    uint64_t size;
} resizing_t;

static void fill_resize(void *arg, uint32_t slot, themis_proto_body_t *request)
{
    const resizing_t *resizing = arg;

    request->resize.object = resizing->file->object;
    request->resize.size = themis_client_placement_object_end(&resizing->file->layout, slot, resizing->size);
}

static void fill_range(void *arg, uint32_t slot, themis_proto_body_t *request)
{
    const resizing_t *resizing = arg;

    request->range.object = resizing->file->object;
    request->range.offset = 0;
    request->range.length = themis_client_placement_object_end(&resizing->file->layout, slot, resizing->size);
}

static void fill_object(void *arg, uint32_t slot, themis_proto_body_t *request)
{
    const resizing_t *resizing = arg;

    request->object.object = resizing->file->object;
}

static themis_status_t on_all(themis_file_t *file, themis_proto_opcode_t opcode, uint64_t size,
                              void (*fill)(void *arg, uint32_t slot, themis_proto_body_t *request))
{
    resizing_t resizing = {file, size};
    themis_client_multicall_t fan = {
        .layout = &file->layout, .opcode = opcode, .subject = file->path, .fill = fill, .arg = &resizing};

    if (size > INT64_MAX)
        return themis_client_fail(THEMIS_RANGE, "%s: a size of 2^63 or more", file->path);
    if (!(file->flags & THEMIS_OPEN_WRITE) && opcode != THEMIS_OP_SYNC)
        return themis_client_fail(THEMIS_READ_ONLY, "%s: not opened for writing", file->path);
    return themis_client_multicall(file->session, &fan);
}

themis_status_t themis_truncate(themis_file_t *file, uint64_t size)
{
    return on_all(file, THEMIS_OP_TRUNCATE, size, fill_resize);
}

themis_status_t themis_allocate(themis_file_t *file, uint64_t size)
{
    return on_all(file, THEMIS_OP_ALLOCATE, size, fill_range);
}

/* A SYNC also makes the names durable that are kept by the server that gets it; those with the path's get it, too. */
themis_status_t themis_sync(themis_file_t *file)
{
    themis_status_t status = on_all(file, THEMIS_OP_SYNC, 0, fill_object);

    return status == THEMIS_OK ? themis_client_namespace_sync(file->session, file->path, file->object, &file->layout)
                               : status;
}
