/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct access: where a server is on this host and of this user, reads and writes copy from and to its memory, without
 * a message. The server grants this for an object (MAP), tells where its bytes are, and may take it back at any time;
 * what it does not grant goes by messages. An access is wholly direct or wholly by messages.
 *
 *     direct.c           the objects of a session; an access from beginning to end
 *     direct_map.c       one object: its grant, and what is known of it
 *     direct_view.c      what is known under one grant
 *     direct_segments.c  memory of servers that is mapped
 *     direct_copy.c      the walk of a list, and the copies
 *
 * The copy is safe whatever the server does meanwhile: util/direct.h.
 */
#pragma once
#include "client/direct_segments.h"
#include "themis/themis.h"

struct themis_client_direct_object;

/* Of a session. */
typedef struct themis_client_direct {
    themis_client_direct_segments_t segments;
    pthread_mutex_t lock;                        /* of what follows */
    struct themis_client_direct_object *objects; /* by id and server: those of open files, and some that were closed */
    uint32_t idle;                               /* number of the latter */
    const int *here;                             /* 1; 0 in a child after a fork, which has no mappings. NULL: off */
} themis_client_direct_t;

/* Of a file handle. */
typedef struct themis_client_direct_file {
    _Atomic int mode;                                       /* as in themis_options_t */
    _Atomic(struct themis_client_direct_object *) *objects; /* by index; owned array; NULL: off */
    _Atomic uint64_t direct, messages;                      /* bytes moved */
} themis_client_direct_file_t;

void themis_client_direct_init(themis_client_direct_t *direct, themis_client_calls_t *calls);
/* Before the connections are closed; all files are closed. */
void themis_client_direct_free(themis_client_direct_t *direct);

/* For a new handle, whose session and layout are set; without memory it is off. */
void themis_client_direct_file_init(themis_file_t *file);
void themis_client_direct_file_free(themis_file_t *file);

/* Moves the whole list, which was checked (io.h) and has so many bytes. 0: nothing was moved, or not all; the list is
 * to be moved by messages. Sets no error. */
int themis_client_direct_move(themis_file_t *file, const themis_list_t *list, int writing, uint64_t bytes);
