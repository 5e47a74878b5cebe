/* SPDX-License-Identifier: BSD-3-Clause */
/* What the solver (themis_lap_i64_solve) shares with the certificate. */
#pragma once

#include "themis/lap.h"

/* INVALID, with a message, unless 1 <= rows <= columns < 2^31. */
themis_status_t themis_lap_shape_check(size_t rows, size_t columns);
