/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all servers have, as `themis check` compares it: arrays that are filled (check_lines.h), then sorted. Paths are
 * escaped (util/escape.h).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/themis.h"
#include "util/hash_ring.h"

/* An id has one more than the index of the server that has made it in its highest bits, from this one on, and below the
 * time, as microseconds since 2020. */
enum { THEMIS_TOOLS_CHECK_SERVER_SHIFT = 51 };

typedef struct themis_tools_check_server {
    uint64_t open, failing; /* intents */
    uint64_t moves;         /* before the names were read */
    uint64_t incarnation;   /* of its process */
    uint64_t clock;         /* ns since 1970 */
    uint64_t first_id;      /* of its database of names; 0: not known */
} themis_tools_check_server_t;

typedef struct themis_tools_check_name {
    char *path; /* owned */
    uint32_t server;
    int is_misplaced; /* 1: that server is not its home, so that nobody sees it */
    int type;
    uint64_t id, generation;
    themis_layout_t layout;
} themis_tools_check_name_t;

typedef struct themis_tools_check_entry {
    char *path; /* of the name, owned */
    uint32_t server;
    int is_misplaced; /* 1: that server is not the home of its directory */
    int type;
} themis_tools_check_entry_t;

typedef struct themis_tools_check_object {
    uint64_t id, end, modified;
    uint32_t server;
} themis_tools_check_object_t;

typedef struct themis_tools_check_scan {
    uint32_t servers;
    themis_util_hash_ring_t *ring;           /* owned */
    themis_tools_check_server_t *server;     /* [servers] */
    themis_tools_check_name_t *names;        /* by id, files first, misplaced ones first, then by generation without the
                                                server */
    themis_tools_check_entry_t *entries;     /* by path, misplaced ones last */
    themis_tools_check_object_t *objects;    /* by id, then by server */
    uint64_t *moved;                         /* objects that have got a name again, or may get one; in order */
    const themis_tools_check_name_t **paths; /* the names, by path */
    size_t name_count, entry_count, object_count, moved_count;
    size_t name_capacity, entry_capacity, object_capacity, moved_capacity;
    int restarted;     /* 1: a server was started again meanwhile, so that this is of different times */
    int moves_unknown; /* 1: more objects have got a name again than a server knows */
} themis_tools_check_scan_t;

/* An empty one, to be freed also if it fails. */
themis_status_t themis_tools_check_scan_init(themis_tools_check_scan_t *scan, uint32_t servers);
void themis_tools_check_scan_free(themis_tools_check_scan_t *scan);
/* Sorts all; comes before the following. */
themis_status_t themis_tools_check_scan_sort(themis_tools_check_scan_t *scan);
/* Sorts `moved` again. */
void themis_tools_check_scan_sort_moved(themis_tools_check_scan_t *scan);

/* The home of a path, or that of the directory of which the first `length` bytes are the path. */
uint32_t themis_tools_check_scan_home(const themis_tools_check_scan_t *scan, const char *path, size_t length);
/* Bytes of a path that are its directory's. */
size_t themis_tools_check_scan_directory(const char *path);

/* A name of the path, the entry at its home; NULL: none. */
const themis_tools_check_name_t *themis_tools_check_scan_name(const themis_tools_check_scan_t *scan, const char *path);
const themis_tools_check_entry_t *themis_tools_check_scan_entry(const themis_tools_check_scan_t *scan,
                                                                const char *path);
/* The names of files with that object: the first one, and how many. */
const themis_tools_check_name_t *themis_tools_check_scan_names_of(const themis_tools_check_scan_t *scan, uint64_t id,
                                                                  size_t *count);
int themis_tools_check_scan_has_moved(const themis_tools_check_scan_t *scan, uint64_t id);
