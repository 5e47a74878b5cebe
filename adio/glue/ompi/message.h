/* SPDX-License-Identifier: BSD-3-Clause */
/* The texts of errors, which MPICH has in a table and Open MPI has not. */
#pragma once
#include <stdarg.h>
#include <stddef.h>

/* "function: message: details": the names of MPICH's messages (with "**") and their arguments, as ROMIO passes them;
 * `specific` may be NULL. Cut to `size` bytes. */
void themis_glue_message_format(const char *function, const char *generic, const char *specific, va_list arguments,
                                char *text, size_t size);
