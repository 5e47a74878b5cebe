/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write-behind of a cache: two buffers, of which one is filled while the other one is on its way. At most one is on its
 * way, so later writes never overtake earlier ones; and within a buffer no byte is written twice, since a list has no
 * order. Errors of the background are kept until they are reported.
 */
#ifndef THEMIS_CLIENT_BEHIND_H
#define THEMIS_CLIENT_BEHIND_H
#include "util/runs.h"
#include "client/span.h"
#include "themis/themis.h"

typedef struct themis_client_behind_buffer {
    char *bytes; /* owned; NULL until the first use */
    size_t used;
    themis_util_runs_t runs;
    themis_client_span_t span;
} themis_client_behind_buffer_t;

typedef struct themis_client_behind {
    themis_file_t *file;
    size_t capacity; /* bytes of one buffer */
    themis_client_behind_buffer_t buffers[2];
    int filling;               /* index of the buffer that takes writes */
    themis_request_t *request; /* of the other one; NULL: none */
    themis_status_t failed;    /* not reported yet */
    char cause[512];
} themis_client_behind_t;

void themis_client_behind_init(themis_client_behind_t *behind, themis_file_t *file, size_t capacity);
void themis_client_behind_free(themis_client_behind_t *behind); /* after a flush */

/* 1 if a list of so many bytes is for it. */
int themis_client_behind_takes(const themis_client_behind_t *behind, uint64_t bytes);

/* Copies a list, whose sums were checked, into the buffer. */
themis_status_t themis_client_behind_add(themis_client_behind_t *behind, const themis_list_t *list,
                                         const themis_client_span_t *span);

/* Sends what there is and waits. The first failure that was not reported yet, which is reported by this. */
themis_status_t themis_client_behind_flush(themis_client_behind_t *behind);
/* That failure alone. */
themis_status_t themis_client_behind_report(themis_client_behind_t *behind);

int themis_client_behind_is_dirty(const themis_client_behind_t *behind);
/* 1 if bytes of the span may not be at the servers yet. */
int themis_client_behind_touches(const themis_client_behind_t *behind, const themis_client_span_t *span);
#endif
