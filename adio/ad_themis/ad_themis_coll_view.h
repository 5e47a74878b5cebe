/* SPDX-License-Identifier: BSD-3-Clause */
/* From views and datatypes to runs. */
#ifndef AD_THEMIS_COLL_VIEW_H
#define AD_THEMIS_COLL_VIEW_H
#include "ad_themis_access.h"
#include "ad_themis_coll_file.h"

/* The runs of an access in the file and in memory, from `position` (bytes of the view's data) on. INVALID: bytes in a
 * view without data. */
themis_status_t ADIOI_THEMIS_Coll_view_describe(ADIOI_THEMIS_Coll *coll, const ADIOI_THEMIS_Access *access,
                                                uint64_t position, themis_util_runs_t *file,
                                                themis_util_runs_t *memory);
/* Where an access begins, in bytes of the view's data, and the offset in the file of such a position. */
uint64_t ADIOI_THEMIS_Coll_view_position(ADIOI_THEMIS_Coll *coll, const ADIOI_THEMIS_Access *access);
ADIO_Offset ADIOI_THEMIS_Coll_view_offset(ADIOI_THEMIS_Coll *coll, uint64_t position);
#endif
