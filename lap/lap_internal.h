/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two scalar types share. */
#ifndef THEMIS_LAP_INTERNAL_H
#define THEMIS_LAP_INTERNAL_H

#include "themis/lap.h"

/* INVALID, with a message, unless 1 <= rows <= columns < 2^31. */
themis_status_t themis_lap_shape_check(size_t rows, size_t columns);

/* INVALID and *reason, unless every row has a column below columns of its own. used has `columns` bytes, all zero. */
themis_status_t themis_lap_columns_check(size_t rows, size_t columns, const uint32_t *column, unsigned char *used,
                                         const char **reason);
#endif
