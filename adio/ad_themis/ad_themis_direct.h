/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct access to the memory of servers, as the hint themis_direct asks for it and MPI_File_get_info shows it. */
#pragma once
#include "ad_themis.h"

/* The file was opened: the hint takes effect. */
void ADIOI_THEMIS_Direct_opened(ADIO_File fd);
/* After an access: shows what was used. Costs nothing while nothing changes. */
void ADIOI_THEMIS_Direct_show(ADIO_File fd);
