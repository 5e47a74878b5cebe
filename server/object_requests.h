/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests about whole objects: TRUNCATE, ALLOCATE, SYNC, SIZE, DESTROY, TOUCH and ENLIST. Without the lock. */
#pragma once
#include "server/request.h"

/* Serves a request, and replies. */
void themis_server_object_requests_serve(themis_server_request_t *request);
/* Opens an object to change it. If it does not exist it is made in memory of `owner` (themis_server_access_memory);
 * THEMIS_NOT_LISTED: not so if the file's first server does not know of it (`is_listed` 0). THEMIS_STALE: it was
 * removed. */
themis_status_t themis_server_object_requests_open(themis_server_t *server, uint64_t id, int is_listed, uint32_t owner,
                                                   themis_store_object_t **object);
/* Opens the object of a request, to change it (`change`) or only if it exists, else THEMIS_NO_ENTRY. THEMIS_NOT_LISTED,
 * THEMIS_STALE: as above. THEMIS_LOST: it does not exist, was not removed, and the client knows that it did exist. */
themis_status_t themis_server_object_requests_find(themis_server_request_t *request, uint64_t id, int change,
                                                   themis_store_object_t **object);
/* Frees an object; success also if there is none. */
themis_status_t themis_server_object_requests_remove(themis_server_t *server, uint64_t id);
