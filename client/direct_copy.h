/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk of a list over views: what it touches of each object, whether all of that is known, and the copy. */
#pragma once
#include "client/direct_map.h"
#include "themis/themis.h"

/* Objects of a file; those of a file with more are not accessed directly. */
enum { THEMIS_CLIENT_DIRECT_MAX_OBJECTS = 64 };

/* What an access does with one object. */
typedef struct themis_client_direct_part {
    themis_client_direct_object_t *object;
    const themis_client_direct_view_t *view;   /* while it is entered */
    const themis_client_direct_extent_t *near; /* found last */
    uint64_t first, end;                       /* around all that is touched */
    uint64_t bytes;                            /* touched; 0: the object does not take part */
    int asked;                                 /* the server was asked for them; 2: with all pages valid */
    int is_past_end;                           /* 1: a read goes beyond the end of the object */
    int is_incomplete;                         /* 1: it is not known because of a page that is not valid */
    uint64_t invalid, filled;                  /* whole pages of a write: not valid before the copy; made valid by it */
} themis_client_direct_part_t;

/* Only the first layout->count parts are set. */
typedef struct themis_client_direct_access {
    const themis_layout_t *layout;
    const themis_list_t *list; /* checked (io.h) */
    int writing;
    themis_client_direct_part_t parts[THEMIS_CLIENT_DIRECT_MAX_OBJECTS];
} themis_client_direct_access_t;

/* Sets first, end and bytes of all parts, and the rest to 0. */
void themis_client_direct_copy_measure(themis_client_direct_access_t *access);

/* 1: the part's view has all bytes that the list touches of its object. */
int themis_client_direct_copy_is_known(themis_client_direct_access_t *access, themis_client_direct_part_t *part);

/* Moves the bytes of the list, and makes the pages valid that it fills; all is known, and all parts that take part are
 * entered. 0: a grant was taken back meanwhile, or a page did not become valid; only a part was moved. */
int themis_client_direct_copy_move(themis_client_direct_access_t *access);
