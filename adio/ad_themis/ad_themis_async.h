/* SPDX-License-Identifier: BSD-3-Clause */
/* Non-blocking independent reads and writes. */
#pragma once
#include "ad_themis_access.h"

/* An MPI error code. */
int ADIOI_THEMIS_Async_start(const ADIOI_THEMIS_Access *access, MPI_Request *request);
