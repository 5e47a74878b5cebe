/* SPDX-License-Identifier: BSD-3-Clause */
/* What all servers have, as `themis check` compares it. Paths are as servers write them (server/check.h). */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/themis.h"

/* An id has one more than the index of the server that has made it in its highest bits, from this one on. */
enum { THEMIS_TOOLS_CHECK_SERVER_SHIFT = 51 };

typedef struct themis_tools_check_name {
    char *path; /* owned */
    uint32_t server;
    int type;
    uint64_t id, generation;
    themis_layout_t layout;
} themis_tools_check_name_t;

typedef struct themis_tools_check_entry {
    char *path; /* of the name, owned */
    uint32_t server;
} themis_tools_check_entry_t;

typedef struct themis_tools_check_object {
    uint64_t id, end, modified;
    uint32_t server;
} themis_tools_check_object_t;

typedef struct themis_tools_check_scan {
    uint32_t servers;
    themis_tools_check_name_t *names;        /* by id, files first, then by generation without the server */
    themis_tools_check_entry_t *entries;     /* by path */
    themis_tools_check_object_t *objects;    /* by id, then by server */
    const themis_tools_check_name_t **paths; /* the names, by path */
    size_t name_count, entry_count, object_count;
    size_t name_capacity, entry_capacity, object_capacity;
    uint64_t open, failing; /* intents */
} themis_tools_check_scan_t;

/* Reads all; objects first, so that each of them has its name among those that are read then, unless it has gone.
 * Prints why it fails. To be freed in any case. */
int themis_tools_check_scan(themis_t *session, themis_tools_check_scan_t *scan);
void themis_tools_check_scan_free(themis_tools_check_scan_t *scan);

/* The name or entry of a path, the first one of a file's object; NULL: none. */
const themis_tools_check_name_t *themis_tools_check_name_at(const themis_tools_check_scan_t *scan, const char *path);
const themis_tools_check_entry_t *themis_tools_check_entry_at(const themis_tools_check_scan_t *scan, const char *path);
const themis_tools_check_name_t *themis_tools_check_name_of(const themis_tools_check_scan_t *scan, uint64_t id);
