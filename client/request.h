/* SPDX-License-Identifier: BSD-3-Clause */
/* A user's request: the calls that a list was split into. Requests come from a list of the session, with their arrays.
 */
#pragma once
#include "client/call.h"
#include "util/memory.h"

typedef enum themis_client_phase {
    THEMIS_CLIENT_PHASE_DATA,  /* READ or WRITE calls are under way */
    THEMIS_CLIENT_PHASE_SIZES, /* a short read: SIZE calls are */
    THEMIS_CLIENT_PHASE_DONE
} themis_client_phase_t;

/* Where an object ends. While others write, calls may report different ends. */
typedef struct themis_client_object_end {
    int known;
    int exists; /* 1: a server has said that there is an object */
    uint64_t min, max;
} themis_client_object_end_t;

typedef struct themis_client_requests {
    themis_client_calls_t *calls;
    themis_request_t *free;
} themis_client_requests_t;

struct themis_request {
    themis_client_requests_t *requests;
    themis_request_t *next; /* of the free ones */
    themis_file_t *file;    /* borrowed, as are path and layout */
    const char *path;
    const themis_layout_t *layout;
    uint64_t object, epoch; /* epoch: of the lock that it is made under; 0: none */

    themis_proto_opcode_t opcode;
    themis_client_phase_t phase;
    int direct; /* 1: its bytes were moved without messages, before it was made */
    themis_status_t status;
    uint64_t bytes, moved;
    uint32_t remaining; /* calls that have not ended */
    uint32_t renewals;  /* how often the epoch or the capability was got again */
    uint64_t expires;   /* of the capability, before the calls were sent */
    themis_client_call_t **calls;
    size_t call_count, call_capacity;
    themis_client_call_t **open; /* by object index: the call that is being filled */
    size_t open_capacity;
    themis_run_t *runs; /* copies of the caller's lists, for reads */
    size_t run_count, run_capacity;
    struct iovec *memory;
    size_t memory_count, memory_capacity;
    themis_client_object_end_t *ends; /* by object index; of a short read */
    themis_util_memory_seen_t seen;   /* of the memory of small requests, also earlier ones */
};

/* A request without calls; NULL: out of memory. */
themis_request_t *themis_client_request_get(themis_client_requests_t *requests);
/* All calls have ended; puts them, too. */
void themis_client_request_put(themis_request_t *request);
void themis_client_requests_free(themis_client_requests_t *requests);

/* Copies the list, which a short read needs again. */
themis_status_t themis_client_request_keep_list(themis_request_t *request, const themis_list_t *list);

/* A further call to the server of object `index`; owned by the request. */
themis_status_t themis_client_request_add_call(themis_request_t *request, uint32_t index, themis_client_call_t **call);
void themis_client_request_put_calls(themis_request_t *request);
