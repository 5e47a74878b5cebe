/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses in the view of a file. A position counts bytes of the view's data. */
#pragma once
#include "ad_themis_access.h"
#include "ad_themis_flat.h"

/* The flattened file type; NULL: out of memory. Borrowed from the open file until another view is set. It is looked at
 * once for each view, since its contents may be long. */
const themis_util_flat_type_t *ADIOI_THEMIS_View_type(ADIO_File fd);
/* Before the file type changes, whose handle MPI may use again. */
void ADIOI_THEMIS_View_forget(ADIO_File fd);
/* Where an access begins that is not AT_BYTE; `view` is View_type. */
uint64_t ADIOI_THEMIS_View_position(const ADIOI_THEMIS_Access *access, const themis_util_flat_type_t *view);
/* The offset in the file of a position. */
ADIO_Offset ADIOI_THEMIS_View_offset(ADIO_File fd, uint64_t position);
/* The runs of an access in the file, from `position` on, and in memory, relative to its buffer; `buffer` keeps the
 * flattened datatype. INVALID: bytes in a view without data. */
themis_status_t ADIOI_THEMIS_View_runs(const ADIOI_THEMIS_Access *access, uint64_t position, ADIOI_THEMIS_Flat *buffer,
                                       themis_util_runs_t *file, themis_util_runs_t *memory);
