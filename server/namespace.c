/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each operation holds a lock from a table, chosen by the path's hash; for an entry that of its directory, so that
 * removing a directory and adding to it exclude each other.
 */
#include "server/namespace.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "server/access.h"
#include "server/groups.h"
#include "server/name_intents.h"
#include "server/name_path.h"
#include "server/xattrs.h"
#include "util/clock.h"
#include "util/hash_ring.h"

enum { LOCKS = 64 };
static const uint32_t all_access = THEMIS_PROTO_RIGHT_READ | THEMIS_PROTO_RIGHT_WRITE | THEMIS_PROTO_RIGHT_TRUNCATE |
                                   THEMIS_PROTO_RIGHT_LOCK | THEMIS_PROTO_RIGHT_TOUCH | THEMIS_PROTO_RIGHT_SIZE;

struct themis_server_namespace {
    themis_server_name_db_t *db;
    themis_server_intents_t *intents;
    themis_server_groups_t *groups;
    pthread_mutex_t locks[LOCKS];
    uint32_t servers;
    int durable;                 /* 1: the names outlive the process */
    pthread_mutex_t layout_lock; /* of the next one */
    themis_proto_layout_t layout;
};

/* --- names ------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t *path_lock(themis_server_namespace_t *names, const themis_proto_text_t *path)
{
    pthread_mutex_t *lock = &names->locks[themis_util_hash_ring_hash(path->bytes, path->length) % LOCKS];

    pthread_mutex_lock(lock);
    return lock;
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
    made->durable = options->directory && *options->directory && !options->fresh;
    made->layout = options->layout;
    themis_status_t status = themis_server_groups_create(&made->groups);
    if (status == THEMIS_OK)
        status = themis_server_name_db_open(options->directory ? options->directory : "", options->fresh,
                                            options->index, options->identity, &made->db);
    if (status == THEMIS_OK)
        status = themis_server_intents_create(made->db, &made->intents);
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
    themis_server_intents_destroy(names->intents);
    themis_server_name_db_close(names->db);
    themis_server_groups_destroy(names->groups);
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
    return names->durable ? themis_server_name_db_sync(names->db) : THEMIS_OK;
}

themis_server_name_db_t *themis_server_namespace_db(themis_server_namespace_t *names)
{
    return names->durable ? names->db : NULL;
}

themis_server_name_db_t *themis_server_namespace_any_db(themis_server_namespace_t *names)
{
    return names->db;
}

/* What is to be written together with a change. */
static const themis_server_name_db_record_t *records_make(const themis_server_namespace_with_t *with,
                                                          const themis_proto_attr_t *attr)
{
    return with ? with->make(with->arg, attr) : NULL;
}

/* --- rights ------------------------------------------------------------------------------------------------------- */

/* The directories above a path whose home is this server; others are not known here. */
typedef struct parents {
    int known; /* 1: the nearest one is, and `nearest` has its attributes */
    themis_proto_attr_t nearest;
} parents_t;

/* THEMIS_ACCESS: one of them that is known here does not let `who` pass. */
static themis_status_t parents_check(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                     const themis_proto_text_t *path, parents_t *parents)
{
    themis_proto_text_t parent = *path;
    themis_status_t status = THEMIS_OK;

    *parents = (parents_t){0};
    for (uint32_t at = 0; at + 1 < path->length && status == THEMIS_OK; at++) {
        if (path->bytes[at] != '/')
            continue;
        parent.length = at ? at : 1;
        status = themis_server_name_db_get(names->db, &parent, &parents->nearest);
        parents->known = status == THEMIS_OK;
        if (status == THEMIS_NO_ENTRY)
            status = THEMIS_OK;
        else if (status == THEMIS_OK && parents->nearest.type != THEMIS_PROTO_DIRECTORY)
            status = THEMIS_NOT_DIRECTORY;
        else if (status == THEMIS_OK)
            status = themis_server_access_attr(names->groups, who, &parents->nearest, THEMIS_SERVER_ACCESS_EXECUTE);
    }
    return status;
}

/* The attributes of a path. Who may not pass the directories above is not told whether there are any. */
static themis_status_t name_find(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                 const themis_proto_text_t *path, parents_t *parents, themis_proto_attr_t *attr)
{
    themis_status_t status = themis_server_name_path_check(path);

    if (status == THEMIS_OK)
        status = parents_check(names, who, path, parents);
    if (status == THEMIS_OK)
        status = themis_server_name_db_get(names->db, path, attr);
    if (status == THEMIS_NO_ENTRY && themis_server_name_path_is_root(path)) {
        *attr = (themis_proto_attr_t){.type = THEMIS_PROTO_DIRECTORY, .mode = 0777, .uid = geteuid(), .gid = getegid()};
        status = THEMIS_OK;
    }
    return status;
}

/* May the names in the nearest one be changed? */
static themis_status_t parents_check_write(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                           const parents_t *parents)
{
    return parents->known ? themis_server_access_attr(names->groups, who, &parents->nearest, THEMIS_SERVER_ACCESS_WRITE)
                          : THEMIS_OK;
}

/* What the owner may be given beyond what the attributes give. */
static uint32_t owner_rights(const themis_sched_job_identity_t *who, const themis_proto_attr_t *attr, uint32_t rights)
{
    return themis_server_access_owner(who, attr) == THEMIS_OK ? rights : 0;
}

/* Gives the rights of the attributes and those of `more`. The id of a file is for those who have any. */
static void rights_give(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                        themis_proto_attr_t *attr, uint32_t more)
{
    attr->capability.rights =
        attr->type == THEMIS_PROTO_FILE ? themis_server_access_rights(names->groups, who, attr) | more : 0;
    if (attr->capability.rights || attr->type == THEMIS_PROTO_SYMLINK) /* whose id gives access to nothing */
        return;
    attr->id = 0;
    attr->generation = 0; /* that of a new name is its id */
}

/* --- operations -------------------------------------------------------------------------------------------------- */

static themis_status_t name_lookup(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                   const themis_proto_lookup_t *lookup, themis_proto_attr_t *attr)
{
    parents_t parents;
    themis_status_t status = name_find(names, who, &lookup->path, &parents, attr);

    if (status != THEMIS_OK)
        return status;
    uint32_t rename = owner_rights(who, attr, lookup->rights & THEMIS_PROTO_RIGHT_RENAME);
    if (rename) /* a name that may be taken back is not renamed on */
        status = themis_server_intents_hasten(names->intents, attr->generation);
    if (status != THEMIS_OK)
        return status;
    rights_give(names, who, attr, rename);
    if (attr->type == THEMIS_PROTO_SYMLINK)
        attr->capability.rights = rename;
    return attr->type == THEMIS_PROTO_FILE && lookup->rights & ~attr->capability.rights ? THEMIS_ACCESS : THEMIS_OK;
}

/* Fills in what the request leaves open, limited to the number of servers. */
static themis_status_t layout_choose(themis_server_namespace_t *names, const themis_proto_text_t *path,
                                     const themis_proto_layout_t *requested, themis_proto_layout_t *layout)
{
    pthread_mutex_lock(&names->layout_lock);
    themis_proto_layout_t standard = names->layout;
    pthread_mutex_unlock(&names->layout_lock);
    *layout = *requested;
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

static themis_status_t attr_create(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
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

    if (create->flags & THEMIS_PROTO_CREATE_GROUP &&
        themis_server_access_group(names->groups, who, create->attr.gid) == THEMIS_OK)
        made.gid = create->attr.gid;
    if (made.type == THEMIS_PROTO_FILE) {
        status = layout_choose(names, &create->path, &create->attr.layout, &made.layout);
        made.store = create->attr.store;
    } else if (made.type == THEMIS_PROTO_DIRECTORY)
        made.layout = create->attr.layout;
    if (status == THEMIS_OK && made.type != THEMIS_PROTO_DIRECTORY)
        status = themis_server_name_db_new_id(names->db, &made.id);
    made.generation = made.id;
    if (status == THEMIS_OK && made.type == THEMIS_PROTO_DIRECTORY)
        status = themis_server_name_db_new_id(names->db, &made.generation);
    *attr = made;
    return status;
}

/* New and empty bytes of another layout for a file that stays what it is otherwise. */
static themis_status_t attr_renew(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                  const themis_proto_create_t *create, const themis_proto_attr_t *old,
                                  themis_proto_attr_t *attr)
{
    themis_status_t status = themis_server_access_owner(who, old);

    *attr = *old;
    if (status == THEMIS_OK && create->attr.id && create->attr.id != old->id)
        status = THEMIS_STALE; /* somebody else has done so */
    if (status == THEMIS_OK)
        status = layout_choose(names, &create->path, &create->attr.layout, &attr->layout);
    attr->store = create->attr.store;
    return status == THEMIS_OK ? themis_server_name_db_new_id(names->db, &attr->id) : status;
}

/* Is the file to get new bytes? */
static int is_renewal(const themis_proto_create_t *create)
{
    return create->flags & THEMIS_PROTO_CREATE_REPLACE && !(create->flags & THEMIS_PROTO_CREATE_ADOPT);
}

/* What CREATE does with a name that exists; *keep: 1 if its attributes stay. */
static themis_status_t check_existing(const themis_proto_create_t *create, const themis_proto_attr_t *old, int *keep)
{
    if (create->flags & THEMIS_PROTO_CREATE_REPLACE && create->flags & THEMIS_PROTO_CREATE_ADOPT) {
        *keep = 0;
        return old->type == THEMIS_PROTO_DIRECTORY ? THEMIS_IS_DIRECTORY : THEMIS_OK;
    }
    if (is_renewal(create)) {
        *keep = 0;
        return old->type == THEMIS_PROTO_FILE && create->attr.type == THEMIS_PROTO_FILE ? THEMIS_OK : THEMIS_INVALID;
    }
    *keep = 1;
    if (create->flags & (THEMIS_PROTO_CREATE_EXCLUSIVE | THEMIS_PROTO_CREATE_ADOPT))
        return THEMIS_EXISTS;
    if (old->type == create->attr.type)
        return THEMIS_OK;
    return old->type == THEMIS_PROTO_DIRECTORY ? THEMIS_IS_DIRECTORY : THEMIS_EXISTS;
}

/* The attributes of a file that is renamed to this server, from its client, with the seal of the server that was its
 * home (name_requests.c). Where seals are not checked the client can still only claim a file of its own, with a layout
 * that is possible, and a group that it may give it. */
static themis_status_t attr_adopt(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                  const themis_proto_create_t *create, themis_proto_attr_t *attr)
{
    const themis_proto_attr_t *claimed = &create->attr;
    const themis_proto_layout_t *layout = &claimed->layout;

    if (claimed->type == THEMIS_PROTO_DIRECTORY || claimed->id == 0)
        return THEMIS_INVALID;
    if (claimed->type == THEMIS_PROTO_FILE &&
        (layout->count == 0 || layout->count > names->servers || layout->first >= names->servers ||
         layout->stripe_size == 0 || layout->stripe_size % 4096 || layout->stripe_size > UINT64_C(1) << 32))
        return THEMIS_INVALID;
    themis_status_t status = themis_server_access_owner(who, claimed);
    if (status == THEMIS_OK)
        status = themis_server_access_group(names->groups, who, claimed->gid);
    *attr = *claimed;
    attr->mode &= 07777;
    return status == THEMIS_OK ? themis_server_name_db_new_id(names->db, &attr->generation) : status;
}

/* Stores attributes of a name that keeps what it has beside them; `attr` has the lengths of these as they are. */
static themis_status_t attr_store(themis_server_namespace_t *names, const themis_proto_text_t *path,
                                  const themis_proto_attr_t *attr, const themis_server_name_db_record_t *with)
{
    themis_proto_extra_t extra;
    void *memory;

    if (attr->target == 0 && attr->xattrs == 0)
        return themis_server_name_db_put(names->db, path, attr, NULL, with);
    themis_status_t status = themis_server_name_db_get_extra(names->db, path, &extra, &memory);
    if (status != THEMIS_OK)
        return status;
    status = themis_server_name_db_put(names->db, path, attr, &extra, with);
    free(memory);
    return status;
}

/* What a new name is to have beside its attributes; of symbolic links there are no extended attributes. */
static themis_status_t extra_check(const themis_proto_create_t *create)
{
    if (create->attr.type == THEMIS_PROTO_SYMLINK && create->extra.xattrs.count)
        return THEMIS_UNSUPPORTED;
    return themis_server_xattrs_check(&create->extra.xattrs);
}

/* Makes the attributes of a new name, or of one that replaces `old`. */
static themis_status_t name_make(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                 const themis_proto_create_t *create, const themis_proto_attr_t *old,
                                 const parents_t *parents, themis_proto_attr_t *made)
{
    themis_status_t status = extra_check(create);

    if (is_renewal(create))
        return old ? attr_renew(names, who, create, old, made) : THEMIS_NO_ENTRY;
    if (status == THEMIS_OK && old)
        status = themis_server_access_remove(names->groups, who, old, parents->known ? &parents->nearest : NULL);
    if (status == THEMIS_OK)
        status = create->flags & THEMIS_PROTO_CREATE_ADOPT ? attr_adopt(names, who, create, made)
                                                           : attr_create(names, who, create, made);
    made->target = create->extra.target.length;
    made->xattrs = create->extra.xattrs.length;
    return status;
}

/* --- what is left to do after a change ---------------------------------------------------------------------------- */

themis_server_intents_t *themis_server_namespace_intents(themis_server_namespace_t *names)
{
    return names->intents;
}

themis_status_t themis_server_namespace_find(themis_server_namespace_t *names, const themis_proto_text_t *path)
{
    themis_proto_attr_t attr;

    return themis_server_name_db_get(names->db, path, &attr);
}

themis_status_t themis_server_namespace_settle_entry(themis_server_namespace_t *names, const themis_proto_text_t *path,
                                                     uint64_t seen)
{
    themis_proto_entry_t entry;
    themis_status_t status = themis_server_name_path_check(path);

    if (status != THEMIS_OK || themis_server_name_path_is_root(path))
        return status;
    entry.directory = themis_server_name_path_directory(path);
    uint32_t name = themis_server_name_path_is_root(&entry.directory) ? 1 : entry.directory.length + 1;
    entry.name = (themis_proto_text_t){path->bytes + name, path->length - name};
    pthread_mutex_t *lock = path_lock(names, &entry.directory);
    status =
        themis_server_name_db_entry_remove_old(names->db, &entry, seen, THEMIS_PROTO_ENTRY_LASTS * THEMIS_NS_PER_S);
    pthread_mutex_unlock(lock);
    return status;
}

/* The new name is not there. THEMIS_OK: it was taken back by a step that seemed to fail, THEMIS_STALE: somebody has
 * changed it since. */
static themis_status_t taken_back_before(themis_server_namespace_t *names, const themis_server_intent_entry_t *entry)
{
    themis_status_t status = themis_server_intents_find_record(names->intents, entry);

    if (status == THEMIS_OK)
        return THEMIS_STALE;
    return status == THEMIS_NO_ENTRY ? THEMIS_OK : status;
}

themis_status_t themis_server_namespace_take_back(themis_server_namespace_t *names,
                                                  const themis_server_intent_entry_t *entry)
{
    themis_proto_attr_t now;

    pthread_mutex_t *lock = path_lock(names, &entry->intent.path);
    themis_status_t status = themis_server_name_db_get(names->db, &entry->intent.path, &now);
    if (status == THEMIS_OK && now.generation == entry->intent.rename)
        status = themis_server_name_intents_restore(names->intents, names->db, entry);
    else if (status == THEMIS_OK || status == THEMIS_NO_ENTRY)
        status = taken_back_before(names, entry);
    pthread_mutex_unlock(lock);
    return status;
}

themis_status_t themis_server_namespace_rename_end(themis_server_namespace_t *names,
                                                   const themis_sched_job_identity_t *who,
                                                   const themis_proto_rename_end_t *end)
{
    themis_proto_attr_t now;
    parents_t parents;
    pthread_mutex_t *lock = path_lock(names, &end->path); /* so that it is not taken back between the two */
    themis_status_t status = name_find(names, who, &end->path, &parents, &now);

    if (status == THEMIS_OK && end->rename != now.generation)
        status = THEMIS_NO_ENTRY;
    if (status == THEMIS_OK)
        status = themis_server_intents_hasten(names->intents, now.generation);
    pthread_mutex_unlock(lock);
    return status;
}

/* --- operations that change names --------------------------------------------------------------------------------- */

/* Changes a name together with what is left to do then: `made` takes the place of `old` (NULL: there is none). */
static themis_status_t name_replace(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                    const themis_proto_create_t *create, const themis_proto_attr_t *old,
                                    const themis_proto_attr_t *made, const themis_server_name_db_record_t *with)
{
    themis_server_intent_entry_t *left = NULL;
    themis_status_t status = THEMIS_OK;

    if (create->origin.length || is_renewal(create))
        status = themis_server_intents_room(names->intents);
    if (status == THEMIS_OK && create->origin.length)
        status = themis_server_name_intents_rename(names->intents, names->db, who, create, old, made, &left);
    else if (status == THEMIS_OK && is_renewal(create))
        status = themis_server_name_intents_bytes(names->intents, &create->path, old, &left);
    if (status != THEMIS_OK)
        return status;
    const themis_server_name_db_record_t *records = themis_server_name_intents_record(left, with);
    status = is_renewal(create) ? attr_store(names, &create->path, made, records)
                                : themis_server_name_db_put(names->db, &create->path, made, &create->extra, records);
    if (create->flags & THEMIS_PROTO_CREATE_ADOPT) /* also if it seems to fail */
        themis_server_intents_add_move(names->intents, made->id);
    themis_server_intents_end(names->intents, left, status);
    return status;
}

/* The old name of a rename: one that its home can remove. */
static themis_status_t origin_check(const themis_proto_create_t *create)
{
    const themis_proto_text_t *origin = &create->origin, *path = &create->path;

    if (origin->length == 0)
        return THEMIS_OK;
    if (themis_server_name_path_is_root(origin) || create->attr.generation == 0 ||
        (origin->length == path->length && memcmp(origin->bytes, path->bytes, path->length) == 0))
        return THEMIS_INVALID;
    return themis_server_name_path_check(origin);
}

static themis_status_t name_create(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                   const themis_proto_create_t *create, const themis_server_namespace_with_t *with,
                                   themis_proto_attr_t *attr)
{
    themis_proto_attr_t old, made = {0}, reply;
    parents_t parents;
    int keep = 0;

    themis_status_t origin = origin_check(create);
    if (origin != THEMIS_OK)
        return origin;
    themis_status_t there = name_find(names, who, &create->path, &parents, &old);
    if (there != THEMIS_OK && there != THEMIS_NO_ENTRY)
        return there;
    const themis_proto_attr_t *replaced = there == THEMIS_OK ? &old : NULL;
    themis_status_t status = replaced ? check_existing(create, &old, &keep) : THEMIS_OK;
    /* new bytes for the same file are no change of the directory */
    if (status == THEMIS_OK && !keep && !is_renewal(create))
        status = parents_check_write(names, who, &parents);
    if (status == THEMIS_OK && !keep)
        status = name_make(names, who, create, replaced, &parents, &made);
    if (status == THEMIS_OK && !keep && replaced)
        status = themis_server_intents_hasten(names->intents, old.generation);
    if (status != THEMIS_OK)
        return status;
    reply = replaced ? old : made;
    reply.fresh = !replaced;
    /* as in POSIX, who makes a file may access it, whatever its mode */
    rights_give(names, who, &reply, reply.fresh && !(create->flags & THEMIS_PROTO_CREATE_ADOPT) ? all_access : 0);
    if (replaced && !keep && reply.type == THEMIS_PROTO_FILE)
        reply.capability.rights = THEMIS_PROTO_RIGHT_DESTROY; /* for its client */
    if (!keep)
        reply.generation = made.generation;
    if (!keep)
        status = name_replace(names, who, create, replaced, &made, records_make(with, &reply));
    if (status == THEMIS_OK)
        *attr = reply;
    return status;
}

static themis_status_t check_empty(themis_server_namespace_t *names, const themis_proto_text_t *directory)
{
    int any = 0;
    themis_status_t status = themis_server_name_db_has_entries(names->db, directory, &any);

    return status == THEMIS_OK && any ? THEMIS_NOT_EMPTY : status;
}

/* Is the name that was renamed no longer there? Rights do not matter: nothing is told of a name but that it is not that
 * one, and who asks for it again may have lost them since. */
static int is_gone(themis_server_namespace_t *names, const themis_proto_remove_t *remove)
{
    themis_proto_attr_t now;
    themis_status_t status = themis_server_name_path_check(&remove->path);

    if (status == THEMIS_OK)
        status = themis_server_name_db_get(names->db, &remove->path, &now);
    return status == THEMIS_NO_ENTRY ||
           (status == THEMIS_OK && (now.id != remove->object || now.generation != remove->generation));
}

/* REMOVE of a name that is_gone. */
static themis_status_t name_is_gone(themis_server_namespace_t *names, const themis_proto_remove_t *remove,
                                    themis_proto_attr_t *attr)
{
    *attr = (themis_proto_attr_t){.type = THEMIS_PROTO_SYMLINK, .fresh = 1};
    if (themis_server_name_db_id_is_lost(names->db, remove->generation))
        return THEMIS_STALE;
    return themis_server_intents_how_ended(names->intents, remove->generation, remove->rename);
}

/* May `who` remove a name of these attributes? */
static themis_status_t check_removable(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                       const themis_proto_remove_t *remove, const parents_t *parents,
                                       const themis_proto_attr_t *old)
{
    themis_status_t status = parents_check_write(names, who, parents);

    if (status != THEMIS_OK)
        return status;
    if ((old->type == THEMIS_PROTO_DIRECTORY) != (remove->type == THEMIS_PROTO_DIRECTORY))
        return old->type == THEMIS_PROTO_DIRECTORY ? THEMIS_IS_DIRECTORY : THEMIS_NOT_DIRECTORY;
    status = themis_server_access_remove(names->groups, who, old, parents->known ? &parents->nearest : NULL);
    if (status == THEMIS_OK && old->type == THEMIS_PROTO_DIRECTORY)
        status = check_empty(names, &remove->path);
    return status;
}

static themis_status_t name_remove(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                   const themis_proto_remove_t *remove, const themis_server_namespace_with_t *with,
                                   themis_proto_attr_t *attr)
{
    int renamed = remove->renamed.length > 0;
    themis_server_intent_entry_t *left = NULL;
    themis_proto_attr_t old;
    parents_t parents;

    if (themis_server_name_path_is_root(&remove->path))
        return THEMIS_BUSY;
    if (renamed && is_gone(names, remove))
        return name_is_gone(names, remove, attr);
    themis_status_t status = name_find(names, who, &remove->path, &parents, &old);
    if (status == THEMIS_OK)
        status = check_removable(names, who, remove, &parents, &old);
    if (status == THEMIS_OK)
        status = themis_server_intents_hasten(names->intents, old.generation);
    if (status == THEMIS_OK && !renamed) /* there was room for the rename */
        status = themis_server_intents_room(names->intents);
    if (status == THEMIS_OK)
        status = themis_server_name_intents_removal(names->intents, &remove->path, &old, &remove->renamed,
                                                    remove->rename, &left);
    if (status != THEMIS_OK)
        return status;
    old.capability.rights = old.type == THEMIS_PROTO_FILE && !renamed ? THEMIS_PROTO_RIGHT_DESTROY : 0;
    status = themis_server_name_db_remove(names->db, &remove->path,
                                          themis_server_name_intents_record(left, records_make(with, &old)));
    themis_server_intents_end(names->intents, left, status);
    if (status == THEMIS_OK)
        *attr = old;
    return status;
}

/* Gives a name another generation. */
static themis_status_t name_regenerate(themis_server_namespace_t *names, const themis_proto_text_t *path)
{
    themis_proto_attr_t now;
    themis_status_t status = themis_server_name_db_get(names->db, path, &now);

    if (status == THEMIS_OK)
        status = themis_server_name_db_new_id(names->db, &now.generation);
    return status == THEMIS_OK ? attr_store(names, path, &now, NULL) : status;
}

themis_status_t themis_server_namespace_settle_name(themis_server_namespace_t *names,
                                                    const themis_sched_job_identity_t *who,
                                                    const themis_proto_remove_t *remove)
{
    themis_status_t made = THEMIS_OK;
    themis_proto_attr_t attr;
    pthread_mutex_t *lock = path_lock(names, &remove->path);
    /* before rights: a name that may be taken back keeps its generation */
    themis_status_t status = themis_server_intents_hasten(names->intents, remove->generation);

    if (status == THEMIS_OK)
        status = name_remove(names, who, remove, NULL, &attr);
    if (themis_server_name_intents_is_refusal(status) && themis_server_name_path_check(&remove->path) == THEMIS_OK)
        made = name_regenerate(names, &remove->path);
    pthread_mutex_unlock(lock);
    return made == THEMIS_OK ? status : made;
}

static themis_status_t name_setattr(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                    const themis_proto_setattr_t *set, const themis_server_namespace_with_t *with,
                                    themis_proto_attr_t *attr)
{
    themis_proto_attr_t now, reply;
    parents_t parents;

    themis_status_t status = name_find(names, who, &set->path, &parents, &now);
    if (status == THEMIS_OK && set->mask)
        status = themis_server_access_owner(who, &now);
    /* only root changes the owner */
    if (status == THEMIS_OK && set->mask & THEMIS_PROTO_SET_OWNER && who->uid != 0 && set->uid != now.uid)
        status = THEMIS_ACCESS;
    if (status == THEMIS_OK && set->mask & THEMIS_PROTO_SET_OWNER && set->gid != now.gid)
        status = themis_server_access_group(names->groups, who, set->gid);
    if (status == THEMIS_OK && set->mask & THEMIS_PROTO_SET_MODE && now.type == THEMIS_PROTO_SYMLINK)
        status = THEMIS_UNSUPPORTED;
    if (status == THEMIS_OK && set->mask & THEMIS_PROTO_SET_LAYOUT && now.type != THEMIS_PROTO_DIRECTORY)
        status = THEMIS_NOT_DIRECTORY;
    if (status != THEMIS_OK)
        return status;
    if (set->mask & THEMIS_PROTO_SET_LAYOUT)
        now.layout = set->layout;
    if (set->mask & THEMIS_PROTO_SET_MODE)
        now.mode = set->mode & 07777;
    if (set->mask & THEMIS_PROTO_SET_OWNER) {
        now.uid = set->uid;
        now.gid = set->gid;
    }
    if (set->mask & THEMIS_PROTO_SET_MODIFIED)
        now.modified = set->modified;
    reply = now;
    rights_give(names, who, &reply, set->mask & THEMIS_PROTO_SET_MODIFIED ? THEMIS_PROTO_RIGHT_TOUCH : 0);
    if (set->mask)
        status = attr_store(names, &set->path, &now, records_make(with, &reply));
    if (status == THEMIS_OK)
        *attr = reply;
    return status;
}

/* Who may write a name may change its extended attributes; of symbolic links there are none. */
static themis_status_t name_set_xattr(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                      const themis_proto_setxattr_t *set, const themis_server_namespace_with_t *with)
{
    themis_proto_attr_t attr;
    themis_proto_extra_t extra;
    parents_t parents;
    void *memory, *buffer;
    themis_status_t status = name_find(names, who, &set->path, &parents, &attr);

    if (status == THEMIS_OK && attr.type == THEMIS_PROTO_SYMLINK)
        status = THEMIS_UNSUPPORTED;
    if (status == THEMIS_OK)
        status = themis_server_access_attr(names->groups, who, &attr, THEMIS_SERVER_ACCESS_WRITE);
    if (status == THEMIS_OK)
        status = themis_server_name_db_get_extra(names->db, &set->path, &extra, &memory);
    if (status != THEMIS_OK)
        return status;
    buffer = malloc(THEMIS_PROTO_MAX_XATTRS);
    status = buffer ? themis_server_xattrs_change(&extra.xattrs, set, buffer, &extra.xattrs) : THEMIS_NO_MEMORY;
    if (status == THEMIS_OK)
        status = themis_server_name_db_put(names->db, &set->path, &attr, &extra, records_make(with, NULL));
    free(buffer);
    free(memory);
    return status;
}

themis_status_t themis_server_namespace_extra(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                              const themis_proto_lookup_t *lookup, themis_proto_extra_t *extra,
                                              void **memory)
{
    themis_proto_attr_t attr;
    themis_proto_extra_t found;
    parents_t parents;
    void *bytes;
    themis_status_t status = name_find(names, who, &lookup->path, &parents, &attr);

    /* who owns a name may give it another name, and so has to know all that it has */
    if (status == THEMIS_OK && lookup->rights && themis_server_access_owner(who, &attr) != THEMIS_OK)
        status = themis_server_access_attr(names->groups, who, &attr, THEMIS_SERVER_ACCESS_READ);
    if (status == THEMIS_OK)
        status = themis_server_name_db_get_extra(names->db, &lookup->path, &found, &bytes);
    if (status != THEMIS_OK)
        return status;
    if (!lookup->rights)
        found.xattrs = (themis_proto_xattrs_t){0};
    *extra = found;
    *memory = bytes;
    return THEMIS_OK;
}

/* The directory exists, is one, and allows `want`. */
static themis_status_t check_directory(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                       const themis_proto_text_t *directory, int want, themis_proto_attr_t *attr)
{
    parents_t parents;
    themis_status_t status = name_find(names, who, directory, &parents, attr);

    if (status != THEMIS_OK)
        return status;
    return attr->type == THEMIS_PROTO_DIRECTORY ? themis_server_access_attr(names->groups, who, attr, want)
                                                : THEMIS_NOT_DIRECTORY;
}

/* The entry is valid, and its directory, of which *attr tells, may be changed. */
static themis_status_t check_entry(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                   const themis_proto_entry_t *entry, themis_proto_attr_t *attr)
{
    themis_status_t status = themis_server_name_path_check_name(entry->name.bytes, entry->name.length);

    if (status == THEMIS_OK && entry->directory.length + entry->name.length + 1 > THEMIS_PROTO_MAX_PATH)
        status = THEMIS_NAME_TOO_LONG;
    return status == THEMIS_OK ? check_directory(names, who, &entry->directory,
                                                 THEMIS_SERVER_ACCESS_WRITE | THEMIS_SERVER_ACCESS_EXECUTE, attr)
                               : status;
}

static themis_status_t entry_change(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                    unsigned opcode, const themis_proto_entry_t *entry,
                                    const themis_server_namespace_with_t *with, themis_proto_attr_t *attr)
{
    themis_proto_attr_t directory;
    themis_status_t status = check_entry(names, who, entry, &directory);

    if (status != THEMIS_OK)
        return status;
    if (opcode == THEMIS_OP_ENTRY_REMOVE)
        return themis_server_name_db_entry_remove(names->db, entry, records_make(with, NULL));
    status = themis_server_name_db_entry_put(names->db, entry, records_make(with, &directory));
    if (status == THEMIS_OK)
        *attr = directory;
    return status;
}

themis_status_t themis_server_namespace_serve(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                              unsigned opcode, const themis_proto_body_t *body,
                                              const themis_server_namespace_with_t *with, themis_proto_attr_t *attr)
{
    themis_status_t status = THEMIS_OPCODE;

    if (opcode == THEMIS_OP_LOOKUP && !(body->lookup.rights & THEMIS_PROTO_RIGHT_RENAME))
        return name_lookup(names, who, &body->lookup, attr);
    /* every body of these begins with a path: the name's, or that of the entry's directory */
    pthread_mutex_t *lock = path_lock(names, &body->lookup.path);
    switch (opcode) {
    case THEMIS_OP_LOOKUP: /* a name and what is to be done for it are seen together */
        status = name_lookup(names, who, &body->lookup, attr);
        break;
    case THEMIS_OP_CREATE:
        status = name_create(names, who, &body->create, with, attr);
        break;
    case THEMIS_OP_REMOVE:
        status = name_remove(names, who, &body->remove, with, attr);
        break;
    case THEMIS_OP_SETATTR:
        status = name_setattr(names, who, &body->setattr, with, attr);
        break;
    case THEMIS_OP_SETXATTR:
        status = name_set_xattr(names, who, &body->setxattr, with);
        break;
    case THEMIS_OP_ENTRY_ADD:
    case THEMIS_OP_ENTRY_REMOVE:
        status = entry_change(names, who, opcode, &body->entry, with, attr);
        break;
    }
    pthread_mutex_unlock(lock);
    return status;
}

themis_status_t themis_server_namespace_readdir(themis_server_namespace_t *names,
                                                const themis_sched_job_identity_t *who,
                                                const themis_proto_readdir_t *readdir, void *buffer, size_t capacity,
                                                themis_proto_entries_t *entries)
{
    themis_proto_attr_t attr;
    themis_status_t status = check_directory(names, who, &readdir->path, THEMIS_SERVER_ACCESS_READ, &attr);

    if (status == THEMIS_OK && readdir->after.length > THEMIS_PROTO_MAX_NAME)
        status = THEMIS_NAME_TOO_LONG;
    if (status == THEMIS_OK)
        status = themis_server_name_db_list(names->db, readdir, buffer, capacity, entries);
    return status;
}
