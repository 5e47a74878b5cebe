/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that keeps the log of a durable arena short: it writes a checkpoint when that is worth it. */
#pragma once
#include "store/arena_object.h"

typedef struct themis_store_arena_keeper themis_store_arena_keeper_t;

themis_status_t themis_store_arena_keeper_create(themis_store_arena_t *arena, themis_store_arena_keeper_t **keeper);
/* From any thread, with any lock: there may be something to do. */
void themis_store_arena_keeper_wake(themis_store_arena_keeper_t *keeper);
void themis_store_arena_keeper_destroy(themis_store_arena_keeper_t *keeper); /* NULL is allowed */

/* Writes a checkpoint now; one at a time. */
themis_status_t themis_store_arena_checkpoint(themis_store_arena_t *arena);
