/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two scalar types share. */
#ifndef THEMIS_LAP_INTERNAL_H
#define THEMIS_LAP_INTERNAL_H

#include "themis/lap.h"

/*
 * Compiles a function for several instruction sets; the loader picks one. Not under sanitizers, whose run time is not
 * yet there when the loader picks.
 */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&          \
    !defined(__SANITIZE_THREAD__) && !defined(THEMIS_LAP_NO_CLONES)
#define LAP_CLONES __attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
#else
#define LAP_CLONES
#endif

/* INVALID, with a message, unless 1 <= rows <= columns < 2^31. */
themis_status_t themis_lap_shape_check(size_t rows, size_t columns);

/* INVALID and *reason, unless every row has a column below columns of its own. used has `columns` bytes, all zero. */
themis_status_t themis_lap_columns_check(size_t rows, size_t columns, const uint32_t *column, unsigned char *used,
                                         const char **reason);
#endif
