/* SPDX-License-Identifier: BSD-3-Clause */
/* List I/O: one rank sends its own list to the servers, without aggregators. */
#pragma once
#include "collective/access.h"
#include "collective/file_ops.h"

typedef struct themis_collective_list_io {
    const themis_collective_file_ops_t *ops; /* borrowed */
    themis_collective_access_t access;
    void *request; /* of `ops`; NULL when none is under way */
    char *packed;  /* memory that is in many small pieces, as one; owned */
} themis_collective_list_io_t;

/* An access without bytes starts nothing. */
themis_status_t themis_collective_list_io_start(const themis_collective_file_ops_t *ops,
                                                const themis_collective_access_t *access,
                                                themis_collective_list_io_t *io);
/* THEMIS_IN_PROGRESS, or the result; with THEMIS_OK *done is the number of bytes moved. wait blocks. */
themis_status_t themis_collective_list_io_test(themis_collective_list_io_t *io, uint64_t *done);
themis_status_t themis_collective_list_io_wait(themis_collective_list_io_t *io, uint64_t *done);
