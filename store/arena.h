/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arena store: objects as extents of a mapped region.
 *
 * A window for writing claims the pages that it covers completely, and they become valid when it finishes successfully;
 * of the pages that it covers in part, those not yet valid are cleared and made valid at prepare, unless another window
 * has claimed them: their bytes then go to a shadow of the page (store/arena_shadow.h). Thus stale bytes are never
 * seen, nothing that is overwritten is cleared before, and the object's lock is held for bookkeeping only.
 *
 * Extents that a truncation or removal takes away are freed when no window is in use on the object.
 */
#pragma once
#include "store/store.h"

themis_status_t themis_store_arena_create(const themis_store_options_t *options, themis_store_t **store);
