/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/names.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client/call.h"
#include "client/error.h"
#include "client/fan.h"
#include "client/path.h"
#include "client/placement.h"

enum { ENTRIES_PER_MESSAGE = 1024 };

static themis_proto_text_t text_of(const char *text)
{
    return (themis_proto_text_t){text, (uint32_t)strlen(text)};
}

static uint32_t home_of(const themis_t *session, const char *path)
{
    return themis_util_hash_ring_home(session->ring, path, strlen(path));
}

themis_status_t themis_client_names_normalise(const char *path, char normal[THEMIS_CLIENT_PATH_BYTES])
{
    themis_status_t status = themis_client_path_normalise(path, normal);

    if (status == THEMIS_BAD_NAME)
        return themis_client_fail(status, "%s: not an absolute path", path ? path : "(null)");
    if (status != THEMIS_OK)
        return themis_client_fail(status, "%.100s...: %s", path, themis_status_string(status));
    return THEMIS_OK;
}

/* A call whose reply is an attr. */
static themis_status_t ask_attr(themis_t *session, const char *path, themis_proto_opcode_t opcode, const void *request,
                                themis_proto_attr_t *attr)
{
    themis_client_call_t *call;
    themis_proto_body_t body;
    themis_status_t status =
        themis_client_call_do(session, home_of(session, path), opcode, request, path, &call, &body);

    if (status != THEMIS_OK)
        return status;
    if (attr)
        *attr = body.attr;
    themis_client_call_put(call);
    return THEMIS_OK;
}

/* A call at the home of the directory of `path`, about its name there. */
static themis_status_t change_entry(themis_t *session, const char *path, themis_proto_opcode_t opcode,
                                    themis_proto_type_t type)
{
    char directory[THEMIS_CLIENT_PATH_BYTES];
    const char *name;
    themis_client_call_t *call;
    themis_proto_body_t body;
    themis_status_t status = themis_client_path_split(path, directory, &name);

    if (status != THEMIS_OK)
        return themis_client_fail(status, "%s: the root directory is always there", path);
    themis_proto_entry_t entry = {text_of(directory), text_of(name), type};
    status = themis_client_call_do(session, home_of(session, directory), opcode, &entry, path, &call, &body);
    if (status == THEMIS_OK)
        themis_client_call_put(call);
    return status;
}

themis_status_t themis_client_names_lookup(themis_t *session, const char *path, themis_proto_attr_t *attr)
{
    themis_proto_path_t request = {text_of(path)};

    return ask_attr(session, path, THEMIS_OP_LOOKUP, &request, attr);
}

/* The entry stood first; if the name could not be made and nobody else has it, the entry goes again. */
static void undo_entry(themis_t *session, const char *path, themis_proto_type_t type)
{
    themis_proto_attr_t there;
    themis_status_t status = themis_client_names_lookup(session, path, &there);

    if (status == THEMIS_NO_ENTRY)
        change_entry(session, path, THEMIS_OP_ENTRY_REMOVE, type);
    else if (status == THEMIS_OK && there.type != type)
        change_entry(session, path, THEMIS_OP_ENTRY_ADD, there.type);
}

themis_status_t themis_client_names_create(themis_t *session, const char *path, uint32_t flags,
                                           const themis_proto_attr_t *wanted, themis_proto_attr_t *attr)
{
    themis_proto_create_t request = {text_of(path), flags, *wanted};
    themis_status_t status = change_entry(session, path, THEMIS_OP_ENTRY_ADD, wanted->type);

    if (status != THEMIS_OK)
        return status;
    status = ask_attr(session, path, THEMIS_OP_CREATE, &request, attr);
    if (status != THEMIS_OK) {
        char cause[512];
        snprintf(cause, sizeof cause, "%s", themis_last_error());
        undo_entry(session, path, wanted->type);
        themis_client_fail(status, "%s", cause);
    }
    return status;
}

themis_status_t themis_client_names_remove(themis_t *session, const char *path, themis_proto_type_t type,
                                           themis_proto_attr_t *attr)
{
    themis_proto_remove_t request = {text_of(path), type};

    if (strcmp(path, "/") == 0)
        return themis_client_fail(THEMIS_BUSY, "/: the root directory cannot be removed");
    themis_status_t status = ask_attr(session, path, THEMIS_OP_REMOVE, &request, attr);

    return status == THEMIS_OK ? change_entry(session, path, THEMIS_OP_ENTRY_REMOVE, type) : status;
}

/* --- the bytes of a name ------------------------------------------------------------------------------------------ */

static themis_layout_t layout_of(const themis_proto_attr_t *attr)
{
    return (themis_layout_t){attr->layout.stripe_size, attr->layout.count, attr->layout.first};
}

static void fill_object(void *arg, uint32_t slot, themis_proto_body_t *request)
{
    const themis_proto_attr_t *attr = arg;

    request->object.object = attr->id;
}

themis_status_t themis_client_names_destroy(themis_t *session, const char *path, const themis_proto_attr_t *attr)
{
    themis_layout_t layout = layout_of(attr);
    themis_proto_attr_t copy = *attr;
    themis_client_fan_t fan = {
        .layout = &layout, .opcode = THEMIS_OP_DESTROY, .subject = path, .fill = fill_object, .arg = &copy};

    return attr->type == THEMIS_PROTO_FILE ? themis_client_fan(session, &fan) : THEMIS_OK;
}

static void fill_size(void *arg, uint32_t slot, themis_proto_body_t *request)
{
    const themis_stat_t *stat = arg;

    request->object.object = stat->id;
}

static void take_size(void *arg, uint32_t slot, const themis_proto_body_t *reply)
{
    themis_stat_t *stat = arg;
    uint64_t end = themis_client_place_file_end(&stat->layout, slot, reply->size.end);

    stat->size = end > stat->size ? end : stat->size;
    stat->modified = reply->size.modified > stat->modified ? reply->size.modified : stat->modified;
    stat->allocated += reply->size.allocated;
}

themis_status_t themis_client_names_stat(themis_t *session, const char *path, const themis_proto_attr_t *attr,
                                         themis_stat_t *stat)
{
    themis_stat_t found = {.type = (themis_type_t)attr->type,
                           .mode = attr->mode,
                           .uid = attr->uid,
                           .gid = attr->gid,
                           .created = attr->created,
                           .modified = attr->modified,
                           .id = attr->id,
                           .layout = layout_of(attr)};
    themis_client_fan_t fan = {.layout = &found.layout,
                               .opcode = THEMIS_OP_SIZE,
                               .subject = path,
                               .fill = fill_size,
                               .take = take_size,
                               .arg = &found};
    themis_status_t status = attr->type == THEMIS_PROTO_FILE ? themis_client_fan(session, &fan) : THEMIS_OK;

    if (status == THEMIS_OK)
        *stat = found;
    return status;
}

/* --- durable names ------------------------------------------------------------------------------------------------ */

/* Servers that are not of the layout; `asked` has a byte for each. */
static themis_status_t sync_home(themis_t *session, const char *path, uint64_t object, unsigned char *asked)
{
    uint32_t home = home_of(session, path);
    themis_proto_object_t request = {object};
    themis_proto_body_t body;
    themis_client_call_t *call;

    if (asked[home])
        return THEMIS_OK;
    asked[home] = 1;
    themis_status_t status = themis_client_call_do(session, home, THEMIS_OP_SYNC, &request, path, &call, &body);
    if (status == THEMIS_OK)
        themis_client_call_put(call);
    return status;
}

themis_status_t themis_client_names_sync(themis_t *session, const char *path, uint64_t object,
                                         const themis_layout_t *layout)
{
    uint32_t servers = session->settings.server_count;
    char at[THEMIS_CLIENT_PATH_BYTES], above[THEMIS_CLIENT_PATH_BYTES];
    const char *name;
    unsigned char *asked = calloc(servers, 1);

    if (!asked)
        return themis_client_fail(THEMIS_NO_MEMORY, "%s: out of memory", path);
    for (uint32_t slot = 0; slot < layout->count; slot++)
        asked[themis_client_place_server(layout, slot, servers)] = 1;
    snprintf(at, sizeof at, "%s", path);
    themis_status_t status = sync_home(session, at, object, asked);
    while (status == THEMIS_OK && themis_client_path_split(at, above, &name) == THEMIS_OK) {
        strcpy(at, above);
        status = sync_home(session, at, object, asked);
    }
    free(asked);
    return status;
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

themis_status_t themis_stat(themis_t *session, const char *path, themis_stat_t *stat)
{
    char normal[THEMIS_CLIENT_PATH_BYTES];
    themis_proto_attr_t attr;
    themis_status_t status = themis_client_names_normalise(path, normal);

    if (status == THEMIS_OK && (status = themis_client_names_lookup(session, normal, &attr)) == THEMIS_OK)
        status = themis_client_names_stat(session, normal, &attr, stat);
    return status;
}

themis_status_t themis_mkdir(themis_t *session, const char *path, uint32_t mode)
{
    char normal[THEMIS_CLIENT_PATH_BYTES];
    themis_proto_attr_t wanted = {.type = THEMIS_PROTO_DIRECTORY, .mode = mode};
    themis_status_t status = themis_client_names_normalise(path, normal);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_names_lookup(session, normal, NULL);
    if (status == THEMIS_OK)
        return themis_client_fail(THEMIS_EXISTS, "%s: %s", normal, themis_status_string(THEMIS_EXISTS));
    if (status != THEMIS_NO_ENTRY)
        return status;
    return themis_client_names_create(session, normal, THEMIS_PROTO_CREATE_EXCLUSIVE, &wanted, NULL);
}

themis_status_t themis_unlink(themis_t *session, const char *path)
{
    char normal[THEMIS_CLIENT_PATH_BYTES];
    themis_proto_attr_t attr;
    themis_status_t status = themis_client_names_normalise(path, normal);

    if (status == THEMIS_OK &&
        (status = themis_client_names_remove(session, normal, THEMIS_PROTO_FILE, &attr)) == THEMIS_OK)
        status = themis_client_names_destroy(session, normal, &attr);
    return status;
}

themis_status_t themis_chmod(themis_t *session, const char *path, uint32_t mode)
{
    char normal[THEMIS_CLIENT_PATH_BYTES];
    themis_status_t status = themis_client_names_normalise(path, normal);
    themis_proto_setattr_t request = {
        .path = text_of(status == THEMIS_OK ? normal : ""), .mask = THEMIS_PROTO_SET_MODE, .mode = mode};

    return status == THEMIS_OK ? ask_attr(session, normal, THEMIS_OP_SETATTR, &request, NULL) : status;
}

/* One message full of entries. `after` is the last name seen and becomes the new one. */
static themis_status_t list_some(themis_t *session, const char *directory, char after[THEMIS_CLIENT_NAME_BYTES],
                                 themis_entry_fn entry, void *arg, int *more)
{
    themis_proto_readdir_t request = {text_of(directory), text_of(after), ENTRIES_PER_MESSAGE};
    themis_client_call_t *call;
    themis_proto_body_t body;
    themis_proto_text_t name;
    themis_proto_type_t type;
    uint32_t cursor = 0;
    themis_status_t status = themis_client_call_do(session, home_of(session, directory), THEMIS_OP_READDIR, &request,
                                                   directory, &call, &body);

    if (status != THEMIS_OK)
        return status;
    *more = body.entries.more;
    while (themis_proto_entries_next(&body.entries, &cursor, &name, &type)) {
        snprintf(after, THEMIS_CLIENT_NAME_BYTES, "%.*s", (int)name.length, name.bytes);
        if (entry(arg, after, (themis_type_t)type) != 0) {
            *more = 0;
            break;
        }
    }
    themis_client_call_put(call);
    return THEMIS_OK;
}

themis_status_t themis_readdir(themis_t *session, const char *path, themis_entry_fn entry, void *arg)
{
    char normal[THEMIS_CLIENT_PATH_BYTES], after[THEMIS_CLIENT_NAME_BYTES] = "";
    themis_status_t status = themis_client_names_normalise(path, normal);
    int more = 1;

    while (more && status == THEMIS_OK)
        status = list_some(session, normal, after, entry, arg, &more);
    return status;
}

/* Removes an entry that has no name behind it. */
typedef struct sweeping {
    themis_t *session;
    const char *directory;
    int removed;
} sweeping_t;

static int sweep_entry(void *arg, const char *name, themis_type_t type)
{
    sweeping_t *sweeping = arg;
    char path[THEMIS_CLIENT_PATH_BYTES];

    if (themis_client_path_join(sweeping->directory, name, path) != THEMIS_OK ||
        themis_client_names_lookup(sweeping->session, path, NULL) != THEMIS_NO_ENTRY)
        return 1; /* one true name is enough to know */
    sweeping->removed |=
        change_entry(sweeping->session, path, THEMIS_OP_ENTRY_REMOVE, (themis_proto_type_t)type) == THEMIS_OK;
    return 0;
}

themis_status_t themis_rmdir(themis_t *session, const char *path)
{
    char normal[THEMIS_CLIENT_PATH_BYTES];
    sweeping_t sweeping = {session, normal, 0};
    themis_status_t status = themis_client_names_normalise(path, normal);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_names_remove(session, normal, THEMIS_PROTO_DIRECTORY, NULL);
    if (status != THEMIS_NOT_EMPTY)
        return status;
    themis_readdir(session, normal, sweep_entry, &sweeping);
    if (sweeping.removed)
        return themis_client_names_remove(session, normal, THEMIS_PROTO_DIRECTORY, NULL);
    return themis_client_fail(status, "%s: %s", normal, themis_status_string(status));
}
