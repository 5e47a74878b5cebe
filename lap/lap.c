/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that do not depend on the scalar type. */
#include "lap/lap_internal.h"

#include "util/log.h"

themis_status_t themis_lap_shape_check(size_t rows, size_t columns)
{
    if (rows > 0 && rows <= columns && columns < (size_t)INT32_MAX)
        return THEMIS_OK;
    themis_error("assignment: %zu rows and %zu columns, where 1 <= rows <= columns < 2^31 is needed", rows, columns);
    return THEMIS_INVALID;
}

themis_status_t themis_lap_columns_check(size_t rows, size_t columns, const uint32_t *column, unsigned char *used,
                                         const char **reason)
{
    for (size_t i = 0; i < rows; i++) {
        if (column[i] >= columns) {
            *reason = "a row has no column";
            return THEMIS_INVALID;
        }
        if (used[column[i]]++) {
            *reason = "a column has two rows";
            return THEMIS_INVALID;
        }
    }
    return THEMIS_OK;
}
