/* SPDX-License-Identifier: BSD-3-Clause */
/* Size, space, sync, locks and delete, as in ROMIO's table of operations. */
#pragma once
#include "ad_themis.h"

void ADIOI_THEMIS_Fcntl(ADIO_File fd, int flag, ADIO_Fcntl_t *arg, int *error_code);
void ADIOI_THEMIS_Flush(ADIO_File fd, int *error_code);
void ADIOI_THEMIS_Resize(ADIO_File fd, ADIO_Offset size, int *error_code);
void ADIOI_THEMIS_Delete(const char *filename, int *error_code);
int ADIOI_THEMIS_SetLock(ADIO_File fd, int cmd, int type, ADIO_Offset offset, int whence, ADIO_Offset len);
