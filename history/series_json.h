/* SPDX-License-Identifier: BSD-3-Clause */
/* A series in a record: {"start": s, "interval": s, "read_bytes": [...], "written_bytes": [...]}. Internal to history/.
 */
#pragma once
#include <jansson.h>
#include "history/series.h"

/* In at most THEMIS_HISTORY_RECORD_SAMPLES samples; a reference for the caller. NULL: no memory. */
json_t *themis_history_series_json(const themis_history_series_t *series);

/* Into a series, which is owned by the caller. NULL, or what is wrong, in words; *series is unchanged then. */
const char *themis_history_series_from_json(const json_t *json, themis_history_series_t *series);
