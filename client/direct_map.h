/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An object that is accessed directly: the view of it, and when the server is asked for more.
 *
 * Threads that copy hold the object by `users`, and their server by `copies` of the slot. A view that was replaced is
 * kept until no thread that may have seen it is left.
 */
#pragma once
#define HASH_NONFATAL_OOM 1 /* an element without memory has no table then */
#include <uthash.h>
#include "client/direct_view.h"

typedef struct themis_client_direct_object {
    struct {
        uint64_t id;
        uint64_t server; /* index */
    } key;

    /* for each access */
    _Atomic(themis_client_direct_view_t *) view; /* owned; NULL: no grant */
    _Atomic uint32_t users;                      /* threads that may use a view */
    _Atomic uint32_t near;                       /* extent that was used last */

    /* whether to ask */
    _Atomic uint32_t skip;                           /* so many accesses that find too little known do not ask */
    _Atomic uint32_t misses;                         /* times that asking has not helped, since it last did */
    pthread_mutex_t lock;                            /* of those who ask, and of what follows */
    uint64_t retry_at;                               /* ns; not before */
    uint64_t refused;                                /* the connection of which this was said */
    _Atomic(themis_client_direct_view_t *) replaced; /* owned */

    /* of the session's table; with its lock */
    UT_hash_handle hh;
    uint32_t handles; /* open files that have it */
} themis_client_direct_object_t;

themis_client_direct_object_t *themis_client_direct_map_create(uint64_t id, uint32_t server);
/* Tells the server that the grant, if there is one, is no longer needed; does not wait. */
void themis_client_direct_map_give_back(themis_client_direct_segments_t *segments,
                                        const themis_client_direct_object_t *object);
/* No thread uses it. */
void themis_client_direct_map_destroy(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object);

/* The object's view if its grant stands; it is used until leave. NULL: no direct access now. */
static inline themis_client_direct_view_t *themis_client_direct_map_enter(themis_client_direct_object_t *object)
{
    atomic_fetch_add(&object->users, 1);
    themis_client_direct_view_t *view = atomic_load(&object->view);

    /* looked at before, too: the slot of a grant that has gone may be another's by now */
    if (view && themis_client_direct_view_is_valid(view)) {
        atomic_fetch_add(&view->slot->copies, 1);
        if (themis_client_direct_view_is_valid(view))
            return view;
        atomic_fetch_sub_explicit(&view->slot->copies, 1, memory_order_release);
    }
    atomic_fetch_sub(&object->users, 1);
    return NULL;
}

void themis_client_direct_map_leave(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object,
                                    themis_client_direct_view_t *view);

/* Bytes [first, end) of an object. `allocate`: a write needs memory for them; `complete`: with valid pages only. */
typedef struct themis_client_direct_want {
    uint64_t first, end;
    int allocate, complete;
    int listed;                           /* THEMIS_PROTO_FLAG_LISTED */
    themis_client_binding_t *binding;     /* of the handle, borrowed: MAP may make an object, in the right store only */
    themis_proto_capability_t capability; /* of the file */
} themis_client_direct_want_t;

/*
 * Asks the server for what is wanted. No copy by this thread may be under way.
 * Returns 1 if there is now more reason to try than before. *lost is 1 if what was known came by a connection that was
 * lost meanwhile. Never fails: what is not granted goes by messages.
 */
int themis_client_direct_map_ask(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object,
                                 const themis_client_direct_want_t *want, int *lost);

/* Drops the view if its connection was lost, so that the memory of a server that has ended is not kept. */
void themis_client_direct_map_forget_lost(themis_client_direct_segments_t *segments,
                                          themis_client_direct_object_t *object);

/* To be told after asking whether it has helped; where it does not, few accesses ask. */
void themis_client_direct_map_helped(themis_client_direct_object_t *object, int helped);
