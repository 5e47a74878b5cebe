/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of a file, which its first server keeps (server/object_lists.h): the servers that may have an object of it.
 * A server refuses to make an object until the client shows that it is listed, with THEMIS_NOT_LISTED; the client then
 * enlists it, and repeats the request. Where a listed server has no object, and another store than the list says, what
 * it had is lost.
 */
#pragma once
#include "client/call.h"
#include "client/file.h"

/* Enlists the servers that have asked for it. THEMIS_LOST: one of them is listed with another store. */
themis_status_t themis_client_enlist(themis_file_t *file);

/* 1: a request that has failed with `status` is to be made again, since its servers were enlisted. *renewals: how often
 * it was. If that fails *status becomes the reason. */
int themis_client_enlist_retry(themis_file_t *file, unsigned *renewals, themis_status_t *status);

/* What SIZE has told of a file's objects, to be zeroed first. */
typedef struct themis_client_enlist_survey {
    uint64_t store;            /* of the first server when the file was made; 0: not known */
    themis_proto_size_t first; /* reply of the first server, whose list is borrowed */
    uint32_t lost;             /* objects */
    uint32_t lost_index;       /* of one of them */
} themis_client_enlist_survey_t;

/* Object `index`, beginning with 0, whose server has the store with this hash of its identity. Returns 1 if the object
 * is lost. */
int themis_client_enlist_survey_add(themis_client_enlist_survey_t *survey, uint32_t index, int exists, uint64_t store,
                                    const themis_proto_size_t *size);

/* THEMIS_LOST, with a text that names the server of object `index`. */
themis_status_t themis_client_enlist_fail(const themis_file_t *file, uint32_t index);

/* After the file was cut: what servers had before that have no bytes of it any more, and no object, is not missed. Of
 * these `absent` has the index and the present store; those that are listed with another one are taken off the list. */
themis_status_t themis_client_enlist_drop(themis_file_t *file, const themis_proto_listed_t *absent, uint32_t count);

/* Asks the first server of a file. THEMIS_LOST: it has another store than when the file was made. */
themis_status_t themis_client_enlist_check_first(themis_t *session, const char *path, const themis_proto_attr_t *attr);
