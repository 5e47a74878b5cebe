/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI_File_get_info shows about collective calls. */
#pragma once
#include "ad_themis_coll_file.h"

/* Shows the hints in force, and warns if there can be fewer aggregators than a hint asks for; when the file is opened.
 */
void ADIOI_THEMIS_Coll_info_opened(ADIOI_THEMIS_Coll *coll);
/* Shows what the last call did. */
void ADIOI_THEMIS_Coll_info_show(ADIOI_THEMIS_Coll *coll);
