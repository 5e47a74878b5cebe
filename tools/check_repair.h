/* SPDX-License-Identifier: BSD-3-Clause */
/* Mends what `themis check` has found. */
#pragma once
#include "themis/themis.h"
#include "tools/check_compare.h"

/* Says of each finding that is not mended why, and notes which are mended, and which are not settled. A server that
 * does not answer is asked nothing more. */
void themis_tools_check_repair(themis_t *session, themis_tools_check_scan_t *scan,
                               themis_tools_check_findings_t *findings, int force);
