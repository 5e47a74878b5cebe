/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write-behind of a cache: two buffers, of which one is filled while the other one is being written. At most one is
 * being written, so later writes never overtake earlier ones; and within a buffer no byte is written twice, since a
 * list has no order. The failure of a write is kept as a deferred error until it is reported.
 */
#pragma once
#include "client/extent.h"
#include "util/runs.h"
#include "themis/themis.h"

typedef struct themis_client_write_buffer {
    char *bytes; /* owned; NULL until the first use */
    size_t used;
    themis_util_runs_t runs;
    themis_client_extent_t extent;
} themis_client_write_buffer_t;

typedef struct themis_client_write_behind {
    themis_file_t *file;
    size_t capacity; /* bytes of one buffer */
    themis_client_write_buffer_t buffers[2];
    int filling;               /* index of the buffer that takes writes */
    themis_request_t *request; /* of the other one; NULL: none */
    themis_status_t deferred;  /* THEMIS_OK: no error is to be reported */
    char cause[512];
} themis_client_write_behind_t;

void themis_client_write_behind_init(themis_client_write_behind_t *wb, themis_file_t *file, size_t capacity);
void themis_client_write_behind_free(themis_client_write_behind_t *wb); /* after a flush */

/* 1 if a list of so many bytes may be added. */
int themis_client_write_behind_accepts(const themis_client_write_behind_t *wb, uint64_t bytes);

/* Copies a list, which was checked, into the buffer. */
themis_status_t themis_client_write_behind_add(themis_client_write_behind_t *wb, const themis_list_t *list,
                                               const themis_client_extent_t *extent);

/* Writes what there is and waits; then as report. */
themis_status_t themis_client_write_behind_flush(themis_client_write_behind_t *wb);
/* The deferred error, once. */
themis_status_t themis_client_write_behind_report(themis_client_write_behind_t *wb);

int themis_client_write_behind_is_dirty(const themis_client_write_behind_t *wb);
/* 1 if bytes of the extent may not be at the servers yet. */
int themis_client_write_behind_overlaps(const themis_client_write_behind_t *wb, const themis_client_extent_t *extent);
