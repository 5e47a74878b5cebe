/* SPDX-License-Identifier: BSD-3-Clause */
/* Modes as chmod takes them and ls shows them. */
#pragma once
#include <stdint.h>

enum { THEMIS_TOOLS_MODE_TEXT = 11 };

/*
 * The mode that `text` makes of `mode`: octal, "0755", or symbolic, "u+x,go-w,a=rX", as in POSIX: without u, g, o or a
 * the bits of `umask` are left alone. `directory`: 1 for one, for X. Returns -1 if it is neither.
 */
int64_t themis_tools_mode_apply(const char *text, uint32_t mode, int directory, uint32_t umask);

/* "drwxr-xr-x", with s, S, t and T as ls has them. Returns `text`, of THEMIS_TOOLS_MODE_TEXT bytes. */
const char *themis_tools_mode_text(uint32_t mode, int directory, char *text);
