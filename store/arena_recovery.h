/* SPDX-License-Identifier: BSD-3-Clause */
/* What a durable arena's log says, made objects and used space. */
#pragma once
#include "store/arena_object.h"

/*
 * Replays the log, maps the segments, and begins to write the log. What clients of an earlier run said in memory that
 * they share is taken over, unless the machine was restarted since. If such a client may still be writing, nothing in
 * memory that it has is used again.
 * THEMIS_CONFIG: the log or a segment is damaged; logged.
 */
themis_status_t themis_store_arena_recover(themis_store_arena_t *arena);
