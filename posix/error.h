/* SPDX-License-Identifier: BSD-3-Clause */
/* What a status of Themis is to a program that made a POSIX call. */
#pragma once
#include "themis/status.h"

/* An errno, 0 for THEMIS_OK. Servers that cannot be reached, or have lost data, are EIO. */
int themis_posix_error(themis_status_t status);
