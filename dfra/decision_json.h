/* SPDX-License-Identifier: BSD-3-Clause */
/* Decisions as JSON (doc/dfra.md). */
#pragma once
#include <jansson.h>
#include "dfra/site.h"

/* An object that is the caller's; NULL: memory is short, or the reason is no UTF-8. `records`: how many runs were
 * known. */
json_t *themis_dfra_decision_json(const themis_dfra_named_site_t *site, const themis_dfra_decision_t *decision,
                                  const char *reason, uint32_t records);
