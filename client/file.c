/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/file.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "client/convert.h"
#include "client/enlist.h"
#include "client/error.h"
#include "client/path.h"
#include "client/striping.h"

themis_status_t themis_client_file_create(themis_t *session, const char *path, int flags,
                                          const themis_proto_attr_t *attr, themis_file_t **result)
{
    themis_file_t *file = calloc(1, sizeof *file);

    if (file) {
        file->path = strdup(path);
        file->bindings = calloc((size_t)attr->layout.count + 1, sizeof *file->bindings);
    }
    if (!file || !file->path || !file->bindings) {
        if (file) {
            free(file->path);
            free(file->bindings);
        }
        free(file);
        return themis_client_fail(THEMIS_NO_MEMORY, "%s: out of memory for a handle", path);
    }
    file->session = session;
    file->flags = flags;
    file->attr = *attr;
    file->attr.modified = attr->created; /* later times are known to the servers of the bytes */
    file->layout = themis_client_convert_layout(&attr->layout);
    file->bindings[0].store = attr->store;
    file->bindings[0].listed = THEMIS_CLIENT_LISTED;
    themis_client_direct_file_init(file);
    pthread_mutex_lock(&session->poller.lock);
    file->locks.owner = session->next_owner++;
    pthread_mutex_unlock(&session->poller.lock);
    *result = file;
    return THEMIS_OK;
}

/* Server of binding `index`. */
static uint32_t server_of(const themis_file_t *file, uint32_t index)
{
    const themis_t *session = file->session;

    if (index < file->layout.count)
        return themis_client_striping_server(&file->layout, index, session->peers.count);
    return themis_util_hash_ring_home(session->ring, file->path, strlen(file->path));
}

/* What the server was not told to release. */
static void locks_free(themis_file_t *file)
{
    themis_client_peer_t *peer = &file->session->peers.array[server_of(file, 0)];

    pthread_mutex_lock(&file->session->poller.lock);
    peer->locks -= (uint32_t)file->locks.held.count;
    pthread_mutex_unlock(&file->session->poller.lock);
    themis_client_held_locks_free(&file->locks.held);
}

void themis_client_file_destroy(themis_file_t *file)
{
    locks_free(file);
    themis_client_direct_file_free(file);
    free(file->bindings);
    free(file->path);
    free(file);
}

/* --- the servers that have the data ------------------------------------------------------------------------------- */

static int is_of_file(void *arg, const themis_client_peer_t *peer)
{
    const themis_file_t *file = arg;

    for (uint32_t i = 0; i <= file->layout.count; i++)
        if (server_of(file, i) == peer->index)
            return 1;
    return 0;
}

themis_status_t themis_client_file_bind(themis_file_t *file)
{
    themis_client_peers_t *peers = &file->session->peers;
    const themis_client_peer_t *first = &peers->array[server_of(file, 0)];

    themis_client_peers_meet(peers, is_of_file, file);
    pthread_mutex_lock(&file->session->poller.lock);
    for (uint32_t i = 0; i <= file->layout.count; i++) {
        const themis_client_peer_t *peer = &peers->array[server_of(file, i)];
        if (peer->state == THEMIS_CLIENT_PEER_READY)
            themis_client_binding_set(&file->bindings[i], peer);
    }
    int is_lost = first->state == THEMIS_CLIENT_PEER_READY && file->bindings[0].store != first->store;
    pthread_mutex_unlock(&file->session->poller.lock);
    return is_lost ? themis_client_enlist_fail(file, 0) : THEMIS_OK;
}

static int is_dirty(void *arg, const themis_client_peer_t *peer)
{
    const themis_file_t *file = arg;

    for (uint32_t i = 0; i < file->layout.count; i++)
        if (file->bindings[i].dirty && server_of(file, i) == peer->index)
            return 1;
    return 0;
}

static int has_changed(const themis_file_t *file)
{
    uint32_t dirty = 0;

    for (uint32_t i = 0; i < file->layout.count; i++)
        dirty |= file->bindings[i].dirty;
    return dirty != 0;
}

themis_status_t themis_client_file_check(themis_file_t *file)
{
    themis_client_peers_t *peers = &file->session->peers;
    uint32_t i = 0;
    int is_lost = 0;

    if (has_changed(file))
        themis_client_peers_meet(peers, is_dirty, file);
    pthread_mutex_lock(&file->session->poller.lock);
    for (; i < file->layout.count && !is_lost; i++) {
        const themis_client_peer_t *peer = &peers->array[server_of(file, i)];
        uint64_t store = file->bindings[i].store;
        is_lost = file->bindings[i].changed && store && peer->store && store != peer->store;
    }
    pthread_mutex_unlock(&file->session->poller.lock);
    return is_lost ? themis_client_enlist_fail(file, i - 1) : THEMIS_OK;
}

void themis_file_known(const themis_file_t *file, uint32_t *words)
{
    memset(words, 0, THEMIS_KNOWN_WORDS(file->layout.count) * sizeof *words);
    for (uint32_t i = 0; i < file->layout.count; i++)
        words[i / 32] |= file->bindings[i].exists << i % 32;
}

void themis_file_learn(themis_file_t *file, const uint32_t *words)
{
    for (uint32_t i = 0; i < file->layout.count; i++)
        if (words[i / 32] >> i % 32 & 1)
            file->bindings[i].exists = 1;
}

/* --- handles as bytes --------------------------------------------------------------------------------------------- */

enum { HANDLE_MAGIC = 0x54684835 };

/* The bindings follow, a packed_t for each object and one for the path's home, then the path. In the byte order of the
 * machine, since the ranks of a job have one architecture. */
typedef struct handle {
    uint32_t magic, flags;
    uint64_t servers; /* hash of the server list, so that a handle does not reach another file system */
    themis_proto_attr_t attr;
    uint32_t path_bytes;
} handle_t;

typedef struct packed {
    uint64_t store, boot;
} packed_t;

static size_t packed_bytes(const themis_proto_attr_t *attr)
{
    return ((size_t)attr->layout.count + 1) * sizeof(packed_t);
}

static void bindings_pack(const themis_file_t *file, char *bytes)
{
    pthread_mutex_lock(&file->session->poller.lock);
    for (uint32_t i = 0; i <= file->layout.count; i++) {
        packed_t packed = {file->bindings[i].store, file->bindings[i].boot};
        memcpy(bytes + i * sizeof packed, &packed, sizeof packed);
    }
    pthread_mutex_unlock(&file->session->poller.lock);
}

static void bindings_unpack(themis_file_t *file, const char *bytes)
{
    for (uint32_t i = 0; i <= file->layout.count; i++) {
        packed_t packed;
        memcpy(&packed, bytes + i * sizeof packed, sizeof packed);
        file->bindings[i].boot = packed.boot;
        file->bindings[i].store = packed.store;
    }
}

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
    pthread_mutex_lock(&file->session->poller.lock);
    handle.attr = file->attr;
    pthread_mutex_unlock(&file->session->poller.lock);
    handle.path_bytes = (uint32_t)strlen(file->path);
    size_t path_at = sizeof handle + packed_bytes(&file->attr);
    if (capacity < path_at + handle.path_bytes)
        return themis_client_fail(THEMIS_RANGE, "%s: the handle needs %zu bytes", file->path,
                                  path_at + handle.path_bytes);
    memcpy(bytes, &handle, sizeof handle);
    bindings_pack(file, (char *)bytes + sizeof handle);
    memcpy((char *)bytes + path_at, file->path, handle.path_bytes);
    *length = path_at + handle.path_bytes;
    return THEMIS_OK;
}

themis_status_t themis_file_unpack(themis_t *session, const void *bytes, size_t length, themis_file_t **file)
{
    char path[THEMIS_PATH_BYTES];
    handle_t handle;

    if (length >= sizeof handle)
        memcpy(&handle, bytes, sizeof handle);
    if (length < sizeof handle || handle.magic != HANDLE_MAGIC || handle.path_bytes >= sizeof path ||
        handle.attr.layout.count == 0 || handle.attr.layout.count > THEMIS_PROTO_MAX_SERVERS ||
        length != sizeof handle + packed_bytes(&handle.attr) + handle.path_bytes)
        return themis_client_fail(THEMIS_INVALID, "these bytes are not a file handle");
    if (handle.servers != server_list_hash(session))
        return themis_client_fail(THEMIS_STALE, "the handle belongs to other servers than %s",
                                  session->settings.server_list);
    memcpy(path, (const char *)bytes + length - handle.path_bytes, handle.path_bytes);
    path[handle.path_bytes] = '\0';
    themis_status_t status = themis_client_file_create(session, path, (int)handle.flags, &handle.attr, file);
    if (status == THEMIS_OK)
        bindings_unpack(*file, (const char *)bytes + sizeof handle);
    return status;
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
