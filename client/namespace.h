/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations on names: the attributes of a path are kept by its home server, its entry by the home server of its
 * directory.
 *
 * The entry is created before the name and removed after it, so a client that ends in between leaves an entry without a
 * name, never a name that no listing shows. Such entries are tolerated, and removed by servers or with their directory.
 * The home of a directory also decides who may change the names in it, so that it is asked before the name is changed.
 *
 * All paths are normalised. `attr` is written on success and may be NULL.
 */
#pragma once
#include "client/path.h"
#include "client/session.h"
#include "proto/proto.h"

/* `rights` (THEMIS_PROTO_RIGHT_*): to a file, that the caller needs; THEMIS_ACCESS if one is not given. 0: those that
 * there are. */
themis_status_t themis_client_namespace_lookup(themis_t *session, const char *path, uint32_t rights,
                                               themis_proto_attr_t *attr);

/* `wanted` has type, mode and layout. THEMIS_EXISTS only with THEMIS_PROTO_CREATE_EXCLUSIVE in `flags`. */
themis_status_t themis_client_namespace_create(themis_t *session, const char *path, uint32_t flags,
                                               const themis_proto_attr_t *wanted, themis_proto_attr_t *attr);

/* The same, of a name that has more than attributes; `extra` may be NULL. What `wanted` leaves open of the layout is
 * that of the directory, and the group where that has S_ISGID, which a new directory gets as well. */
themis_status_t themis_client_namespace_create_extra(themis_t *session, const char *path, uint32_t flags,
                                                     const themis_proto_attr_t *wanted,
                                                     const themis_proto_extra_t *extra, themis_proto_attr_t *attr);

/* Gives a file new and empty bytes of that layout instead of those of `object`, which its owner may. Who has it open
 * has the old ones, which are freed. THEMIS_STALE: it has others. */
themis_status_t themis_client_namespace_renew(themis_t *session, const char *path, uint64_t object,
                                              const themis_proto_layout_t *layout);

/* Gives the object of `from`, of which a server has given *attr with the right to rename, the name `to`. *old: what had
 * that name, but for the generation, which is the new name's; by that the rename is known. If the client does no more,
 * the servers complete it. */
themis_status_t themis_client_namespace_adopt(themis_t *session, const char *from, const char *to,
                                              const themis_proto_attr_t *attr, const themis_proto_extra_t *extra,
                                              themis_proto_attr_t *old);
/* Then removes the old name, whose directory has allowed it before, and its entry. THEMIS_NO_ENTRY: it has ended in
 * another way meanwhile. */
themis_status_t themis_client_namespace_remove_renamed(themis_t *session, const char *from, const char *to,
                                                       const themis_proto_attr_t *attr, uint64_t rename);
/* Has the server complete or take back that rename to `to`, and waits some seconds for it. THEMIS_OK: it is complete,
 * THEMIS_NO_ENTRY: `to` is not the name that it has made, THEMIS_BUSY: the server does not know yet. */
themis_status_t themis_client_namespace_rename_end(themis_t *session, const char *to, uint64_t rename);

/* The server that keeps a name. */
uint32_t themis_client_namespace_home(const themis_t *session, const char *path);

/* A call to it whose reply has attributes. While the server settles a rename of that name it is asked again, for some
 * seconds: THEMIS_BUSY then. */
themis_status_t themis_client_namespace_ask(themis_t *session, const char *path, themis_proto_opcode_t opcode,
                                            const void *request, themis_proto_attr_t *attr);

/* May the caller change the entry of `path`, a name of that type that exists? Nothing changes then; what the
 * directory's home says if not. The entry of a name that does not exist is added. */
themis_status_t themis_client_namespace_check_change(themis_t *session, const char *path, themis_proto_type_t type);

/* Removes a name and its entry, not the bytes. Fails as REMOVE does if it is of another type. `attr` is also written
 * when the name was removed and only its entry remains. Where the entry's server cannot be reached, the name's home
 * has it removed later. */
themis_status_t themis_client_namespace_remove(themis_t *session, const char *path, themis_proto_type_t type,
                                               themis_proto_attr_t *attr);

/* Makes the name of the file and those of the directories above it durable: SYNC to their home servers, except those
 * of its bytes, which have had one. */
themis_status_t themis_client_namespace_sync(themis_file_t *file);

/* Makes a name and those of the directories above it durable, not the bytes of a file. */
themis_status_t themis_client_namespace_sync_path(themis_t *session, const char *path);

/* Sets the time of the last modification, in ns since 1970. Who owns the name may. Later writes set it again. */
themis_status_t themis_client_namespace_set_modified(themis_t *session, const char *path, uint64_t modified);

/* Frees the bytes of a file, whose name has been removed, on all its servers; where one cannot be reached, the name's
 * home has it done later. */
themis_status_t themis_client_namespace_destroy(themis_t *session, const char *path, const themis_proto_attr_t *attr);

/* What is of a name itself, as fresh as the servers have it, without following links. */
themis_status_t themis_client_namespace_look(themis_t *session, const char *path, themis_stat_t *stat);

/* Of a name itself. UINT32_MAX leaves the owner or the group. */
themis_status_t themis_client_namespace_set_mode(themis_t *session, const char *path, uint32_t mode);
themis_status_t themis_client_namespace_set_owner(themis_t *session, const char *path, uint32_t uid, uint32_t gid);

/* `file`: the handle, or NULL. With a handle THEMIS_LOST if bytes are, else stat->lost tells. */
themis_status_t themis_client_namespace_stat(themis_t *session, const char *path, const themis_proto_attr_t *attr,
                                             themis_file_t *file, themis_stat_t *stat);
