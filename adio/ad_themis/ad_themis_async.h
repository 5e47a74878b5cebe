/* SPDX-License-Identifier: BSD-3-Clause */
/* Non-blocking independent reads and writes. */
#ifndef AD_THEMIS_ASYNC_H
#define AD_THEMIS_ASYNC_H
#include "ad_themis_access.h"

/* An MPI error code. */
int ADIOI_THEMIS_Async_start(const ADIOI_THEMIS_Access *access, MPI_Request *request);
#endif
