/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names whose home is this server: attributes of paths, and the entries of directories, in RocksDB.
 *
 * Every operation is atomic on this server: a directory is removed only while it has no entries, and gets none after.
 * "/" is always there. Paths are checked to be normalised. Results that have texts borrow nothing.
 *
 * Threads: all functions may be called from any thread; they may wait for the disk, so never from the one that polls
 * the network. With a state directory every change is in the database's log when the function returns: it survives the
 * end of the process, and a power failure once themis_server_namespace_sync was called.
 */
#ifndef THEMIS_SERVER_NAMESPACE_H
#define THEMIS_SERVER_NAMESPACE_H
#include <stddef.h>
#include <stdint.h>
#include "proto/proto.h"
#include "sched/job_table.h"
#include "themis/status.h"

typedef struct themis_server_namespace themis_server_namespace_t;

typedef struct themis_server_namespace_options {
    const char *directory;        /* made if it is not there; NULL or "": in memory, gone with the process */
    int fresh;                    /* 1: of an arena: what the directory holds is removed, as the bytes are gone */
    uint32_t index;               /* of this server: part of the ids of objects */
    uint32_t servers;             /* number of servers, which bounds layouts */
    themis_proto_layout_t layout; /* default for new files; count 0: all */
} themis_server_namespace_options_t;

/* THEMIS_CONFIG: the directory cannot be opened, or holds something else or another server's names, and is left as it
 * is. THEMIS_BUSY: a server uses it. */
themis_status_t themis_server_namespace_create(const themis_server_namespace_options_t *options,
                                               themis_server_namespace_t **names);
void themis_server_namespace_destroy(themis_server_namespace_t *names); /* NULL is allowed */

/* The default layout, for the welcome; changed by a reload of the configuration. */
void themis_server_namespace_set_layout(themis_server_namespace_t *names, const themis_proto_layout_t *layout);

themis_status_t themis_server_namespace_lookup(themis_server_namespace_t *names, const themis_proto_text_t *path,
                                               themis_proto_attr_t *attr);
themis_status_t themis_server_namespace_make(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                             const themis_proto_create_t *create, themis_proto_attr_t *attr);
themis_status_t themis_server_namespace_remove(themis_server_namespace_t *names, const themis_sched_job_identity_t *who,
                                               const themis_proto_remove_t *remove, themis_proto_attr_t *attr);
themis_status_t themis_server_namespace_setattr(themis_server_namespace_t *names,
                                                const themis_sched_job_identity_t *who,
                                                const themis_proto_setattr_t *setattr, themis_proto_attr_t *attr);
themis_status_t themis_server_namespace_entry_add(themis_server_namespace_t *names,
                                                  const themis_sched_job_identity_t *who,
                                                  const themis_proto_entry_t *entry);
themis_status_t themis_server_namespace_entry_remove(themis_server_namespace_t *names,
                                                     const themis_sched_job_identity_t *who,
                                                     const themis_proto_entry_t *entry);
/* Entries into `buffer`, which *entries borrows. */
themis_status_t themis_server_namespace_readdir(themis_server_namespace_t *names,
                                                const themis_sched_job_identity_t *who,
                                                const themis_proto_readdir_t *readdir, void *buffer, size_t capacity,
                                                themis_proto_entries_t *entries);

/* What was changed survives a power failure when it returns. */
themis_status_t themis_server_namespace_sync(themis_server_namespace_t *names);
#endif
