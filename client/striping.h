/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the bytes of a file are. Its objects, one on each of its servers, have the indices 0 to layout.count - 1;
 * stripe k is in object k mod count, as stripe k / count of it. So an object is dense, and a run within one stripe is a
 * run of the object, too.
 *
 * Pure computation. All offsets are in bytes and below 2^63.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/themis.h"

/* The server of an object. */
static inline uint32_t themis_client_striping_server(const themis_layout_t *layout, uint32_t index, uint32_t servers)
{
    return (uint32_t)(((uint64_t)layout->first + index) % servers);
}

/*
 * Called with a run of one object. Its bytes are those at `position` of the list, one piece after the other. A status
 * other than THEMIS_OK ends the walk, which returns it.
 */
typedef themis_status_t (*themis_client_striping_fn)(void *arg, uint32_t index, const themis_run_t *run,
                                                     uint64_t position);

/* Splits `run` of the file, whose first byte is at `position` of its list, at stripe boundaries, in order. */
themis_status_t themis_client_striping_run(const themis_layout_t *layout, const themis_run_t *run, uint64_t position,
                                           themis_client_striping_fn place, void *arg);

/* The end in the file of an object that ends at `end`: one past the file offset of its last byte; 0 if it is empty. */
uint64_t themis_client_striping_file_end(const themis_layout_t *layout, uint32_t index, uint64_t end);

/* Where an object ends when the file ends at `size`. */
uint64_t themis_client_striping_object_end(const themis_layout_t *layout, uint32_t index, uint64_t size);

/* Bytes of the list before its first byte that is at `size` or further in the file. */
uint64_t themis_client_striping_bytes_before(const themis_run_t *runs, size_t count, uint64_t size);

/* Sum of the lengths of all pieces. THEMIS_RANGE: it, or the end of a piece, is 2^63 or more. */
themis_status_t themis_client_striping_bytes(const themis_run_t *runs, size_t count, uint64_t *bytes);
