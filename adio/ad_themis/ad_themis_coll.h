/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective reads and writes. */
#pragma once
#include "ad_themis_access.h"

/* Blocking, and non-blocking. All ranks of fd->comm; all get the same class of error. An MPI error code. */
int ADIOI_THEMIS_Coll_run(const ADIOI_THEMIS_Access *access, ADIO_Status *result);
int ADIOI_THEMIS_Coll_start(const ADIOI_THEMIS_Access *access, MPI_Request *request);
