/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of a file: which servers of its layout may have an object of it, and in which store. The file's first server
 * keeps it, with the names that it keeps, from before such an object is made until the file's own object is removed. So
 * who finds no object at a server knows whether there never was one, or it is lost with the store that it was in
 * (doc/architecture.md, "Data that are gone").
 *
 * Threads: all functions may be called from any thread; they may wait for the disk.
 */
#pragma once
#include <stdint.h>
#include "proto/proto.h"
#include "server/name_db.h"
#include "themis/status.h"

typedef struct themis_server_object_lists themis_server_object_lists_t;

/* `db` is borrowed; `servers`: how many there are. */
themis_status_t themis_server_object_lists_create(themis_server_name_db_t *db, uint32_t servers,
                                                  themis_server_object_lists_t **lists);
void themis_server_object_lists_destroy(themis_server_object_lists_t *lists); /* NULL is allowed */

/* Does what the request says; *lost as in the reply. THEMIS_INVALID: an index is that of the first server, or there is
 * no such server. */
themis_status_t themis_server_object_lists_add(themis_server_object_lists_t *lists,
                                               const themis_proto_enlist_t *request, uint32_t *lost);

/* *list: an array to be freed with free, NULL if *count is 0. */
themis_status_t themis_server_object_lists_get(themis_server_object_lists_t *lists, uint64_t object,
                                               themis_proto_listed_t **list, uint32_t *count);

/* The object is removed. */
themis_status_t themis_server_object_lists_forget(themis_server_object_lists_t *lists, uint64_t object);
