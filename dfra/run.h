/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of the history as decisions take them. */
#pragma once
#include "dfra/dfra.h"
#include "history/record.h"

/* What a record tells of its application, as one run. Where sharing is not known, no file counts as shared. INVALID:
 * numbers that no decision takes; `error` (`size` bytes) says which. */
themis_status_t themis_dfra_run_take(const themis_history_record_t *record, themis_dfra_application_t *run, char *error,
                                     size_t size);

/* "N-N" and so on, or "unknown", which is N-N; 0: another text. */
int themis_dfra_run_sharing(const char *text, themis_dfra_sharing_t *sharing);

/* Adds what another server has recorded of the same run: bytes, requests and rates are added up; of nodes and waiting
 * operations the larger counts, and sharing is N-M where servers differ. */
void themis_dfra_run_add(themis_dfra_application_t *run, const themis_dfra_application_t *more);
