/* SPDX-License-Identifier: BSD-3-Clause */
/* The text behind themis_last_error, one for each thread. */
#ifndef THEMIS_CLIENT_ERROR_H
#define THEMIS_CLIENT_ERROR_H
#include "themis/status.h"

/* Sets the text and returns `status`; called by the function that first finds out. */
__attribute__((format(printf, 2, 3))) themis_status_t themis_client_fail(themis_status_t status, const char *format,
                                                                         ...);
#endif
