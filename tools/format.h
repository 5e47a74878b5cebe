/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of at most 5 characters, and names. `text` has 8 bytes and is returned. */
#pragma once
#include <stdio.h>

/* "1.5G", in powers of 1024. */
const char *themis_tools_format_bytes(double bytes, char *text);
/* "99999", "100k", "2.5M", in powers of 1000. */
const char *themis_tools_format_count(double count, char *text);

/* " since DATE TIME", of s since 1970; "" for 0 and what is no date. */
enum { THEMIS_TOOLS_SINCE_BYTES = 64 };
const char *themis_tools_format_since(double seconds, char text[THEMIS_TOOLS_SINCE_BYTES]);

/* A name or path as it is; on a terminal with ? for control characters, which would change its state. */
void themis_tools_format_name(const char *name, FILE *out);
/* The same for a text that may have several lines. */
void themis_tools_format_clean(char *text);
