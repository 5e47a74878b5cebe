/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths as words of printable ASCII: other bytes, blanks and '%' are %XX, with upper-case digits. */
#pragma once
#include <stddef.h>

enum { THEMIS_UTIL_ESCAPE_BYTES = 3 }; /* that a byte takes at most */

/* Writes up to THEMIS_UTIL_ESCAPE_BYTES for each of `length` bytes, without a NUL; returns how many. */
size_t themis_util_escape(const char *bytes, size_t length, char *word);
/* Writes at most as many bytes as `word` has, which may be the same memory, and returns how many they are. 0: it is
 * empty, or not what themis_util_escape writes, or has a NUL. */
size_t themis_util_escape_undo(const char *word, char *bytes);
