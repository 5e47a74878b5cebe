/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The space of a durable arena: each segment is a file in the arena's directory, segment.<serial>, and the log has what
 * segments there are. Units get blocks of the file system before they are used.
 *
 * Only processes of the server's own user are given descriptors of these files: they can be made shorter by whoever
 * may write to them, which ends all that have them mapped.
 *
 * What is freed is used again when the log says durably that it is free. Where the directory is in memory that is at
 * once.
 */
#pragma once
#include "store/entry.h"
#include "store/space.h"

/* Syncs the segments that were written to; a themis_store_log_sync_t, whose argument is the space. */
themis_status_t themis_store_space_durable_sync(void *space);
/* A block of memory was written to, other than by processes that have mapped it. */
void themis_store_space_durable_note(themis_store_space_t *space, const void *address);
/* Frees what has become durably free. */
void themis_store_space_durable_release(themis_store_space_t *space);

/* Entries of all segments, for a checkpoint. */
themis_status_t themis_store_space_durable_entries(themis_store_space_t *space, themis_store_entries_t *entries);

/* Recovery, before anything else, in this order. What an entry says of a segment; THEMIS_CORRUPT: there is no such. */
themis_status_t themis_store_space_recover_segment(themis_store_space_t *space, uint64_t index,
                                                   const themis_store_entry_segment_t *entry);
/* Maps the segments. */
themis_status_t themis_store_space_recover_files(themis_store_space_t *space);
/* Until the next start nothing is used again that processes of an earlier run may have mapped. */
void themis_store_space_recover_hold(themis_store_space_t *space);
int themis_store_space_recover_is_held(const themis_store_space_t *space, uint32_t unit);
/* 1: a block of this place and order can be in use. */
int themis_store_space_recover_is_block(const themis_store_space_t *space, uint64_t unit, unsigned order);
/* The block is in use. THEMIS_CORRUPT: there is no such block, or a part of it is in use already. */
themis_status_t themis_store_space_recover_block(themis_store_space_t *space, uint64_t unit, unsigned order);
/* The rest is free. */
themis_status_t themis_store_space_recover_end(themis_store_space_t *space);
