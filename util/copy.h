/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between a program's buffer and memory that begins at a page. Buffers of malloc begin 16 bytes after a page,
 * and memcpy of the C library is slow just there on some processors: `rep movsb`, by which it copies 4 KiB to some 100
 * KiB, takes 3 to 5 times as long on AMD's EPYC when the destination is 1 to 31 bytes past the source, modulo 4096.
 */
#pragma once
#include <stddef.h>

/* As memcpy. */
void themis_util_copy(void *to, const void *from, size_t length);
