/* SPDX-License-Identifier: BSD-3-Clause */
/* `themis:` files in programs that cannot be served. */
#ifndef THEMIS_ADIO_ENTRY_FILE_NAME_H
#define THEMIS_ADIO_ENTRY_FILE_NAME_H
#include <stdint.h>

/*
 * The name that is passed to what serves the program: `name` itself, or for a `themis:` file (by its prefix or by
 * ROMIO_FSTYPE_FORCE) that cannot be served one that no file can have. The program's MPI library then fails with its
 * own error, through its own error handlers. The cause is written to standard error once in a process, and of an open
 * only by rank 0 of `comm`, NULL where there is none, which points to the handle as the program passes it. Names are
 * borrowed; NULL is passed on.
 */
const char *themis_entry_file_name(const char *name, const uintptr_t *comm);

/* 1: by its prefix or by ROMIO_FSTYPE_FORCE. NULL is allowed. */
int themis_entry_file_name_is_themis(const char *name);
#endif
