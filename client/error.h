/* SPDX-License-Identifier: BSD-3-Clause */
/* The text that themis_last_error returns, one for each thread. */
#pragma once
#include "themis/status.h"

/* Sets the text and returns `status`; called by the function that detects the failure. */
__attribute__((format(printf, 2, 3))) themis_status_t themis_client_fail(themis_status_t status, const char *format,
                                                                         ...);
