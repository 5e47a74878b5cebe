/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lock out of a table, chosen by the path's hash, is held over each change: that of the directory for its entries, so
 * that removing it and adding to it exclude each other.
 */
#include "server/namespace.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "server/access.h"
#include "server/name_db.h"
#include "util/clock.h"
#include "util/hash_ring.h"

enum { LOCKS = 64 };

struct themis_server_namespace {
    themis_server_name_db_t *db;
    pthread_mutex_t locks[LOCKS];
    uint32_t servers;
    pthread_mutex_t layout_lock; /* of the next one */
    themis_proto_layout_t layout;
};

/* --- names ------------------------------------------------------------------------------------------------------- */

static int is_root(const themis_proto_text_t *path)
{
    return path->length == 1 && path->bytes[0] == '/';
}

static themis_status_t check_name(const char *bytes, size_t length)
{
    if (length > THEMIS_PROTO_MAX_NAME)
        return THEMIS_NAME_TOO_LONG;
    if (length == 0 || memchr(bytes, 0, length) || memchr(bytes, '/', length) || (length == 1 && bytes[0] == '.') ||
        (length == 2 && memcmp(bytes, "..", 2) == 0))
        return THEMIS_BAD_NAME;
    return THEMIS_OK;
}

static themis_status_t check_path(const themis_proto_text_t *path)
{
    themis_status_t status = THEMIS_OK;
    size_t at = 1;

    if (path->length > THEMIS_PROTO_MAX_PATH)
        return THEMIS_NAME_TOO_LONG;
    if (path->length == 0 || path->bytes[0] != '/')
        return THEMIS_BAD_NAME;
    while (!is_root(path) && status == THEMIS_OK && at <= path->length) {
        const char *slash = memchr(path->bytes + at, '/', path->length - at);
        size_t length = slash ? (size_t)(slash - path->bytes) - at : path->length - at;
        status = check_name(path->bytes + at, length);
        at += length + 1;
    }
    return status;
}

static themis_status_t get_attr(themis_server_namespace_t *names, const themis_proto_text_t *path,
                                themis_proto_attr_t *attr)
{
    themis_status_t status = themis_server_name_db_get(names->db, path, attr);

    if (status == THEMIS_NO_ENTRY && is_root(path)) {
        *attr = (themis_proto_attr_t){.type = THEMIS_PROTO_DIRECTORY, .mode = 0777};
        status = THEMIS_OK;
    }
    return status;
}

static pthread_mutex_t *lock_of(themis_server_namespace_t *names, const themis_proto_text_t *path)
{
    pthread_mutex_t *lock = &names->locks[themis_util_hash_ring_hash(path->bytes, path->length) % LOCKS];

    pthread_mutex_lock(lock);
    return lock;
}

/* Checks a path, and takes its lock if there is nothing wrong with it. */
static themis_status_t enter(themis_server_namespace_t *names, const themis_proto_text_t *path, pthread_mutex_t **lock)
{
    themis_status_t status = check_path(path);

    if (status == THEMIS_OK)
        *lock = lock_of(names, path);
    return status;
}

/* --- opening and closing ----------------------------------------------------------------------------------------- */

themis_status_t themis_server_namespace_create(const themis_server_namespace_options_t *options,
                                               themis_server_namespace_t **names)
{
    themis_server_namespace_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&made->locks[i], NULL);
    pthread_mutex_init(&made->layout_lock, NULL);
    made->servers = options->servers;
    made->layout = options->layout;
    themis_status_t status = themis_server_name_db_open(options->directory ? options->directory : "", options->fresh,
                                                        options->index, &made->db);
    if (status != THEMIS_OK) {
        themis_server_namespace_destroy(made);
        return status;
    }
    *names = made;
    return THEMIS_OK;
}

void themis_server_namespace_destroy(themis_server_namespace_t *names)
{
    if (!names)
        return;
    themis_server_name_db_close(names->db);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&names->locks[i]);
    pthread_mutex_destroy(&names->layout_lock);
    free(names);
}

void themis_server_namespace_set_layout(themis_server_namespace_t *names, const themis_proto_layout_t *layout)
{
    pthread_mutex_lock(&names->layout_lock);
    names->layout = *layout;
    pthread_mutex_unlock(&names->layout_lock);
}

themis_status_t themis_server_namespace_sync(themis_server_namespace_t *names)
{
    return themis_server_name_db_sync(names->db);
}

/* --- operations -------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_namespace_lookup(themis_server_namespace_t *names, const themis_proto_text_t *path,
                                               themis_proto_attr_t *attr)
{
    themis_status_t status = check_path(path);

    return status == THEMIS_OK ? get_attr(names, path, attr) : status;
}

/* Fills in what the wish leaves open, and bounds it by the servers there are. */
static themis_status_t choose_layout(themis_server_namespace_t *names, const themis_proto_text_t *path,
                                     const themis_proto_layout_t *wish, themis_proto_layout_t *layout)
{
    pthread_mutex_lock(&names->layout_lock);
    themis_proto_layout_t standard = names->layout;
    pthread_mutex_unlock(&names->layout_lock);
    *layout = *wish;
    if (layout->stripe_size == 0)
        layout->stripe_size = standard.stripe_size;
    if (layout->count == 0)
        layout->count = standard.count;
    if (layout->count == 0 || layout->count > names->servers)
        layout->count = names->servers;
    if (layout->first == UINT32_MAX)
        layout->first = (uint32_t)(themis_util_hash_ring_hash(path->bytes, path->length) % names->servers);
    layout->first %= names->servers;
    return layout->stripe_size % 4096 || layout->stripe_size > UINT64_C(1) << 32 ? THEMIS_INVALID : THEMIS_OK;
}

static themis_status_t fresh_attr(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                  const themis_proto_create_t *create, themis_proto_attr_t *attr)
{
    uint64_t now = themis_util_clock_wall();
    themis_proto_attr_t made = {.type = create->attr.type,
                                .mode = create->attr.mode & 07777,
                                .uid = who->uid,
                                .gid = who->gid,
                                .created = now,
                                .modified = now};
    themis_status_t status = THEMIS_OK;

    if (made.type == THEMIS_PROTO_FILE) {
        status = choose_layout(names, &create->path, &create->attr.layout, &made.layout);
        if (status == THEMIS_OK)
            status = themis_server_name_db_new_id(names->db, &made.id);
    }
    *attr = made;
    return status;
}

/* A name that moved here from elsewhere, with everything it had. */
static themis_status_t adopted_attr(const themis_sched_job_identity_t *who, const themis_proto_create_t *create,
                                    themis_proto_attr_t *attr)
{
    *attr = create->attr;
    return themis_server_access_owner(who, attr);
}

/* What CREATE does with a name that is there. */
static themis_status_t meet_existing(const themis_proto_create_t *create, const themis_proto_attr_t *old, int *keep)
{
    if (create->flags & THEMIS_PROTO_CREATE_REPLACE && create->flags & THEMIS_PROTO_CREATE_ADOPT) {
        *keep = 0;
        return old->type == THEMIS_PROTO_DIRECTORY ? THEMIS_IS_DIRECTORY : THEMIS_OK;
    }
    *keep = 1;
    if (create->flags & (THEMIS_PROTO_CREATE_EXCLUSIVE | THEMIS_PROTO_CREATE_ADOPT))
        return THEMIS_EXISTS;
    if (old->type == create->attr.type)
        return THEMIS_OK;
    return old->type == THEMIS_PROTO_DIRECTORY ? THEMIS_IS_DIRECTORY : THEMIS_EXISTS;
}

static themis_status_t make_locked(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                   const themis_proto_create_t *create, themis_proto_attr_t *attr)
{
    themis_proto_attr_t old, made;
    int keep = 0;

    themis_status_t there = get_attr(names, &create->path, &old);
    if (there != THEMIS_OK && there != THEMIS_NO_ENTRY)
        return there;
    themis_status_t status = there == THEMIS_OK ? meet_existing(create, &old, &keep) : THEMIS_OK;
    old.fresh = 0;
    if (status == THEMIS_OK && !keep) {
        status = create->flags & THEMIS_PROTO_CREATE_ADOPT ? adopted_attr(who, create, &made)
                                                           : fresh_attr(names, who, create, &made);
        if (status == THEMIS_OK)
            status = themis_server_name_db_put(names->db, &create->path, &made);
        made.fresh = 1;
    }
    if (status == THEMIS_OK)
        *attr = there == THEMIS_OK ? old : made;
    return status;
}

themis_status_t themis_server_namespace_make(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                             const themis_proto_create_t *create, themis_proto_attr_t *attr)
{
    pthread_mutex_t *lock;
    themis_status_t status = enter(names, &create->path, &lock);

    if (status != THEMIS_OK)
        return status;
    status = make_locked(names, who, create, attr);
    pthread_mutex_unlock(lock);
    return status;
}

static themis_status_t remove_locked(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                     const themis_proto_remove_t *remove, themis_proto_attr_t *attr)
{
    themis_proto_attr_t old;

    if (is_root(&remove->path))
        return THEMIS_BUSY;
    themis_status_t status = get_attr(names, &remove->path, &old);
    if (status != THEMIS_OK)
        return status;
    if (old.type != remove->type)
        return old.type == THEMIS_PROTO_DIRECTORY ? THEMIS_IS_DIRECTORY : THEMIS_NOT_DIRECTORY;
    /* who may write a file may empty it; leave to take the name away comes with the directory's entry */
    if (themis_server_access_owner(who, &old) != THEMIS_OK &&
        themis_server_access_attr(who, &old, THEMIS_SERVER_ACCESS_WRITE) != THEMIS_OK)
        return THEMIS_ACCESS;
    if (old.type == THEMIS_PROTO_DIRECTORY && themis_server_name_db_has_entries(names->db, &remove->path))
        return THEMIS_NOT_EMPTY;
    status = themis_server_name_db_remove(names->db, &remove->path);
    if (status == THEMIS_OK)
        *attr = old;
    return status;
}

themis_status_t themis_server_namespace_remove(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                               const themis_proto_remove_t *remove, themis_proto_attr_t *attr)
{
    pthread_mutex_t *lock;
    themis_status_t status = enter(names, &remove->path, &lock);

    if (status != THEMIS_OK)
        return status;
    status = remove_locked(names, who, remove, attr);
    pthread_mutex_unlock(lock);
    return status;
}

static themis_status_t setattr_locked(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                      const themis_proto_setattr_t *set, themis_proto_attr_t *attr)
{
    themis_proto_attr_t now;

    themis_status_t status = get_attr(names, &set->path, &now);
    if (status == THEMIS_OK && set->mask)
        status = themis_server_access_owner(who, &now);
    /* files are not given away */
    if (status == THEMIS_OK && set->mask & THEMIS_PROTO_SET_OWNER && who->uid != 0 && set->uid != now.uid)
        status = THEMIS_ACCESS;
    if (status != THEMIS_OK)
        return status;
    if (set->mask & THEMIS_PROTO_SET_MODE)
        now.mode = set->mode & 07777;
    if (set->mask & THEMIS_PROTO_SET_OWNER) {
        now.uid = set->uid;
        now.gid = set->gid;
    }
    if (set->mask & THEMIS_PROTO_SET_MODIFIED)
        now.modified = set->modified;
    status = themis_server_name_db_put(names->db, &set->path, &now);
    if (status == THEMIS_OK)
        *attr = now;
    return status;
}

themis_status_t themis_server_namespace_setattr(themis_server_namespace_t *names,
                                                const themis_sched_job_identity_t *who,
                                                const themis_proto_setattr_t *setattr, themis_proto_attr_t *attr)
{
    pthread_mutex_t *lock;
    themis_status_t status = enter(names, &setattr->path, &lock);

    if (status != THEMIS_OK)
        return status;
    status = setattr_locked(names, who, setattr, attr);
    pthread_mutex_unlock(lock);
    return status;
}

/* The directory is there, is one, and allows `want`. */
static themis_status_t check_directory(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                       const themis_proto_text_t *directory, int want)
{
    themis_proto_attr_t attr;
    themis_status_t status = get_attr(names, directory, &attr);

    if (status != THEMIS_OK)
        return status;
    return attr.type == THEMIS_PROTO_DIRECTORY ? themis_server_access_attr(who, &attr, want) : THEMIS_NOT_DIRECTORY;
}

static themis_status_t check_entry(const themis_proto_entry_t *entry)
{
    themis_status_t status = check_path(&entry->directory);

    if (status == THEMIS_OK)
        status = check_name(entry->name.bytes, entry->name.length);
    if (status == THEMIS_OK && entry->directory.length + entry->name.length + 1 > THEMIS_PROTO_MAX_PATH)
        status = THEMIS_NAME_TOO_LONG;
    return status;
}

typedef themis_status_t entry_change_t(themis_server_name_db_t *db, const themis_proto_entry_t *entry);

static themis_status_t change_entry(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                    const themis_proto_entry_t *entry, entry_change_t *change)
{
    themis_status_t status = check_entry(entry);

    if (status != THEMIS_OK)
        return status;
    pthread_mutex_t *lock = lock_of(names, &entry->directory);
    status = check_directory(names, who, &entry->directory, THEMIS_SERVER_ACCESS_WRITE | THEMIS_SERVER_ACCESS_EXECUTE);
    if (status == THEMIS_OK)
        status = change(names->db, entry);
    pthread_mutex_unlock(lock);
    return status;
}

themis_status_t themis_server_namespace_entry_add(themis_server_namespace_t *names,
                                                  const themis_sched_job_identity_t *who,
                                                  const themis_proto_entry_t *entry)
{
    return change_entry(names, who, entry, themis_server_name_db_entry_put);
}

themis_status_t themis_server_namespace_entry_remove(themis_server_namespace_t *names,
                                                     const themis_sched_job_identity_t *who,
                                                     const themis_proto_entry_t *entry)
{
    return change_entry(names, who, entry, themis_server_name_db_entry_remove);
}

themis_status_t themis_server_namespace_readdir(themis_server_namespace_t *names,
                                                const themis_sched_job_identity_t *who,
                                                const themis_proto_readdir_t *readdir, void *buffer, size_t capacity,
                                                themis_proto_entries_t *entries)
{
    themis_status_t status = check_path(&readdir->path);

    if (status == THEMIS_OK && readdir->after.length > THEMIS_PROTO_MAX_NAME)
        status = THEMIS_NAME_TOO_LONG;
    if (status == THEMIS_OK)
        status = check_directory(names, who, &readdir->path, THEMIS_SERVER_ACCESS_READ);
    if (status == THEMIS_OK)
        themis_server_name_db_list(names->db, readdir, buffer, capacity, entries);
    return status;
}
