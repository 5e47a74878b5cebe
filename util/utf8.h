/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts in UTF-8 (RFC 3629), from whoever. */
#pragma once
#include <stddef.h>

/* 1 if all bytes are characters. */
int themis_util_utf8_is_valid(const char *bytes, size_t length);

/* Copies a text into `copy` of `size` bytes, above 0, with a 0 at the end: as many whole characters as fit. Control
 * characters and bytes that are no character become '?'. */
void themis_util_utf8_copy(const char *text, char *copy, size_t size);
