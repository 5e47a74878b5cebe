/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/namespace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "client/convert.h"
#include "client/enlist.h"
#include "client/error.h"
#include "client/file.h"
#include "client/links.h"
#include "client/multicall.h"
#include "client/path.h"
#include "client/striping.h"
#include "util/clock.h"
#include "util/min.h"
#include "util/status.h"

enum { ENTRIES_PER_MESSAGE = 1024 };
/* For a rename to be settled; servers do that at once if all of them can be reached. */
#define MAX_WAIT (5 * THEMIS_NS_PER_S)
#define MAX_PAUSE (64 * THEMIS_NS_PER_MS)

uint32_t themis_client_namespace_home(const themis_t *session, const char *path)
{
    return themis_util_hash_ring_home(session->ring, path, strlen(path));
}

themis_status_t themis_path_normalise(const char *path, char normal[THEMIS_PATH_BYTES])
{
    themis_status_t status = themis_client_path_normalise(path, normal);

    if (status == THEMIS_BAD_NAME)
        return themis_client_fail(status, "%s: not an absolute path", path ? path : "(null)");
    if (status != THEMIS_OK)
        return themis_client_fail(status, "%.100s...: %s", path, themis_status_string(status));
    return THEMIS_OK;
}

static themis_status_t ask_once(themis_t *session, const char *path, themis_proto_opcode_t opcode, const void *request,
                                themis_proto_attr_t *attr)
{
    themis_proto_body_t reply;
    themis_status_t status = themis_client_call_ask(&session->calls, themis_client_namespace_home(session, path),
                                                    opcode, request, path, &reply);

    if (status == THEMIS_OK && attr)
        *attr = reply.attr;
    return status;
}

themis_status_t themis_client_namespace_ask(themis_t *session, const char *path, themis_proto_opcode_t opcode,
                                            const void *request, themis_proto_attr_t *attr)
{
    uint64_t until = themis_util_clock_now() + MAX_WAIT;
    struct timespec pause = {.tv_nsec = THEMIS_NS_PER_MS};

    for (;;) {
        themis_status_t status = ask_once(session, path, opcode, request, attr);
        if (status != THEMIS_BUSY || themis_util_clock_now() >= until)
            return status;
        nanosleep(&pause, NULL);
        pause.tv_nsec = (long)themis_util_min(2 * (uint64_t)pause.tv_nsec, MAX_PAUSE);
    }
}

/* A call to the home server of the directory of `path`, about its entry there. *added: the reply to ENTRY_ADD. */
static themis_status_t ask_entry(themis_t *session, const char *path, themis_proto_opcode_t opcode,
                                 themis_proto_type_t type, themis_proto_added_t *added)
{
    char directory[THEMIS_PATH_BYTES];
    const char *name;
    themis_proto_body_t reply;
    themis_status_t status = themis_client_path_split(path, directory, &name);

    if (status != THEMIS_OK)
        return themis_client_fail(status, "%s: the root directory exists already", path);
    themis_proto_entry_t entry = {themis_client_convert_text(directory), themis_client_convert_text(name), type};
    status = themis_client_call_ask(&session->calls, themis_client_namespace_home(session, directory), opcode, &entry,
                                    path, &reply);
    if (status == THEMIS_OK && added)
        *added = reply.added;
    return status;
}

static themis_status_t change_entry(themis_t *session, const char *path, themis_proto_opcode_t opcode,
                                    themis_proto_type_t type)
{
    return ask_entry(session, path, opcode, type, NULL);
}

themis_status_t themis_client_namespace_lookup(themis_t *session, const char *path, uint32_t rights,
                                               themis_proto_attr_t *attr)
{
    themis_proto_lookup_t request = {themis_client_convert_text(path), rights};

    return themis_client_namespace_ask(session, path, THEMIS_OP_LOOKUP, &request, attr);
}

/* What was to follow ENTRY_ADD has failed with `status`, which is returned: the entry becomes that of the name that is
 * there, or is removed if there is none. */
static themis_status_t undo_entry(themis_t *session, const char *path, themis_proto_type_t type, themis_status_t status)
{
    themis_proto_attr_t there;
    char cause[512];

    snprintf(cause, sizeof cause, "%s", themis_last_error());
    themis_status_t found = themis_client_namespace_lookup(session, path, 0, &there);
    if (found == THEMIS_NO_ENTRY)
        change_entry(session, path, THEMIS_OP_ENTRY_REMOVE, type);
    else if (found == THEMIS_OK && there.type != type)
        change_entry(session, path, THEMIS_OP_ENTRY_ADD, there.type);
    return themis_client_fail(status, "%s", cause);
}

/* Fills in what the new name gets from its directory. */
static void inherit(const themis_proto_added_t *directory, themis_proto_create_t *create)
{
    themis_proto_layout_t *layout = &create->attr.layout;

    if (create->flags & THEMIS_PROTO_CREATE_ADOPT)
        return;
    if (create->attr.type != THEMIS_PROTO_SYMLINK && layout->stripe_size == 0)
        layout->stripe_size = directory->layout.stripe_size;
    if (create->attr.type != THEMIS_PROTO_SYMLINK && layout->count == 0)
        layout->count = directory->layout.count;
    if (!(directory->mode & S_ISGID) || create->flags & THEMIS_PROTO_CREATE_GROUP)
        return;
    create->flags |= THEMIS_PROTO_CREATE_GROUP;
    create->attr.gid = directory->gid;
    if (create->attr.type == THEMIS_PROTO_DIRECTORY)
        create->attr.mode |= S_ISGID;
}

static int is_number(void *arg, const themis_client_peer_t *peer)
{
    return peer->index == *(const uint32_t *)arg;
}

/* Hash of the identity of the store that a server has; 0: it is not there. */
static uint64_t store_of(themis_t *session, uint32_t server)
{
    const themis_client_peer_t *peer = &session->peers.array[server];
    int met = 0;
    uint64_t store = 0;

    for (;; met = 1) {
        pthread_mutex_lock(&session->poller.lock);
        if (peer->state == THEMIS_CLIENT_PEER_READY)
            store = peer->store;
        pthread_mutex_unlock(&session->poller.lock);
        if (store || met)
            return store;
        themis_client_peers_meet(&session->peers, is_number, &server);
    }
}

/* How many servers a new file is on where nobody says it, as the first server says that is connected; 0: all. */
static uint32_t usual_count(themis_t *session)
{
    uint32_t usual = 0, i = 0;

    pthread_mutex_lock(&session->poller.lock);
    while (i < session->peers.count && session->peers.array[i].state != THEMIS_CLIENT_PEER_READY)
        i++;
    if (i < session->peers.count)
        usual = session->peers.array[i].layout.count;
    pthread_mutex_unlock(&session->poller.lock);
    return usual;
}

/* Where the bytes of a new file begin, as its home would choose or within the placement, and what store is there. */
static void first_choose(themis_t *session, const char *path, themis_proto_attr_t *attr)
{
    const themis_client_placement_t *placement = &session->settings.placement;
    uint32_t count = session->peers.count;
    uint64_t hash = themis_util_hash_ring_hash(path, strlen(path));

    if (attr->layout.first == UINT32_MAX && placement->runs > 0)
        themis_client_placement_choose(placement, hash, usual_count(session), &attr->layout);
    else if (attr->layout.first == UINT32_MAX)
        attr->layout.first = (uint32_t)(hash % count);
    attr->store = store_of(session, attr->layout.first % count);
}

/* ENTRY_ADD and CREATE. */
static themis_status_t name_create(themis_t *session, const char *path, themis_proto_create_t *request,
                                   themis_proto_attr_t *attr)
{
    const uint64_t late = THEMIS_PROTO_ENTRY_LASTS * THEMIS_NS_PER_S / 2;
    uint64_t started = themis_util_clock_now();
    themis_proto_added_t directory;
    themis_status_t status = ask_entry(session, path, THEMIS_OP_ENTRY_ADD, request->attr.type, &directory);

    if (status != THEMIS_OK)
        return status;
    request->path = themis_client_convert_text(path);
    inherit(&directory, request);
    if (request->attr.type == THEMIS_PROTO_FILE && !(request->flags & THEMIS_PROTO_CREATE_ADOPT))
        first_choose(session, path, &request->attr);
    status = themis_client_namespace_ask(session, path, THEMIS_OP_CREATE, request, attr);
    if (status != THEMIS_OK)
        return undo_entry(session, path, request->attr.type, status);
    /* The servers may have taken the entry for one without a name. The name is made all the same; and where nothing can
     * be added any more, the entry is most likely there. */
    if (themis_util_clock_now() - started >= late)
        change_entry(session, path, THEMIS_OP_ENTRY_ADD, request->attr.type);
    return THEMIS_OK;
}

themis_status_t themis_client_namespace_create_extra(themis_t *session, const char *path, uint32_t flags,
                                                     const themis_proto_attr_t *wanted,
                                                     const themis_proto_extra_t *extra, themis_proto_attr_t *attr)
{
    themis_proto_create_t request = {.flags = flags, .attr = *wanted};

    if (extra)
        request.extra = *extra;
    return name_create(session, path, &request, attr);
}

themis_status_t themis_client_namespace_adopt(themis_t *session, const char *from, const char *to,
                                              const themis_proto_attr_t *attr, const themis_proto_extra_t *extra,
                                              themis_proto_attr_t *old)
{
    themis_proto_create_t request = {.flags = THEMIS_PROTO_CREATE_ADOPT | THEMIS_PROTO_CREATE_REPLACE,
                                     .attr = *attr,
                                     .origin = themis_client_convert_text(from),
                                     .extra = *extra};

    return name_create(session, to, &request, old);
}

themis_status_t themis_client_namespace_create(themis_t *session, const char *path, uint32_t flags,
                                               const themis_proto_attr_t *wanted, themis_proto_attr_t *attr)
{
    return themis_client_namespace_create_extra(session, path, flags, wanted, NULL, attr);
}

themis_status_t themis_client_namespace_renew(themis_t *session, const char *path, uint64_t object,
                                              const themis_proto_layout_t *layout)
{
    themis_proto_create_t request = {.path = themis_client_convert_text(path),
                                     .flags = THEMIS_PROTO_CREATE_REPLACE,
                                     .attr = {.type = THEMIS_PROTO_FILE, .id = object, .layout = *layout}};
    themis_proto_attr_t old;

    first_choose(session, path, &request.attr);
    themis_status_t status = themis_client_namespace_ask(session, path, THEMIS_OP_CREATE, &request, &old);
    return status == THEMIS_OK ? themis_client_namespace_destroy(session, path, &old) : status;
}

themis_status_t themis_client_namespace_check_change(themis_t *session, const char *path, themis_proto_type_t type)
{
    return change_entry(session, path, THEMIS_OP_ENTRY_ADD, type);
}

/* REMOVE checks the directory only where it has the same home; another home is asked with ENTRY_ADD, which changes
 * nothing of an entry that is there. */
static themis_status_t check_other_home(themis_t *session, const char *path, themis_proto_type_t type, int *asked)
{
    char directory[THEMIS_PATH_BYTES];
    const char *name;
    themis_status_t status = themis_client_path_split(path, directory, &name);

    if (status != THEMIS_OK)
        return themis_client_fail(THEMIS_BUSY, "/: the root directory cannot be removed");
    *asked = themis_client_namespace_home(session, directory) != themis_client_namespace_home(session, path);
    return *asked ? themis_client_namespace_check_change(session, path, type) : THEMIS_OK;
}

/* What follows the removal of a name, which its home has written down: a server that cannot be asked now is asked for
 * it by that home. */
static themis_status_t left_to_servers(themis_status_t status)
{
    int is_out_of_reach = themis_util_status_is_away(status) || status == THEMIS_SHUTTING_DOWN;

    return is_out_of_reach ? THEMIS_OK : status;
}

themis_status_t themis_client_namespace_remove(themis_t *session, const char *path, themis_proto_type_t type,
                                               themis_proto_attr_t *attr)
{
    themis_proto_remove_t request = {.path = themis_client_convert_text(path), .type = type};
    int asked = 0;
    themis_status_t status = check_other_home(session, path, type, &asked);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_namespace_ask(session, path, THEMIS_OP_REMOVE, &request, attr);
    if (status == THEMIS_OK)
        return left_to_servers(change_entry(session, path, THEMIS_OP_ENTRY_REMOVE, type));
    return asked ? undo_entry(session, path, type, status) : status;
}

themis_status_t themis_client_namespace_remove_renamed(themis_t *session, const char *from, const char *to,
                                                       const themis_proto_attr_t *attr, uint64_t rename)
{
    const themis_proto_remove_t request = {.path = themis_client_convert_text(from),
                                           .type = attr->type,
                                           .renamed = themis_client_convert_text(to),
                                           .object = attr->id,
                                           .generation = attr->generation,
                                           .rename = rename};
    themis_proto_attr_t gone;
    themis_status_t status = themis_client_namespace_ask(session, from, THEMIS_OP_REMOVE, &request, &gone);

    if (status == THEMIS_OK && gone.fresh) /* the servers were faster: the entry may be that of a later name */
        return THEMIS_OK;
    return status == THEMIS_OK ? left_to_servers(change_entry(session, from, THEMIS_OP_ENTRY_REMOVE, attr->type))
                               : undo_entry(session, from, attr->type, status);
}

themis_status_t themis_client_namespace_rename_end(themis_t *session, const char *to, uint64_t rename)
{
    const themis_proto_rename_end_t request = {themis_client_convert_text(to), rename};

    return themis_client_namespace_ask(session, to, THEMIS_OP_RENAME_END, &request, NULL);
}

/* --- the bytes of a file ------------------------------------------------------------------------------------------ */

themis_status_t themis_client_namespace_destroy(themis_t *session, const char *path, const themis_proto_attr_t *attr)
{
    themis_layout_t layout = themis_client_convert_layout(&attr->layout);
    themis_client_multicall_t multicall = {
        .layout = &layout, .opcode = THEMIS_OP_DESTROY, .subject = path, .body.object = {attr->id, attr->capability}};

    if (attr->type != THEMIS_PROTO_FILE)
        return THEMIS_OK;
    return left_to_servers(themis_client_multicall(&session->calls, &multicall));
}

typedef struct measuring {
    themis_stat_t *stat;
    themis_client_enlist_survey_t survey;
} measuring_t;

static void add_object(void *arg, uint32_t index, const themis_client_call_t *call, const themis_proto_body_t *reply)
{
    measuring_t *measuring = arg;
    themis_stat_t *stat = measuring->stat;
    uint64_t end = themis_client_striping_file_end(&stat->layout, index, reply->size.end);

    stat->size = end > stat->size ? end : stat->size;
    stat->modified = reply->size.modified > stat->modified ? reply->size.modified : stat->modified;
    stat->allocated += reply->size.allocated;
    themis_client_enlist_survey_add(&measuring->survey, index, call->exists, call->store, &reply->size);
}

themis_status_t themis_client_namespace_stat(themis_t *session, const char *path, const themis_proto_attr_t *attr,
                                             themis_file_t *file, themis_stat_t *stat)
{
    themis_stat_t found = {.type = (themis_type_t)attr->type,
                           .mode = attr->mode,
                           .uid = attr->uid,
                           .gid = attr->gid,
                           .size = attr->target,
                           .created = attr->created,
                           .modified = attr->modified,
                           .id = attr->id,
                           .layout = themis_client_convert_layout(&attr->layout)};
    measuring_t measuring = {.stat = &found, .survey.store = attr->store};
    themis_client_multicall_t multicall = {.layout = &found.layout,
                                           .opcode = THEMIS_OP_SIZE,
                                           .subject = path,
                                           .file = file,
                                           .body.object.object = attr->id,
                                           .collect = add_object,
                                           .arg = &measuring};
    themis_status_t status = THEMIS_OK;

    if (!file) /* a handle's changes; the calls fill in the present one */
        multicall.body.object.capability = attr->capability;
    /* without the id, of a file that is not to be read, its size is not known either */
    if (attr->type == THEMIS_PROTO_FILE && attr->id)
        status = themis_client_multicall(&session->calls, &multicall);
    found.lost = measuring.survey.lost;
    if (status == THEMIS_OK && found.lost && file)
        status = themis_client_enlist_fail(file, measuring.survey.lost_index);
    if (status == THEMIS_OK)
        *stat = found;
    return status;
}

/* --- durable names ------------------------------------------------------------------------------------------------ */

/* `binding` of a handle to the home, or NULL. */
static themis_status_t home_sync(themis_t *session, const char *path, themis_client_binding_t *binding)
{
    themis_proto_object_t request = {0};
    themis_proto_body_t reply;
    themis_client_call_t *call;
    themis_status_t status =
        themis_client_call_get(&session->calls, themis_client_namespace_home(session, path), &call);

    if (status != THEMIS_OK)
        return status;
    call->binding = binding;
    status = themis_client_call_do(call, THEMIS_OP_SYNC, &request, path, &reply);
    themis_client_call_put(call);
    return status;
}

/* Of a path and those above it, except where `synced` says by server that it had one. */
static themis_status_t homes_sync(themis_t *session, const char *path, themis_client_binding_t *binding,
                                  unsigned char *synced)
{
    char at[THEMIS_PATH_BYTES], parent[THEMIS_PATH_BYTES];
    const char *name;
    themis_status_t status = THEMIS_OK;

    for (strcpy(at, path); status == THEMIS_OK; strcpy(at, parent)) {
        uint32_t home = themis_client_namespace_home(session, at);
        if (!synced[home])
            status = home_sync(session, at, strcmp(at, path) == 0 ? binding : NULL);
        synced[home] = 1;
        if (themis_client_path_split(at, parent, &name) != THEMIS_OK)
            break;
    }
    return status;
}

themis_status_t themis_client_namespace_sync(themis_file_t *file)
{
    themis_t *session = file->session;
    unsigned char *synced = calloc(session->peers.count, 1);

    if (!synced)
        return themis_client_fail(THEMIS_NO_MEMORY, "%s: out of memory", file->path);
    for (uint32_t index = 0; index < file->layout.count; index++)
        synced[themis_client_striping_server(&file->layout, index, session->peers.count)] = 1;
    themis_status_t status = homes_sync(session, file->path, &file->bindings[file->layout.count], synced);
    free(synced);
    return status;
}

themis_status_t themis_client_namespace_sync_path(themis_t *session, const char *path)
{
    unsigned char *synced = calloc(session->peers.count, 1);

    if (!synced)
        return themis_client_fail(THEMIS_NO_MEMORY, "%s: out of memory", path);
    themis_status_t status = homes_sync(session, path, NULL, synced);
    free(synced);
    return status;
}

themis_status_t themis_client_namespace_set_modified(themis_t *session, const char *path, uint64_t modified)
{
    themis_proto_setattr_t request = {
        .path = themis_client_convert_text(path), .mask = THEMIS_PROTO_SET_MODIFIED, .modified = modified};
    themis_proto_attr_t attr;
    themis_status_t status = themis_client_namespace_ask(session, path, THEMIS_OP_SETATTR, &request, &attr);

    if (status != THEMIS_OK || attr.type != THEMIS_PROTO_FILE || !attr.id)
        return status;
    themis_layout_t layout = themis_client_convert_layout(&attr.layout);
    themis_client_multicall_t multicall = {.layout = &layout,
                                           .opcode = THEMIS_OP_TOUCH,
                                           .subject = path,
                                           .body.touch = {attr.id, attr.capability, modified}};
    return themis_client_multicall(&session->calls, &multicall);
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

themis_status_t themis_client_namespace_look(themis_t *session, const char *path, themis_stat_t *stat)
{
    themis_proto_attr_t attr;
    themis_status_t status = themis_client_namespace_lookup(session, path, 0, &attr);

    return status == THEMIS_OK ? themis_client_namespace_stat(session, path, &attr, NULL, stat) : status;
}

/* `follow` as of themis_client_links_lookup. */
static themis_status_t path_stat(themis_t *session, const char *path, int follow, themis_stat_t *stat)
{
    char normal[THEMIS_PATH_BYTES];
    themis_proto_attr_t attr;
    themis_status_t status = themis_path_normalise(path, normal);

    if (status == THEMIS_OK)
        status = themis_client_links_lookup(session, normal, 0, follow, &attr);
    return status == THEMIS_OK ? themis_client_namespace_stat(session, normal, &attr, NULL, stat) : status;
}

themis_status_t themis_stat(themis_t *session, const char *path, themis_stat_t *stat)
{
    return path_stat(session, path, 1, stat);
}

themis_status_t themis_lstat(themis_t *session, const char *path, themis_stat_t *stat)
{
    return path_stat(session, path, 0, stat);
}

themis_status_t themis_mkdir(themis_t *session, const char *path, uint32_t mode)
{
    char normal[THEMIS_PATH_BYTES];
    themis_proto_attr_t wanted = {.type = THEMIS_PROTO_DIRECTORY, .mode = mode};
    themis_status_t status = themis_path_normalise(path, normal);

    if (status != THEMIS_OK)
        return status;
    do {
        status = themis_client_namespace_lookup(session, normal, 0, NULL);
        if (status == THEMIS_OK)
            return themis_client_fail(THEMIS_EXISTS, "%s: %s", normal, themis_status_string(THEMIS_EXISTS));
        if (status == THEMIS_NO_ENTRY)
            status = themis_client_namespace_create(session, normal, THEMIS_PROTO_CREATE_EXCLUSIVE, &wanted, NULL);
    } while (themis_client_links_retry(session, normal, 0, &status));
    return status;
}

themis_status_t themis_unlink(themis_t *session, const char *path)
{
    char normal[THEMIS_PATH_BYTES];
    themis_proto_attr_t attr = {0};
    themis_status_t status = themis_path_normalise(path, normal);

    if (status != THEMIS_OK)
        return status;
    do
        status = themis_client_namespace_remove(session, normal, THEMIS_PROTO_FILE, &attr);
    while (themis_client_links_retry(session, normal, 0, &status));
    if (attr.id == 0)
        return status;
    /* the name is gone, even if its entry is not */
    themis_status_t destroyed = themis_client_namespace_destroy(session, normal, &attr);
    return status == THEMIS_OK ? destroyed : status;
}

themis_status_t themis_client_namespace_set_mode(themis_t *session, const char *path, uint32_t mode)
{
    const themis_proto_setattr_t request = {
        .path = themis_client_convert_text(path), .mask = THEMIS_PROTO_SET_MODE, .mode = mode};

    return themis_client_namespace_ask(session, path, THEMIS_OP_SETATTR, &request, NULL);
}

themis_status_t themis_chmod(themis_t *session, const char *path, uint32_t mode)
{
    char normal[THEMIS_PATH_BYTES];
    themis_proto_attr_t attr;
    themis_status_t status = themis_path_normalise(path, normal);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_namespace_set_mode(session, normal, mode);
    if (status == THEMIS_UNSUPPORTED) /* a symbolic link */
        status = themis_client_links_resolve(session, normal, 1, &attr);
    else if (!themis_client_links_retry(session, normal, 1, &status))
        return status;
    else
        status = THEMIS_OK;
    return status == THEMIS_OK ? themis_client_namespace_set_mode(session, normal, mode) : status;
}

/* The owner and the group are set together, so what is to stay is given as it was looked up. */
static themis_status_t owner_set(themis_t *session, const char *path, const themis_proto_attr_t *now, uint32_t uid,
                                 uint32_t gid)
{
    const themis_proto_setattr_t request = {.path = themis_client_convert_text(path),
                                            .mask = THEMIS_PROTO_SET_OWNER,
                                            .uid = uid == UINT32_MAX ? now->uid : uid,
                                            .gid = gid == UINT32_MAX ? now->gid : gid};

    return themis_client_namespace_ask(session, path, THEMIS_OP_SETATTR, &request, NULL);
}

themis_status_t themis_client_namespace_set_owner(themis_t *session, const char *path, uint32_t uid, uint32_t gid)
{
    themis_proto_attr_t now;
    themis_status_t status = themis_client_namespace_lookup(session, path, 0, &now);

    return status == THEMIS_OK ? owner_set(session, path, &now, uid, gid) : status;
}

themis_status_t themis_chown(themis_t *session, const char *path, uint32_t uid, uint32_t gid)
{
    char normal[THEMIS_PATH_BYTES];
    themis_proto_attr_t now;
    themis_status_t status = themis_path_normalise(path, normal);

    if (status == THEMIS_OK)
        status = themis_client_links_lookup(session, normal, 0, 1, &now);
    return status == THEMIS_OK ? owner_set(session, normal, &now, uid, gid) : status;
}

/* The entries of one reply. `after` is the last name seen and becomes the new one. */
static themis_status_t list_part(themis_t *session, const char *directory, char after[THEMIS_CLIENT_NAME_BYTES],
                                 themis_entry_fn entry, void *arg, int *more)
{
    themis_proto_readdir_t request = {themis_client_convert_text(directory), themis_client_convert_text(after),
                                      ENTRIES_PER_MESSAGE};
    themis_client_call_t *call;
    themis_proto_body_t reply;
    themis_proto_text_t name;
    themis_proto_type_t type;
    uint32_t cursor = 0;
    themis_status_t status =
        themis_client_call_get(&session->calls, themis_client_namespace_home(session, directory), &call);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_call_do(call, THEMIS_OP_READDIR, &request, directory, &reply);
    if (status == THEMIS_OK)
        *more = reply.entries.more;
    while (status == THEMIS_OK && themis_proto_entries_next(&reply.entries, &cursor, &name, &type)) {
        snprintf(after, THEMIS_CLIENT_NAME_BYTES, "%.*s", (int)name.length, name.bytes);
        if (entry(arg, after, (themis_type_t)type) != 0) {
            *more = 0;
            break;
        }
    }
    themis_client_call_put(call);
    return status;
}

themis_status_t themis_readdir(themis_t *session, const char *path, themis_entry_fn entry, void *arg)
{
    char normal[THEMIS_PATH_BYTES], after[THEMIS_CLIENT_NAME_BYTES] = "";
    themis_status_t status = themis_path_normalise(path, normal);
    int more = 1;

    if (status != THEMIS_OK)
        return status;
    do
        status = list_part(session, normal, after, entry, arg, &more);
    while ((more && status == THEMIS_OK) || (!after[0] && themis_client_links_retry(session, normal, 1, &status)));
    return status;
}

/* Removes entries whose name does not exist, left by clients that ended between creating the two. */
typedef struct cleanup {
    themis_t *session;
    const char *directory;
    int removed;
} cleanup_t;

static int remove_dangling(void *arg, const char *name, themis_type_t type)
{
    cleanup_t *cleanup = arg;
    char path[THEMIS_PATH_BYTES];

    if (themis_client_path_join(cleanup->directory, name, path) != THEMIS_OK ||
        themis_client_namespace_lookup(cleanup->session, path, 0, NULL) != THEMIS_NO_ENTRY)
        return 1; /* the directory is not empty */
    cleanup->removed |=
        change_entry(cleanup->session, path, THEMIS_OP_ENTRY_REMOVE, (themis_proto_type_t)type) == THEMIS_OK;
    return 0;
}

themis_status_t themis_rmdir(themis_t *session, const char *path)
{
    char normal[THEMIS_PATH_BYTES];
    cleanup_t cleanup = {session, normal, 0};
    themis_status_t status = themis_path_normalise(path, normal);

    if (status != THEMIS_OK)
        return status;
    do
        status = themis_client_namespace_remove(session, normal, THEMIS_PROTO_DIRECTORY, NULL);
    while (themis_client_links_retry(session, normal, 0, &status));
    if (status != THEMIS_NOT_EMPTY)
        return status;
    themis_readdir(session, normal, remove_dangling, &cleanup);
    if (cleanup.removed)
        return themis_client_namespace_remove(session, normal, THEMIS_PROTO_DIRECTORY, NULL);
    return themis_client_fail(status, "%s: %s", normal, themis_status_string(status));
}
