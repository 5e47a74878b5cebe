/* SPDX-License-Identifier: BSD-3-Clause */
/* Open and close, as in ROMIO's table of operations. */
#pragma once
#include "ad_themis.h"

void ADIOI_THEMIS_Open(ADIO_File fd, int *error_code);
void ADIOI_THEMIS_OpenColl(ADIO_File fd, int rank, int access_mode, int *error_code);
void ADIOI_THEMIS_Close(ADIO_File fd, int *error_code);
