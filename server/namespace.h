/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names whose home is this server: attributes of paths, and the entries of directories, in RocksDB.
 *
 * Every operation is atomic on this server: a directory is removed only while it has no entries, and gets none after.
 * "/" always exists. A path that is not normalised is THEMIS_BAD_NAME. Rights are checked for `who` (access.h), those
 * of directories above a name as far as their home is this server; attributes have the id only for those who may access
 * the bytes, else 0, and in `capability.rights` the rights to these that are to be signed. A name that a rename has
 * made can be neither removed nor replaced while the rename may yet be taken back: THEMIS_BUSY, and the rename is
 * settled as soon as possible. The requests are described in doc/wire.md.
 *
 * Threads: all functions may be called from any thread, but not by the one that polls the network, as they may wait for
 * the disk. With a state directory every change is in the database's log when the function returns: it survives the end
 * of the process, and a power failure once themis_server_namespace_sync was called.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "proto/proto.h"
#include "sched/job_table.h"
#include "server/intents.h"
#include "server/name_db.h"
#include "store/identity.h"
#include "themis/status.h"

typedef struct themis_server_namespace themis_server_namespace_t;

typedef struct themis_server_namespace_options {
    const char *directory; /* created if it does not exist; NULL or "": in memory */
    int fresh;             /* 1: of an arena: names in the directory are removed, as their bytes are gone */
    uint32_t index;        /* of this server: part of the ids of objects */
    const themis_store_identity_t *identity; /* of the store of the objects; NULL: any */
    uint32_t servers;                        /* number of servers, which bounds layouts */
    themis_proto_layout_t layout;            /* default for new files; count 0: all */
} themis_server_namespace_options_t;

/* THEMIS_CONFIG: the directory cannot be opened, or holds something else or another server's names, and is left as it
 * is. THEMIS_BUSY: a server uses it. */
themis_status_t themis_server_namespace_create(const themis_server_namespace_options_t *options,
                                               themis_server_namespace_t **names);
void themis_server_namespace_destroy(themis_server_namespace_t *names); /* NULL is allowed */

/* Changes the default layout (reload of the configuration). */
void themis_server_namespace_set_layout(themis_server_namespace_t *names, const themis_proto_layout_t *layout);

/* What is written together with the change of a request. `make` is called before the change, with what *attr of the
 * call below gets, or NULL; the records that it returns live as long as the request. */
typedef struct themis_server_namespace_with {
    const themis_server_name_db_record_t *(*make)(void *arg, const themis_proto_attr_t *attr);
    void *arg;
} themis_server_namespace_with_t;

/* Serves LOOKUP, CREATE, REMOVE, SETATTR, SETXATTR, ENTRY_ADD or ENTRY_REMOVE for `who`: `body` is the request's, and
 * *attr gets the attributes that are its reply; those of the directory for ENTRY_ADD, and none for ENTRY_REMOVE and
 * SETXATTR. `with` (NULL: nothing) is asked where something changes. */
themis_status_t themis_server_namespace_serve(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                              unsigned opcode, const themis_proto_body_t *body,
                                              const themis_server_namespace_with_t *with, themis_proto_attr_t *attr);
/* EXTRA: *extra borrows *memory, which is to be freed. */
themis_status_t themis_server_namespace_extra(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                              const themis_proto_lookup_t *lookup, themis_proto_extra_t *extra,
                                              void **memory);
/* The database, for other records, if it outlives the process, else NULL. */
themis_server_name_db_t *themis_server_namespace_db(themis_server_namespace_t *names);
/* The same database, also if it does not. */
themis_server_name_db_t *themis_server_namespace_any_db(themis_server_namespace_t *names);
/* READDIR: entries into `buffer` (`capacity` bytes), which *entries borrows. */
themis_status_t themis_server_namespace_readdir(themis_server_namespace_t *names,
                                                const themis_sched_job_identity_t *who,
                                                const themis_proto_readdir_t *readdir, void *buffer, size_t capacity,
                                                themis_proto_entries_t *entries);

/* --- changes of several steps (intents.h) ------------------------------------------------------------------------- */

/* What they have left to do; borrowed. */
themis_server_intents_t *themis_server_namespace_intents(themis_server_namespace_t *names);
/* THEMIS_OK: `path` is the name that the rename has made, for good. THEMIS_NO_ENTRY: it is not. THEMIS_BUSY: it may yet
 * be taken back, and is settled as soon as possible now. */
themis_status_t themis_server_namespace_rename_end(themis_server_namespace_t *names,
                                                   const themis_sched_job_identity_t *who,
                                                   const themis_proto_rename_end_t *end);
/* THEMIS_NO_ENTRY: there is no such name here, without a look at rights. */
themis_status_t themis_server_namespace_find(themis_server_namespace_t *names, const themis_proto_text_t *path);
/* Removes the entry of a name that did not exist at its home at the time `seen` (ns since 1970), unless it was added
 * not long before, or since: THEMIS_BUSY. */
themis_status_t themis_server_namespace_settle_entry(themis_server_namespace_t *names, const themis_proto_text_t *path,
                                                     uint64_t seen);
/* REMOVE of a renamed name, for who has renamed it. If it is refused for good, the name gets another generation, so
 * that the client cannot remove it any more either. */
themis_status_t themis_server_namespace_settle_name(themis_server_namespace_t *names,
                                                    const themis_sched_job_identity_t *who,
                                                    const themis_proto_remove_t *remove);
/* Makes the new name of a RENAME what it was. The intent's record is removed in the same step, the entry is left to the
 * caller. THEMIS_STALE: the name is no longer the one that the rename has made, and stays as it is. */
themis_status_t themis_server_namespace_take_back(themis_server_namespace_t *names,
                                                  const themis_server_intent_entry_t *entry);

/* Changes so far survive a power failure when this returns. */
themis_status_t themis_server_namespace_sync(themis_server_namespace_t *names);
