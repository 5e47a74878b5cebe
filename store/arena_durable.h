/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What makes an arena durable: its log (store/log.h) is told what changes, before the change is acknowledged.
 *
 * Bytes are in files that are mapped, and with them what clients that write directly say of them: ends in cells, and
 * states of pages. All else that has to outlive the process is in memory, and said in the log: objects, their extents,
 * which pages are valid, and the end. A change of an object is collected while its lock is held (the changes of its
 * extents), and appended as one frame before the call returns; changes that take bytes away are appended before they
 * are made. A write into valid pages below the end appends nothing but, once a second, its time.
 *
 * A thread writes a checkpoint when the log has become long, while everything goes on.
 *
 * All but start and stop do nothing in an arena without a log.
 */
#pragma once
#include "store/arena_object.h"

/* THEMIS_NO_SPACE: the log has none for changes that add something. */
themis_status_t themis_store_arena_durable_admit(const themis_store_arena_t *arena);

/* With the object's lock: appends what has changed. On failure it is tried again with the next change. */
themis_status_t themis_store_arena_durable_flush(const themis_store_arena_t *arena, themis_store_object_t *object);
/* The same, and that bytes from `size` on are gone, which becomes the end; before they are. */
themis_status_t themis_store_arena_durable_cut(const themis_store_arena_t *arena, themis_store_object_t *object,
                                               uint64_t size);
/* The time of the last change is appended even if it is near to what the log has. */
void themis_store_arena_durable_touch(themis_store_object_t *object);

/* With the lock of its shard. */
themis_status_t themis_store_arena_durable_create(const themis_store_arena_t *arena, themis_store_object_t *object);
themis_status_t themis_store_arena_durable_remove(const themis_store_arena_t *arena, themis_store_object_t *object);

/* Before an object is changed: bytes of its last page that are beyond the end are zeros. */
void themis_store_arena_durable_clear_tail(const themis_store_arena_t *arena, themis_store_object_t *object);

/* A block of slots at `unit` comes into use, or is free. */
themis_status_t themis_store_arena_durable_block(themis_store_arena_t *arena, uint32_t unit, int in_use);
/* The same without the log, during recovery. */
themis_status_t themis_store_arena_durable_know_block(themis_store_arena_t *arena, uint32_t unit, int in_use);
/* A window has written. */
void themis_store_arena_durable_note(const themis_store_arena_t *arena, const themis_store_window_t *window);
/* What clients have written to the object directly is taken over, and all of the arena made durable. */
themis_status_t themis_store_arena_durable_sync(const themis_store_arena_t *arena, themis_store_object_t *object);

/* Opens the arena in options->directory, or makes it. Logged. */
themis_status_t themis_store_arena_durable_start(themis_store_arena_t *arena, const themis_store_options_t *options);
/* Makes durable what the arena has; NULL log: nothing was started. */
void themis_store_arena_durable_stop(themis_store_arena_t *arena);
void themis_store_arena_durable_destroy(themis_store_arena_t *arena);
