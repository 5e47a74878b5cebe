/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks all servers what they have. Functions print why they fail, and return THEMIS_TOOLS_OK or something else. */
#pragma once
#include "themis/themis.h"
#include "tools/check_scan.h"

/* Reads all. Objects come first, so that each of them has its name among those that are read then, unless it has gone
 * or moved. *scan is to be freed in any case. */
int themis_tools_check_ask(themis_t *session, themis_tools_check_scan_t *scan);
/* What has moved since the scan began, and whether servers were started again. */
int themis_tools_check_ask_moved(themis_t *session, themis_tools_check_scan_t *scan);
