/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking independent reads and writes. */
#pragma once
#include "ad_themis_access.h"

/* Contiguous in memory and in the file. In atomic mode ROMIO has locked its bytes. An MPI error code. */
int ADIOI_THEMIS_Io_contiguous(const ADIOI_THEMIS_Access *access, ADIO_Status *result);
/* In atomic mode under a lock of the range that it touches. An MPI error code. */
int ADIOI_THEMIS_Io_strided(const ADIOI_THEMIS_Access *access, ADIO_Status *result);
