/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing files, and operations on whole files. */
#include <stdlib.h>
#include "client/capability.h"
#include "client/enlist.h"
#include "client/error.h"
#include "client/file.h"
#include "client/links.h"
#include "client/multicall.h"
#include "client/namespace.h"
#include "client/striping.h"

enum { MAX_ATTEMPTS = 3 };

/* Has the server given what the file is opened for? */
static themis_status_t check_rights(const char *path, int flags, const themis_proto_attr_t *attr)
{
    if (attr->id && (themis_client_capability_rights(flags) & ~attr->capability.rights) == 0)
        return THEMIS_OK;
    return themis_client_fail(THEMIS_ACCESS, "%s: %s", path, themis_status_string(THEMIS_ACCESS));
}

static themis_status_t check_found(const char *path, int flags, const themis_proto_attr_t *attr)
{
    themis_status_t status = THEMIS_OK;

    if (attr->type == THEMIS_PROTO_DIRECTORY)
        status = THEMIS_IS_DIRECTORY;
    else if ((flags & THEMIS_OPEN_CREATE) && (flags & THEMIS_OPEN_EXCLUSIVE))
        status = THEMIS_EXISTS;
    else if (attr->type != THEMIS_PROTO_FILE)
        status = THEMIS_LOOP; /* a link that is not followed */
    else if (attr->layout.count == 0 || (attr->layout.stripe_size == 0 && attr->layout.count > 1))
        status = THEMIS_CORRUPT;
    if (status != THEMIS_OK)
        return themis_client_fail(status, "%s: %s", path, themis_status_string(status));
    return check_rights(path, flags, attr);
}

/* `path` becomes the one that is opened, where it leads through symbolic links. */
static themis_status_t find_or_create(themis_t *session, char path[THEMIS_PATH_BYTES], int flags,
                                      const themis_proto_attr_t *wanted, themis_proto_attr_t *attr)
{
    int exclusive = flags & THEMIS_OPEN_CREATE && flags & THEMIS_OPEN_EXCLUSIVE; /* what there is is not opened */
    uint32_t rights = exclusive ? 0 : themis_client_capability_rights(flags);
    themis_status_t status = themis_client_namespace_lookup(session, path, rights, attr);

    if (status == THEMIS_OK && attr->type == THEMIS_PROTO_SYMLINK && !exclusive)
        status = themis_client_links_lookup(session, path, rights, 1, attr);
    else if (!(flags & THEMIS_OPEN_CREATE) && themis_client_links_retry(session, path, 1, &status))
        status = themis_client_namespace_lookup(session, path, rights, attr);
    if (status == THEMIS_OK) {
        attr->fresh = 0;
        return check_found(path, flags, attr);
    }
    if ((status != THEMIS_NO_ENTRY && status != THEMIS_NOT_DIRECTORY) || !(flags & THEMIS_OPEN_CREATE))
        return status;
    status = themis_client_namespace_create(session, path, exclusive ? THEMIS_PROTO_CREATE_EXCLUSIVE : 0, wanted, attr);
    if (themis_client_links_retry(session, path, !exclusive, &status))
        return find_or_create(session, path, flags, wanted, attr);
    if (status == THEMIS_OK && !attr->fresh)
        status = check_found(path, flags, attr);
    return status;
}

/* Where the first server has lost the file, its owner may begin anew. */
static themis_status_t open_found(themis_t *session, char path[THEMIS_PATH_BYTES], int flags,
                                  const themis_proto_attr_t *wanted, themis_proto_attr_t *attr, themis_file_t **file)
{
    for (int attempt = 0;; attempt++) {
        themis_status_t status = find_or_create(session, path, flags, wanted, attr);
        if (status == THEMIS_OK)
            status = themis_client_file_create(session, path, flags, attr, file);
        if (status != THEMIS_OK)
            return status;
        status = themis_client_file_bind(*file);
        if (status == THEMIS_OK)
            return THEMIS_OK;
        themis_client_file_destroy(*file);
        if (attempt == MAX_ATTEMPTS)
            return status;
        status = themis_client_enlist_check_first(session, path, attr); /* what was known may have been out of date */
        if (status == THEMIS_OK)
            continue;
        if (status != THEMIS_LOST || !(flags & THEMIS_OPEN_TRUNCATE))
            return status;
        status = themis_client_namespace_renew(session, path, attr->id, &attr->layout);
        if (status != THEMIS_OK && status != THEMIS_STALE) /* another one has begun anew */
            return status;
    }
}

themis_status_t themis_open(themis_t *session, const char *path, int flags, uint32_t mode,
                            const themis_layout_t *layout, themis_file_t **result)
{
    char normal[THEMIS_PATH_BYTES];
    themis_proto_attr_t attr, wanted = {.type = THEMIS_PROTO_FILE, .mode = mode, .layout.first = THEMIS_FIRST_ANY};
    themis_file_t *file;
    themis_status_t status = themis_path_normalise(path, normal);

    if (status != THEMIS_OK)
        return status;
    if (!(flags & (THEMIS_OPEN_READ | THEMIS_OPEN_WRITE)))
        return themis_client_fail(THEMIS_INVALID, "%s: opened neither for reading nor for writing", normal);
    if (layout)
        wanted.layout = (themis_proto_layout_t){layout->stripe_size, layout->count, layout->first};
    if ((status = open_found(session, normal, flags, &wanted, &attr, &file)) != THEMIS_OK)
        return status;
    if ((flags & THEMIS_OPEN_TRUNCATE) && !attr.fresh)
        status = themis_truncate(file, 0);
    if (status != THEMIS_OK)
        themis_client_file_destroy(file);
    else
        *result = file;
    return status;
}

themis_status_t themis_close(themis_file_t *file)
{
    themis_status_t status = THEMIS_OK;

    if (!file)
        return THEMIS_OK;
    if (file->locks.used)
        status = themis_unlock(file, 0, UINT64_MAX);
    if (status == THEMIS_OK)
        status = themis_client_file_check(file);
    themis_client_file_destroy(file);
    return status;
}

/* --- whole files -------------------------------------------------------------------------------------------------- */

themis_status_t themis_file_stat(themis_file_t *file, themis_stat_t *stat)
{
    return themis_client_namespace_stat(file->session, file->path, &file->attr, file, stat);
}

typedef struct resizing {
    const themis_layout_t *layout;
    themis_proto_opcode_t opcode;
    uint64_t size; /* of the file */
    /* those without bytes that do not exist, but for the first one; NULL: they do not matter */
    themis_proto_listed_t *absent;
    uint32_t absent_count;
} resizing_t;

static void set_object_size(void *arg, uint32_t index, themis_proto_body_t *body)
{
    const resizing_t *resizing = arg;
    uint64_t size = themis_client_striping_object_end(resizing->layout, index, resizing->size);

    if (resizing->opcode == THEMIS_OP_TRUNCATE)
        body->resize.size = size;
    else
        body->range.length = size;
}

static void note_absent(void *arg, uint32_t index, const themis_client_call_t *call, const themis_proto_body_t *reply)
{
    resizing_t *resizing = arg;

    (void)reply;
    if (resizing->absent && index > 0 && !call->exists &&
        themis_client_striping_object_end(resizing->layout, index, resizing->size) == 0)
        resizing->absent[resizing->absent_count++] = (themis_proto_listed_t){index, call->store};
}

static themis_status_t file_resize(themis_file_t *file, themis_proto_opcode_t opcode, uint64_t size)
{
    resizing_t resizing = {.layout = &file->layout, .opcode = opcode, .size = size};
    themis_client_multicall_t multicall = {.layout = &file->layout,
                                           .opcode = opcode,
                                           .subject = file->path,
                                           .file = file,
                                           .fill = set_object_size,
                                           .collect = note_absent,
                                           .arg = &resizing};

    if (size > INT64_MAX)
        return themis_client_fail(THEMIS_RANGE, "%s: a size of 2^63 or more", file->path);
    if (!(file->flags & THEMIS_OPEN_WRITE))
        return themis_client_fail(THEMIS_READ_ONLY, "%s: not opened for writing", file->path);
    if (opcode == THEMIS_OP_TRUNCATE)
        multicall.body.resize = (themis_proto_resize_t){.object = file->attr.id};
    else
        multicall.body.range = (themis_proto_range_t){.object = file->attr.id};
    if (opcode == THEMIS_OP_TRUNCATE && file->layout.count > 1 &&
        !(resizing.absent = malloc(file->layout.count * sizeof *resizing.absent)))
        return themis_client_fail(THEMIS_NO_MEMORY, "%s: out of memory for a list", file->path);
    themis_status_t status = themis_client_multicall(&file->session->calls, &multicall);
    if (status == THEMIS_OK && resizing.absent_count)
        status = themis_client_enlist_drop(file, resizing.absent, resizing.absent_count);
    free(resizing.absent);
    return status;
}

themis_status_t themis_truncate(themis_file_t *file, uint64_t size)
{
    return file_resize(file, THEMIS_OP_TRUNCATE, size);
}

themis_status_t themis_allocate(themis_file_t *file, uint64_t size)
{
    return file_resize(file, THEMIS_OP_ALLOCATE, size);
}

/* SYNC also makes the names durable that are kept by the server that gets it, so the home servers of the path and of
 * the directories above it get one, too. */
themis_status_t themis_sync(themis_file_t *file)
{
    themis_client_multicall_t multicall = {.layout = &file->layout,
                                           .opcode = THEMIS_OP_SYNC,
                                           .subject = file->path,
                                           .file = file,
                                           .body.object = {file->attr.id}};
    themis_status_t status = themis_client_multicall(&file->session->calls, &multicall);

    if (status != THEMIS_OK)
        return status;
    return themis_client_namespace_sync(file);
}
